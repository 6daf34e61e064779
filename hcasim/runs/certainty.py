"""How far a result may be off because nobody has published what binds it.

A message takes as long as the resource that it keeps longest. How long each may keep it is known as
exactly as the parameters that say how much of it there is, as far as they take part of its time; a
latency as exactly as those of its stages. Links and buses follow from their specifications.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from math import ceil, sqrt
from typing import Any, Final, NamedTuple

from hcasim.catalog import Machine, Parameter, Value
from hcasim.ground.quantities import BOUND_BY, EVIDENCE, band_fields, is_rate, is_time
from hcasim.workloads.explain import NEAR
from hcasim.workloads.limits import (
    CLOSE,
    LIMITS,
    READS,
    is_timer,
    latency_bound,
    parameters_of,
    whole,
)
from hcasim.workloads.result import Result
from hcasim.workloads.workload import Workload

GUESSED: Final = ("chosen", "assumed", "unknown")
"""What is said of the evidence of what nobody has published or measured by itself."""


class Off(NamedTuple):
    """Parts of a time that may be missing, and that may be too much."""

    missing: float
    excess: float


MODEL: Final = 0.015
"""Part by which a rate may be off although all that binds it has been published."""
BUS: Final = 0.04
"""The same of what a bus binds: how often acknowledgements and credits are returned is free."""
STAGES: Final = 0.04
"""The same of a latency, which also holds what is too short to have a stage of its own."""
UNTOLD: Final = Off(0.65, 0.17)
"""Of a rate that nothing limits but what an operation takes, and of a stage that nobody knows:
beside others an operation waits more often than one that is alone."""
MOST: Final = Off(1.6, 0.4)
"""More is not worth telling."""
COMPUTING: Final = 0.6
"""Share of a processor's time in which it computes; in the rest it waits for memory."""
AROUND: Final = 20
"""Bytes around the data of a completion of PCI Express."""
_ENGINE: Final = "send engine"
_STREAM: Final = (_ENGINE, "gather data")
_WORK: Final = "stack.cycles.* stack.post_* stack.poll_* host.core.*"
_STAGES: Final = {
    "post": f"{_WORK} host.cache.*",
    "poll": f"{_WORK} host.cache.*",
    "repost": _WORK,
    "call": f"stack.mpi.c* {_WORK}",
    "matching": f"stack.mpi.c* {_WORK}",
    **dict.fromkeys(("copy", "combine"), "host.cache.*_bandwidth"),
    **dict.fromkeys(("registration", "register", "deregister"), "stack.registration.*"),
    "DMA read": "host.memory.read_latency adapter.dma.*latency",
    "doorbell": "host.chipset.mmio_latency adapter.doorbell.latency",
    "WQE fetch": "host.memory.read_latency",
    "receive WQE fetch": "host.memory.read_latency adapter.receive_queue.latency",
    "gather data": "host.memory.read_latency",
    "send QP context": "host.memory.read_latency",
    "receive QP context": "host.memory.read_latency",
    "send engine": "adapter.send.* adapter.responder.services.*",
    "send pipeline": "adapter.send.latency",
    "receive pipeline": "adapter.receive.*",
    "completion engine": "adapter.completion.*",
    "data write": "host.memory.write_latency",
    "CQE write": "host.memory.write_latency",
    "switch": "*switch.latency",
    "link": "",
    "retry timer": "",
}
"""Of a stage of an operation, by its name or the first word of that: patterns of the paths of the
parameters that it takes its time from."""


_TIMES: Final = ("ps", "cycles")


@dataclass(frozen=True)
class Bound:
    """The ends of the time that something takes, at 90 %, and what they rest on.

    Parameters:
        low, high: how many times what was simulated they are.
        by: the resource that binds, or the longest stage.
        evidence: of the parameter of that which is known worst; "published" if all are.
    """

    low: float
    high: float
    by: str
    evidence: str

    def ends(self, field: str, value: float, error: float = 0.0) -> tuple[float, float]:
        """Return the ends of a quantity of which so large a part may be wrong anyway."""
        low, high = self.low / (1 + error), self.high * (1 + error)
        return (value * low, value * high) if is_time(field) else (value / high, value / low)


UNKNOWN: Final = {BOUND_BY: "", EVIDENCE: "unknown"}
"""What a row says if nothing tells what binds."""


