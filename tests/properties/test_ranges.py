"""Every value of a parameter has a result or a fault for people; any text is read promptly."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError, load, resolve
from hcasim.catalog.fields import Leaf, leaf_paths
from hcasim.engine import Event, Simulator
from hcasim.runs.experiment import Experiment
from hcasim.traces import FORMATS, Hints, Source, import_trace
from tests.limits import promptly

MODERN = ("connectx3", "connect_ib", "connectx5", "connectx7")
MACHINES = (*(("pair", name) for name in MODERN), ("liu2004", "mt25208"))
WORKLOADS = {
    "write_lat": {"iters": 1, "warmup": 0},
    "send_lat": {"iters": 2, "warmup": 0},
    "read_lat": {"iters": 1, "warmup": 0, "region": 2**26},
    "read_bw": {"iters": 4, "tx_depth": 4},
    "write_bw": {"iters": 4, "tx_depth": 2},
    "send_bw": {"iters": 3, "tx_depth": 2, "cq_mod": 1},
    "atomic_lat": {"iters": 2, "warmup": 0},
    "atomic_bw": {"iters": 30, "tx_depth": 16},
    "rc_swarm": {"iters": 20, "warmup": 2, "nodes": 2, "window": 4, "cq_mod": 1},
    "request_reply": {"iters": 20, "warmup": 2, "window": 4, "cq_mod": 1, "reply_size": 8},
}
SMALL = {"rc_swarm": 4096, "request_reply": 4096, "atomic_lat": 8, "atomic_bw": 8}
"""Longest messages of workloads of which a few make many packets."""
EVENTS = 400_000
"""More than the shortest run of any workload has, beside those of many bytes or queue pairs."""


def bounded(sim: Simulator, most: int) -> Iterator[Event]:
    """Fail when there have been so many calls as only what never ends can need."""
    while True:
        yield sim.timeout(max(10**9, sim.now // 8))
        assert sim.calls < most, f"more than {most} calls"
        if sim.peek() == inf:
            return


@cache
def leaves(testbed: str, adapter: str) -> Mapping[str, Leaf]:
    """All parameters of a machine by the paths of --set."""
    machine = resolve(testbed, adapter=adapter)
    parts = {
        "adapter": load(adapter, "adapters"),
        "host": load(machine.host.id, "hosts"),
        "stack": load(machine.stack.id, "stacks"),
    }
    found = {
        f"{name}.{path}": leaf
        for name, part in parts.items()
        for path, leaf in leaf_paths(type(part.model), part.values).items()
    }
    link = machine.link.model_dump(exclude_none=True)
    found |= {f"link.{path}": leaf for path, leaf in leaf_paths(type(machine.link), link).items()}
    return {path: leaf for path, leaf in found.items() if ".mpi." not in path}


@st.composite
def values(draw: st.DrawFn, leaf: Leaf) -> str:
    """One that is allowed: an end, or any, where small ones are as likely as large ones."""
    if leaf.choices:
        return leaf.format(draw(st.sampled_from(leaf.choices)))
    if leaf.base is bool:
        return leaf.format(draw(st.booleans()))
    low, high, step = leaf.low or 0, leaf.high, leaf.step or 1
    assert high is not None, leaf
    first, last = -(-low // step), high // step
    within = st.integers(0, (last - first).bit_length()).flatmap(
        lambda bits: st.integers(first, min(last, first + 2**bits - 1))
    )
    return leaf.format(step * draw(st.sampled_from((first, last)) | within))


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, str, dict[str, str], dict[str, Any]]:
    testbed, adapter = draw(st.sampled_from(MACHINES))
    known = leaves(testbed, adapter)
    workload = draw(st.sampled_from(sorted(WORKLOADS)))
    paths = draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=4, unique=True))
    overrides = {path: draw(values(known[path])) for path in paths}
    top = SMALL.get(workload, 2**24)
    power = draw(st.integers(0, 24))
    size = draw(st.just(2**power) | st.integers(1, 2**power))
    options: dict[str, Any] = {"size": min(top, size)}
    if workload.startswith("atomic"):
        options = {}
    if size <= 64:
        options["qps"] = draw(st.sampled_from((1, 1, 2, 7, 100)))
    if size <= 64 and workload.endswith("_lat"):
        options["qps"] = draw(st.sampled_from((1, 2, 300, 4096)))
    if size > 2**20:
        options |= {"mtu": 4096 if adapter != "mt25208" else 2048, "iters": 1}
    return testbed, adapter, workload, overrides, options


def measure(
    workload: str,
    testbed: str,
    adapter: str,
    overrides: Mapping[str, str],
    options: Mapping[str, Any],
) -> bool:
    """Check that a benchmark is refused with words or has a result; return whether it has one."""
    asked = {**WORKLOADS[workload], **options}
    try:
        (point,) = Experiment.of(
            workload, testbed, adapter=adapter, overrides=overrides, **asked
        ).benchmark()
        size, qps = point.options.size, point.options.qps

        def bound(sim: Simulator) -> None:
            sim.process(bounded(sim, EVENTS + 200 * qps + 8 * size))

        row = point.run(bound).row
    except CatalogError as error:
        faults = error.faults
    else:
        faults = []
    if faults:
        assert all(len(fault) > 10 for fault in faults)
        return False
    numbers = {name: value for name, value in row.items() if isinstance(value, float)}
    assert numbers, row
    assert all(0 < value < inf for name, value in numbers.items() if "error" not in name), row
    return True


KNOWN: dict[str, tuple[str, str, str, dict[str, str], dict[str, Any]]] = {
    "a buffer of many packets": (
        "pair",
        "connectx5",
        "read_bw",
        {"adapter.send.port_buffer": "1 MiB", "adapter.bus.read_tags": "1024"},
        {"size": 2**20},
    ),
    "more units than have work": (
        "pair",
        "connectx7",
        "send_lat",
        {
            "adapter.send.units": "1024",
            "host.memory.bandwidth": "1 MB/s",
            "stack.post_send": "0 ns",
        },
        {"size": 2**21},
    ),
    "a memory that takes a second": (
        "liu2004",
        "mt25208",
        "write_bw",
        {"host.memory.read_latency": "1 s"},
        {"size": 4024},
    ),
    "most queue pairs": ("pair", "connectx5", "write_lat", {}, {"qps": 2**16}),
}


LONG = ("most queue pairs",)


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.check) if one in LONG else one for one in KNOWN]
)
def test_what_is_at_the_end_of_its_range_has_a_result(name: str) -> None:
    testbed, adapter, workload, overrides, options = KNOWN[name]
    assert measure(workload, testbed, adapter, overrides, options)


@given(case=cases())
def test_every_value_that_is_allowed_has_a_result_or_a_fault_for_people(case: Any) -> None:
    testbed, adapter, workload, overrides, options = case
    measure(workload, testbed, adapter, overrides, options)


SIZE = 100_000
"""Characters; what is quadratic would take minutes."""
PATTERNS = (" ", "\t", "1", "1 ", "b1", "1 2 3\n", "x\n", "\n", ".", ",", ":", "{", '"', "# ", "[a")
PATTERNS += ("Size ", "Latency(", "stream ", "OSU MPI Test ", " Test", "\x1b[0", '"record" ', "1:")
STARTS = ("", "# Size", "Size", "# OSU MPI", "# [ pairs: 1 ]", "# Size Latency", "1: 2 b", "stream")
STARTS += (
    "  1: 2 bytes 3 times -->",
    "     RDMA_Write BW Test\nDevice",
    '{"record"',
    "{",
    "#bytes",
)


@pytest.mark.check
@pytest.mark.parametrize("form", FORMATS)
def test_a_long_text_of_one_pattern_is_read_promptly(form: str) -> None:
    for start in STARTS:
        for pattern in PATTERNS if start in ("", "# Size", "{") else PATTERNS[:5]:
            source = Source("file", f"{start}{pattern * (SIZE // len(pattern))}@".encode())
            with promptly(), suppress(CatalogError):
                import_trace(source, form, Hints())
