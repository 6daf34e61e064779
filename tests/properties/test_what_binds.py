"""Twice as much of what --explain names helps, and twice as much of another helps less."""

import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from hcasim.catalog import Machine, list_ids, resolve
from hcasim.catalog.fields import Leaf, leaf_paths
from hcasim.ground.units import TIME
from hcasim.runs.experiment import Experiment
from hcasim.workloads import find_workload
from hcasim.workloads.limits import options_of, settings_for

LEAST = 1.05
"""Gain that is worth naming a resource for."""
QUICK = {
    "stack.cycles.post_send": "0 cycles",
    "stack.cycles.poll_entry": "0 cycles",
    "stack.cycles.blueflame": "0 cycles",
    "host.core.frequency": "10 GHz",
    "host.core.fence": "0 ns",
    "host.core.line": "0 ns",
}
"""A processor that never binds."""

Case = tuple[str, str, Mapping[str, str], Mapping[str, Any]]
CASES: Mapping[str, Case] = {
    "cpu0": ("connectx5", "write_bw", {}, {"size": 8}),
    "receive_pipeline": (
        "connectx3",
        "read_bw",
        {**QUICK, "adapter.responder.services.read": "150 ns"},
        {"size": 8, "qps": 16},
    ),
    "receive_pipeline.qp1": ("connectx3", "read_bw", QUICK, {"size": 8}),
    "send_engine.qp1": ("connect_ib", "write_bw", QUICK, {"size": 8, "cq_mod": 50}),
    "completion_engine": (
        "connectx5",
        "write_bw",
        {**QUICK, "adapter.completion.service": "180 ns"},
        {"size": 8, "qps": 8, "cq_mod": 1},
    ),
    "atomic_unit.atomics": (
        "connectx5",
        "atomic_bw",
        {**QUICK, "adapter.responder.atomics.outstanding": "1"},
        {"qps": 8, "region": 2**20},
    ),
    "icm": ("connectx3", "read_bw", QUICK, {"size": 64, "qps": 8, "region": 2**28}),
    "responses": (
        "connectx7",
        "read_bw",
        {"adapter.send.port_buffer": "8 KiB"},
        {"size": 2**16, "iters": 60},
    ),
    "requests": (
        "connectx7",
        "write_bw",
        {"adapter.send.port_buffer": "8 KiB"},
        {"size": 2**16, "iters": 60},
    ),
    "read_tags": (
        "connectx5",
        "write_bw",
        {"adapter.bus.read_tags": "4"},
        {"size": 2**14, "iters": 100},
    ),
    "reads_in_flight": (
        "connectx5",
        "read_bw",
        {"adapter.requester.outstanding": "2"},
        {"size": 64},
    ),
    "send_queues": ("connectx5", "read_bw", {}, {"size": 2**14, "tx_depth": 1, "iters": 100}),
    "downstream": ("connectx7", "write_bw", {"adapter.bus.lanes": "4"}, {"size": 2**14}),
    "link": ("connectx5", "write_bw", {"link.width": "1"}, {"size": 2**14, "iters": 100}),
}
"""By what binds: adapter, workload, settings and options."""


HOSTS = dict.fromkeys(("mt23108", "mt25208", "mt25218", "mt25218-ddr", "ne010e"), "generic")
"""Of adapters that need another host than the pair has."""
NEWER = tuple(one for one in list_ids("adapters") if one.startswith("connect"))
SIZES = (8, 64, 512, 4096, 2**15, 2**18, 2**20)
GRID = [
    (adapter, workload, {}, {"size": size})
    for adapter, workload, size in product(
        (*HOSTS, *NEWER), ("write_bw", "read_bw", "send_bw"), SIZES
    )
]
"""All adapters, and a message from each decade."""


def measure(case: Case) -> tuple[float, list[str]]:
    """The rate of messages, and what limits it, the first one most."""
    adapter, workload, overrides, options = case
    asked: dict[str, Any] = {"host": HOSTS.get(adapter), "overrides": overrides, "explain": True}
    (point,) = Experiment.of(workload, "pair", adapter=adapter, **asked, **options).benchmark()
    result = point.run()
    told = result.breakdown
    return result.row["rate_Mps"], [told["binds"], *told["also"]] if told["binds"] else []