def with_ends(machine: Machine, workload: Workload, result: Result) -> dict[str, Any]:
    """Return the row of a result with the ends of what was measured, and what they rest on.

    Parameters:
        machine: whose parameters tell what is known of them.
        workload: what was measured.
    """
    row, ends = result.row, {}
    bound = bound_of(machine, row, result.breakdown, rdma=workload.rdma)
    if bound is None:
        return row | UNKNOWN
    error = row.get("error_percent", 0.0) / 100
    for field in workload.fields:
        if field in row and (is_time(field) or is_rate(field)):
            ends[field] = bound.ends(field, row[field], error)
    found: dict[str, Any] = {}
    for name, value in row.items():
        found[name] = value
        if name in ends:
            found |= zip(band_fields(name), ends[name], strict=True)
    return found | {BOUND_BY: bound.by, EVIDENCE: bound.evidence}


def bound_of(
    machine: Machine, row: Mapping[str, Any], told: Mapping[str, Any], *, rdma: bool = True
) -> Bound | None:
    """Return how exactly it is known what a row takes, if that can be told.

    Parameters:
        row: of a result.
        told: its breakdown.
        rdma: whether it is of RDMA, not of the bus alone.
    """
    # Of losses no single operation tells.
    steps = [] if is_timer(told.get("binds", "")) else [*_steps(told)]
    if not steps and not told and not rdma and "latency_us" in row:
        steps = [("DMA read", row["latency_us"])]
    busy = {
        one["name"]: max(
            one.get("busy", 0.0), one.get("waited", 0.0) * (one["name"] == told["binds"])
        )
        for one in told.get("resources", ())
    }
    packets = ceil(row.get("size", 1) / machine.mtu)
    if steps:
        return _of_stages(machine, steps, busy, packets)
    each_us = 1 / row["rate_Mps"] if row.get("rate_Mps") else row.get("latency_us")
    if not each_us or "binds" not in told:
        return None
    return _of_resources(machine, busy, each_us, packets, told["binds"])


