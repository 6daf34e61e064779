"""Two sides: machines to simulate or results that there are already, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from pydantic import Field

from hcasim.catalog import Machine, Value
from hcasim.catalog.provenance import Evidence
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.document import Form

Given = str | PathLike[str] | Machine | Benchmark


@dataclass(frozen=True)
class Side:
    """What is compared.

    Parameters:
        machine: its machine; None of a measurement, whose machine has no description.
        workload: what was measured, if anything was.
        rows: what that gave.
        tool: what has measured it, if it was no simulation.
        options: of the workload that hold for all rows of a measurement.
    """

    machine: Machine | None
    workload: str = ""
    rows: tuple[Mapping[str, Any], ...] = ()
    tool: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


class Had(Form):
    """What a machine has for a parameter."""

    value: Value = Field(description="in base units")
    text: str
    evidence: Evidence
    source: str


class Difference(Form):
    """A parameter that two machines do not have alike; one that has none of the name has null."""

    path: str
    unit: str
    a: Had | None
    b: Had | None

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as they are written; empty where there is none."""
        a, b = (one.text if one is not None else "" for one in (self.a, self.b))
        return a, b


def differences(a: Machine | None, b: Machine | None) -> list[Difference]:
    """Return the parameters that differ, in the order of the descriptions; none if one has none."""
    if a is None or b is None:
        return []
    ours, theirs = ({one.path: one for one in machine.parameters} for machine in (a, b))
    found = []
    for path, known in {**ours, **theirs, **ours}.items():
        both = [machine.get(path) for machine in (ours, theirs)]
        if len({one and one.value for one in both}) == 1 and None not in both:
            continue
        had = [
            one and Had(value=one.value, text=one.text, evidence=one.evidence, source=one.origin)
            for one in both
        ]
        found.append(Difference(path=path, unit=known.unit, a=had[0], b=had[1]))
    return found


def parts(a: Machine, b: Machine) -> dict[str, tuple[str, str]]:
    """Return what two machines are made of, where that differs, by the name of its option.

    Where nodes are of several groups, the name of each stands before what is its own.
    """
    ours, theirs = parts_of(a), parts_of(b)
    every = {name: (ours.get(name, ""), theirs.get(name, "")) for name in {**ours, **theirs}}
    return {name: pair for name, pair in every.items() if pair[0] != pair[1]}


def parts_of(machine: Machine) -> dict[str, str]:
    """Return what a machine is made of, by the name of its option."""
    found = {"testbed": machine.id}
    for group in machine.groups:
        start = f"{group.name}." if len(machine.groups) > 1 else ""
        found |= {
            f"{start}adapter": group.adapter.id,
            f"{start}firmware_mode": group.firmware_mode or "",
            f"{start}host": group.host.id,
            f"{start}stack": group.stack.id,
        }
    found["switch"] = ", ".join(dict.fromkeys(one.id for one in machine.switches.values()))
    return found | {"mtu": str(machine.mtu)}
