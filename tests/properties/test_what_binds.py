"""Twice as much of what --explain names helps, and twice as much of another helps less."""

from collections.abc import Mapping
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.fields import leaf_paths
from hcasim.runs.benchmark import prepare

_OPERATIONS = ("write", "send", "read", "atomic")
SLOWNESS: Mapping[str, tuple[str, ...]] = {
    ".send_engine": (
        "adapter.send.packet_service",
        "adapter.send.wqe_service",
        *(f"adapter.send.services.{one}" for one in _OPERATIONS),
    ),
    ".receive_pipeline": (
        "adapter.receive.packet_service",
        *(f"adapter.responder.services.{one}" for one in _OPERATIONS),
    ),
    ".completion_engine": ("adapter.completion.service",),
    ".atomic_unit": ("adapter.responder.atomics.service",),
    ".cpu0": ("stack.post_send", "stack.poll_cq", "stack.doorbell", "stack.blueflame"),
}
"""Times of which half is twice the resource, by how its name ends."""
AMOUNTS: Mapping[str, tuple[str, ...]] = {
    ".read_tags": ("adapter.bus.read_tags",),
    ".icm": ("adapter.icm.outstanding",),
    ".requests": ("adapter.send.port_buffer",),
    ".responses": ("adapter.send.port_buffer",),
    ".reads_in_flight": ("adapter.requester.outstanding", "adapter.responder.outstanding"),
    ".atomics": ("adapter.responder.atomics.outstanding",),
    ".link": ("link.width",),
    ".downstream": ("adapter.bus.lanes",),
    ".posted_data": ("host.root_port.posted_data_credits",),
}
"""What of the machine is doubled."""
OPTIONS: Mapping[str, str] = {".send_queues": "tx_depth"}
QUICK = {
    "stack.post_send": "5 ns",
    "stack.poll_cq": "1 ns",
    "stack.doorbell": "0 ns",
    "stack.blueflame": "0 ns",
}
"""A processor that never binds."""

Case = tuple[str, str, dict[str, str], dict[str, Any]]
CASES: Mapping[str, Case] = {
    "cpu0": ("connectx5", "write_bw", {}, {"size": 8}),
    "receive_pipeline": ("connectx3", "read_bw", QUICK, {"size": 8, "qps": 16}),
    "receive_pipeline.qp1": ("connectx3", "read_bw", QUICK, {"size": 8}),
    "send_engine.qp1": ("connectx5", "write_bw", QUICK, {"size": 8, "cq_mod": 50}),
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


def measure(case: Case) -> tuple[float, str]:
    """The rate of messages, and what binds."""
    adapter, workload, overrides, options = case
    asked: dict[str, Any] = {"iters": 400, **options, "explain": True}
    (point,) = prepare(workload, "pair", adapter=adapter, overrides=overrides, **asked)
    result = point.run()
    return result.row["rate_Mps"], result.breakdown["binds"]


def doubled(case: Case, what: str) -> Case:
    """The same with twice as much of a resource."""
    adapter, workload, overrides, options = case
    if what in OPTIONS:
        name = OPTIONS[what]
        return adapter, workload, overrides, {**options, name: 2 * options.get(name, 128)}
    machine = resolve("pair", adapter=adapter, overrides=overrides)
    values = {parameter.path: parameter.value for parameter in machine.parameters}
    parts = {"adapter": machine.adapter, "stack": machine.stack, "host": machine.host}
    changed = dict(overrides)
    for path in SLOWNESS.get(what) or AMOUNTS[what]:
        if path not in values:
            continue
        part, _, inner = path.partition(".")
        leaf = leaf_paths(type(parts.get(part, machine.link)))[inner]
        value = values[path]
        assert isinstance(value, int)
        more = 2 * value if what in AMOUNTS else value // 2
        if leaf.choices:
            wide = [int(one) for one in leaf.choices]
            more = min((one for one in wide if one >= more), default=max(wide))
        more = min(more, leaf.high or more)
        changed[path] = leaf.format(more)
    return adapter, workload, changed, options


def named(binds: str) -> str:
    """How the name of what binds ends, without the queue pair."""
    whole = binds.partition(".qp")[0]
    return next(one for one in (*SLOWNESS, *AMOUNTS, *OPTIONS) if whole.endswith(one))


@pytest.mark.parametrize("what", CASES)
def test_twice_what_is_named_helps_and_twice_another_helps_less(what: str) -> None:
    case = CASES[what]
    base, binds = measure(case)
    assert binds.endswith(f".{what}"), binds
    gain = measure(doubled(case, named(binds)))[0] / base
    assert gain > 1.05
    for other in (".receive_pipeline", ".downstream", ".reads_in_flight", ".cpu0"):
        if other != named(binds):
            assert measure(doubled(case, other))[0] / base < gain, other
