"""How far a result may be off because nobody has published what binds it.

A rate is the least of what the resources could do. What each could do is known as exactly as the
parameters that say how much of it there is, as far as they take part of its time; a latency as
exactly as those of its stages. Links and buses follow from their specifications.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil, sqrt
from typing import Any, NamedTuple

from hcasim.catalog import Machine, Parameter, Value
from hcasim.catalog.plausible import plausible
from hcasim.workloads.limits import LIMITS, latency_bound, parameters_of



class Off(NamedTuple):
    """Parts of a time that may be missing, and that may be too much."""

    missing: float
    excess: float


MODEL = 0.015
"""Part by which a result may be off although all that binds it has been published."""
UNTOLD = Off(0.4, 0.25)
"""Of a rate that nothing limits but what an operation takes, and of a stage that nobody knows."""
SEEN = 0.2
"""Share of the time from which on a resource may come to bind."""
_STAGES = {
    "post_send": "stack.* host.core.*",
    "poll CQ": "stack.* host.core.*",
    "poll memory": "stack.* host.core.*",
    "doorbell": "host.chipset.mmio_latency adapter.doorbell.latency",
    "WQE fetch": "host.memory.read_latency adapter.send.read_interval",
    "receive WQE fetch": "host.memory.read_latency",
    "gather data": "host.memory.read_latency adapter.send.read_interval",
    "send QP context": "host.memory.read_latency",
    "receive QP context": "host.memory.read_latency",
    "send engine": "adapter.send.*",
    "send pipeline": "adapter.send.latency",
    "receive pipeline": "adapter.receive.*",
    "completion engine": "adapter.completion.*",
    "data write": "host.memory.write_latency",
    "CQE write": "host.memory.write_latency",
    "switch": "*switch.latency",
    "link": "",
}
"""Paths of the parameters that a stage of an operation takes its time from."""


@dataclass(frozen=True)
class Bound:
    """The ends of a result at 90 %, and what it rests on.

    Parameters:
        low, high: how many times the result they are.
        by: the resource that binds, or the stage that is known worst.
        evidence: of the parameter of that which is known worst; "known" if all are published.
    """

    low: float
    high: float
    by: str
    evidence: str

    @property
    def upside_down(self) -> Bound:
        """That of a time, whose rate this is of."""
        return Bound(1 / self.high, 1 / self.low, self.by, self.evidence)


def bound_of(machine: Machine, row: Mapping[str, Any], told: Mapping[str, Any]) -> Bound | None:
    """Return how exactly a rate is known; of a row with a latency turn it upside down.

    Parameters:
        row: of a result.
        told: its breakdown.
    """
    steps = [*_steps(told)]
    if "latency_us" in row:
        return _of_stages(machine, steps) if steps else None
    busy = {
        one["name"]: max(one.get("busy", 0.0), one.get("waited", 0.0) * (one["name"] == told["binds"]))
        for one in told.get("resources", ())
    }
    if "rate_Mps" not in row or not busy:
        return None
    packets = ceil(row.get("size", 1) / machine.mtu)
    return _of_resources(machine, busy, 1 / row["rate_Mps"], packets, told["binds"])


def _steps(told: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield stages with what they take in us, those of steps instead of these."""
    for one in told.get("stages") or told.get("steps") or ():
        if "stages" in one and one["stages"]:
            yield from _steps(one)
        else:
            yield one.get("stage") or one["step"], one["us"]


def _known(machine: Machine, patterns: Iterable[str]) -> Iterator[tuple[Parameter[Value], Off]]:
    """Yield what nobody has published of some parameters, with the parts of a time that may be
    missing, or too much, because of each."""
    wanted = [*patterns]
    for one in machine.parameters:
        if not any(fnmatchcase(one.path, pattern) for pattern in wanted):
            continue
        if (ends := plausible(one)) is not None:
            if one.unit in ("ps", "cycles"):
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


def _of_stages(machine: Machine, steps: Iterable[tuple[str, float]]) -> Bound:
    """Return the bound of an operation whose stages follow each other."""
    more: dict[str, float] = {}
    less: dict[str, float] = {}
    whose: dict[str, tuple[str, str]] = {}
    total = 0.0

    def note(path: str, us: float, off: Off, stage: str, evidence: str) -> None:
        more[path] = more.get(path, 0.0) + us * off.missing
        less[path] = less.get(path, 0.0) + us * off.excess
        whose.setdefault(path, (stage, evidence))

    for stage, us in steps:
        total += us
        patterns = _STAGES.get(stage)
        if patterns is None:
            note(stage, us, UNTOLD, stage, "assumed")
            continue
        for one, off in _known(machine, patterns.split()):
            if (value := _us(machine, one)) is not None:
                note(one.path, min(us, value), off, stage, one.evidence)
    if not total:
        return Bound(1 - MODEL, 1 + MODEL, "", "known")
    missing, excess = (_root(part.values()) / total + MODEL for part in (more, less))
    by, evidence = whose.get(max(more, key=lambda path: more[path], default=""), ("", "known"))
    return Bound(1 / (1 + missing), 1 / (1 - excess), by, evidence)


def _root(parts: Iterable[float]) -> float:
    """Add up what is off by itself."""
    return sqrt(sum(one * one for one in parts))


def _of_resources(
    machine: Machine, busy: Mapping[str, float], each_us: float, packets: int, binds: str
) -> Bound:
    """Return the bound of a rate of which each resource could do some multiple."""
    low, high, by, evidence = 1.0, float("inf"), binds, "known"
    for name, share in busy.items():
        if share < SEEN:
            continue
        off, known = _of_resource(machine, name, share * each_us, packets)
        low = min(low, 1 / share / (1 + off.missing))
        high = min(high, 1 / share / (1 - off.excess))
        if name == binds:
            evidence = known
    if max(busy.values()) < LIMITS or latency_bound(binds):
        # An operation takes its time, whatever is busy.
        low, high = min(low, 1 / (1 + UNTOLD.missing)), min(high, 1 / (1 - UNTOLD.excess))
        by, evidence = binds or "latency", "assumed"
    return Bound(low, max(1.0, high), by, evidence)


def _of_resource(
    machine: Machine, name: str, each_us: float, packets: int
) -> tuple[Off, str]:
    """Return how exactly a resource's time is known, and the evidence of what is known worst.

    Parameters:
        each_us: its time for a message.
        packets: of a message.
    """
    missing, excess, worst, evidence = MODEL, MODEL, 0.0, "known"
    processor = ".cpu" in name
    for one, off in _known(machine, parameters_of(name)):
        value = _us(machine, one)
        if value is not None:
            share = min(1.0, value * (1 if processor else packets) / each_us)
        else:
            # A clock tells of the part that is computing; other counts and rates of all.
            share = (0.6 if one.unit == "Hz" else 0.0) if processor else 1.0
        if share * off.missing > worst:
            worst, evidence = share * off.missing, one.evidence
        missing += share * off.missing
        excess += share * off.excess
    return Off(min(missing, 1.5), min(excess, 0.4)), evidence
