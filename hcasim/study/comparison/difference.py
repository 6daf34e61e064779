"""What differs between the descriptions of two machines."""

from __future__ import annotations

from dataclasses import dataclass

from hcasim.catalog import Machine, Parameter, Value
from hcasim.study.comparison.document import ComparedParameter, ComparedValue


@dataclass(frozen=True)
class Difference:
    """A parameter that two machines do not have alike.

    Parameters:
        path: as --set takes it.
        a: what the first machine has, or None.
        b: what the second machine has, or None.
    """

    path: str
    a: Parameter[Value] | None
    b: Parameter[Value] | None

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as they are written; empty where there is none."""
        a, b = (one.text if one is not None else "" for one in (self.a, self.b))
        return a, b

    def document(self) -> ComparedParameter:
        """Return it in the form of the schema `compare`."""
        unit = next(one.unit for one in (self.a, self.b) if one is not None)
        return ComparedParameter(path=self.path, unit=unit, a=_value(self.a), b=_value(self.b))


def _value(one: Parameter[Value] | None) -> ComparedValue | None:
    if one is None:
        return None
    return ComparedValue(value=one.value, text=one.text, evidence=one.evidence, source=one.origin)


def differences(a: Machine, b: Machine) -> list[Difference]:
    """Return the parameters that differ, in the order of the descriptions."""
    ours = {one.path: one for one in a.parameters}
    theirs = {one.path: one for one in b.parameters}
    found = []
    for path in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(path), theirs.get(path)
        if one is None or other is None or one.value != other.value:
            found.append(Difference(path, one, other))
    return found


def parts(a: Machine, b: Machine) -> dict[str, tuple[str, str]]:
    """Return what two machines are made of, where that differs, by the name of its option.

    Where nodes are of several groups, the name of each stands before what is its own.
    """
    ours, theirs = _parts(a), _parts(b)
    every = {name: (ours.get(name, ""), theirs.get(name, "")) for name in {**ours, **theirs}}
    return {name: pair for name, pair in every.items() if pair[0] != pair[1]}


def _parts(machine: Machine) -> dict[str, str]:
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