def twice(leaf: Leaf, value: Any) -> Any:
    """Half of a time, twice as much of all else, or as much more as there may be."""
    if leaf.base is str:
        faster = leaf.choices[leaf.choices.index(value) :][1:]
        return faster[0] if faster else value
    if leaf.unit is TIME:
        return value // 2
    more = max(1, 2 * value)
    if leaf.choices:
        every = [int(one) for one in leaf.choices]
        more = min((one for one in every if one >= more), default=max(every))
    return min(more, leaf.high or more)


def leaf_of(machine: Machine, path: str) -> Leaf:
    """What a parameter may be."""
    parts = {"adapter": machine.adapter, "stack": machine.stack, "host": machine.host}
    part, _, inner = path.partition(".")
    return leaf_paths(type(parts.get(part, machine.link)))[inner]


def changed(machine: Machine, names: Iterable[str], slower: bool = False) -> dict[str, str]:
    """What-if settings that double resources, or halve what is as quick as it can be."""
    values = {one.path: one.value for one in machine.parameters}
    found: dict[str, str] = {}
    # A bus needs a slot that is as wide or as quick.
    for path in [path for own in settings_for(machine, names) for path in _with_slot(own)]:
        if path not in values:
            continue
        leaf, value = leaf_of(machine, path), values[path]
        more = twice(leaf, value)
        if path.endswith("root_port.completion"):
            # A completion is no longer than a payload may be.
            more = min(more, values["adapter.bus.max_payload"])
        if slower and isinstance(value, int) and leaf.unit not in (None, TIME):
            more = value // 2
        # A clock is no quicker for a hertz.
        if more != value and not (isinstance(value, int) and 0 < more - value < value // 100):
            found[path] = leaf.format(more)
    return found


def _with_slot(path: str) -> tuple[str, ...]:
    return path, path.replace("adapter.bus.", "host.slot.")


def doubled(case: Case, names: Iterable[str]) -> Case:
    """The same with twice as much of resources."""
    adapter, workload, overrides, options = case
    known = find_workload(workload)
    assert known is not None
    chosen = HOSTS.get(adapter)
    machine = resolve("pair", adapter=adapter, host=chosen, overrides=overrides)
    usual = {**vars(known.defaults), **options}
    more = {
        one: 2 * usual[one] for name in names for one in options_of(name) if one in known.options
    }
    return adapter, workload, {**overrides, **changed(machine, names)}, {**options, **more}


def innocents(cases: Iterable[Case]) -> Iterator[str]:
    """Cases of which twice as much of what limits, all of it, does not help."""
    for case in cases:
        rate, names = measure(case)
        if not names:
            continue
        faster = doubled(case, names)
        if faster != case:
            gain = measure(faster)[0] / rate
        else:
            # What is as quick as can be limits all the more when it is slower.
            adapter, workload, _, options = case
            on = resolve("pair", adapter=adapter, host=HOSTS.get(adapter))
            slow, again = measure((adapter, workload, changed(on, names, slower=True), options))
            gain = rate / slow if names[0] in again else 0
        if gain < LEAST:
            yield f"{case}: {names}, of which twice as much gives {gain:.3f} times the rate"


LONG = ("completion_engine", "icm", "receive_pipeline", "atomic_unit.atomics")


@pytest.mark.parametrize(
    "what", [pytest.param(one, marks=pytest.mark.check) if one in LONG else one for one in CASES]
)
def test_twice_what_is_named_helps_and_twice_another_helps_less(what: str) -> None:
    case = CASES[what]
    base, names = measure(case)
    assert names[0].endswith(f".{what}"), names
    gain = measure(doubled(case, names))[0] / base
    assert gain > LEAST
    for other in (".receive_pipeline", ".downstream", ".reads_in_flight", ".cpu0"):
        if not any(other in name for name in names):
            assert measure(doubled(case, [other]))[0] / base < gain, other


def test_no_innocent_is_named() -> None:
    drawn = random.Random(1).sample([case for case in GRID if case[3]["size"] < 2**17], 5)
    assert list(innocents(drawn)) == []


@pytest.mark.check
def test_no_innocent_is_named_on_any_adapter_at_any_size() -> None:
    assert list(innocents(GRID)) == []


def test_what_passes_between_messages_of_a_queue_pair_is_named() -> None:
    case: Case = ("connectx6", "write_bw", {"adapter.send.wqe_service": "150 ns"}, {"size": 8192})
    rate, names = measure(case)
    assert names[0] == "node0.hca.port1.requests.rest.lid2.qp1"
    without = {"adapter.send.wqe_service": "0 ns"}
    assert measure((*case[:2], without, case[3]))[0] > 1.3 * rate