def _steps(told: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield stages with what they take in us, those of steps instead of these."""
    for one in told.get("stages") or told.get("steps") or told.get("path") or ():
        if one.get("stages"):
            yield from _steps(one)
        else:
            yield one.get("stage") or one["step"], one["us"]


def _known(machine: Machine, patterns: str) -> Iterator[tuple[Parameter[Value], Off | None]]:
    """Yield some parameters, of those that nobody has published with the parts of a time that may
    be missing, or too much, because of each."""
    for one, ends in machine.doubts.of(patterns):
        if ends is None:
            yield one, None
        elif one.unit in _TIMES:
            yield one, Off(ends.high - 1, 1 - ends.low)
        else:
            yield one, Off(1 / ends.low - 1, 1 - 1 / ends.high)


def _us(machine: Machine, parameter: Parameter[Value]) -> float | None:
    """Return the time that a parameter is, if it is one."""
    if parameter.unit == "ps":
        return int(parameter.value) / 1e6
    core = machine.groups[0].host.core
    if parameter.unit == "cycles" and core is not None:
        return int(parameter.value) * 1e6 / core.frequency
    return None


class _Time:
    """What a time may be off: values of one section together, those of several by themselves.

    Parameters:
        model: part by which it may be off anyway.

    Attributes:
        evidence: of what is known worst of each of its parts by name, "published" if all is known.
    """

    def __init__(self, model: float) -> None:
        self._model = model
        self._missing: dict[str, float] = {}
        self._excess: dict[str, float] = {}
        self._worst: dict[str, float] = {}
        self.evidence: dict[str, str] = defaultdict(lambda: "published")

    def add(self, section: str, us: float, off: Off, name: str, evidence: str) -> None:
        """Add so much of the time of a part by its name that is off, for a reason of a section."""
        self._missing[section] = self._missing.get(section, 0.0) + us * off.missing
        self._excess[section] = self._excess.get(section, 0.0) + us * off.excess
        worst = us * max(off)
        if worst > self._worst.get(name, 0.0):
            self._worst[name], self.evidence[name] = worst, evidence

    def off(self, us: float) -> Off:
        """Return what is off of the whole time."""
        return Off(
            min(MOST.missing, _root(self._missing.values()) / us) + self._model,
            min(MOST.excess, _root(self._excess.values()) / us) + self._model,
        )


def _root(parts: Iterable[float]) -> float:
    return sqrt(sum(one * one for one in parts))


def _section(path: str) -> str:
    return path.rpartition(".")[0]


def _of_stages(
    machine: Machine, steps: Iterable[tuple[str, float]], busy: Mapping[str, float], packets: int
) -> Bound:
    """Return the bound of an operation whose stages follow each other.

    While a message of several packets is gathered and sent, a link or bus may be busy for as long,
    and is what binds it then.

    Parameters:
        busy: parts of the whole time for which resources are.
        packets: of a message.
    """
    found, took = _Time(STAGES), dict[str, float]()
    every = [*steps]
    for stage, us in every:
        took[stage] = took.get(stage, 0.0) + us
    whole_us = sum(took.values()) or 1.0
    stream = sum(took.get(one, 0.0) for one in _STREAM) / whole_us
    wires = [one for one in busy if ".cpu" not in one and whole(one) == one]
    wire = max(wires, key=busy.__getitem__, default="")
    held = packets > 1 and busy.get(wire, 0.0) >= CLOSE * stream
    for stage, us in every:
        if held and stage in _STREAM:
            off, known = _of_resource(machine, wire, us, packets, 0.0)
            found.add(wire, us, off, wire, known)
            if stage == _ENGINE:
                continue
        patterns = _STAGES.get(stage, _STAGES.get(stage.partition(" ")[0]))
        if patterns is None:
            found.add(stage, us, UNTOLD, stage, "assumed")
            continue
        parameters = [*_known(machine, patterns)]
        times = [us if one.unit == "B/s" else _us(machine, one) or 0.0 for one, _ in parameters]
        for (one, ends), own in zip(parameters, _within(us, times), strict=True):
            if ends is not None:
                found.add(_section(one.path), own, ends, stage, one.evidence)
    longest = max(took, key=took.__getitem__)
    by = wire if held and longest in _STREAM else longest
    off = found.off(whole_us)
    return Bound(1 - off.excess, 1 + off.missing, by, found.evidence[by])


def _of_resources(
    machine: Machine, busy: Mapping[str, float], each_us: float, packets: int, binds: str
) -> Bound:
    """Return the bound of what each resource takes some part of the time for."""
    low, high, by, evidence = 0.0, 1.0, binds, "published"
    for name, part in busy.items():
        # What binds does so all the time, also if that is not how busy it is.
        share = 1.0 if name == binds else part
        if share < NEAR:
            continue
        off, known = _of_resource(machine, name, share * each_us, packets)
        low = max(low, share * (1 - off.excess))
        high = max(high, share * (1 + off.missing))
        if name == binds:
            evidence = known
    if not is_timer(binds) and (
        max(busy.values(), default=0.0) < LIMITS
        or latency_bound(binds)
        or fnmatchcase(whole(binds), READS)
    ):
        # An operation takes its time, whatever is busy: so many are under way, each so long.
        low, high = max(low, 1 - UNTOLD.excess), max(high, 1 + UNTOLD.missing)
        by, evidence = binds or "latency", "assumed"
    return Bound(min(low, 1.0), high, by, evidence)


@cache
def _paths_of(name: str) -> str:
    return " ".join(parameters_of(name))


def _of_resource(
    machine: Machine, name: str, each_us: float, packets: int, model: float | None = None
) -> tuple[Off, str]:
    """Return how exactly a resource's time is known, and the evidence of what is known worst.

    Parameters:
        each_us: its time for a message.
        packets: of a message.
        model: part by which that may be off anyway, if not as for all resources.
    """
    usual = BUS if ".bus." in f".{name}" else MODEL
    found = _Time(usual if model is None else model)
    processor = ".cpu" in name
    known = [*_known(machine, _paths_of(name))]
    times = [(_us(machine, one) or 0.0) * (packets if _of_packets(one) else 1) for one, _ in known]
    for (one, off), own in zip(known, _within(each_us, times), strict=True):
        if off is None:
            continue
        if one.unit not in _TIMES:
            # A clock tells of the part that is computing, other counts and rates of all.
            part = (COMPUTING if one.unit == "Hz" else 0.0) if processor else 1.0
            if one.path.endswith("flow_control"):
                part = int(one.value) / (machine.mtu + int(one.value))
            elif one.path.endswith("root_port.completion"):
                part = AROUND / (int(one.value) + AROUND)
            found.add(_section(one.path), part * each_us, off, name, one.evidence)
        else:
            found.add(_section(one.path), own, off, name, one.evidence)
    return found.off(each_us), found.evidence[name] if known else "unknown"


def _of_packets(parameter: Parameter[Value]) -> bool:
    """Whether a time is taken for each packet, not once for a message."""
    return parameter.path.endswith(("packet_service", "ack.service", "link.propagation"))


def _within(us: float, times: Sequence[float]) -> list[float]:
    """Return what times take of one that they are all a part of, if nothing else is."""
    most = sum(times)
    return [one * us / most for one in times] if most > us else [*times]
