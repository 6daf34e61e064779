"""Where the values of the machines come from, told once for each part that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hcasim.catalog import Machine, Parameter, Value
from hcasim.catalog.provenance import EVIDENCE
from hcasim.pages.document import Block, Cell, Column, Content, Counts, Table, Text
from hcasim.papers.replay import Replay

Parameters = tuple[Parameter[Value], ...]
_KINDS = ("adapter", "host", "stack", "switch", "network")
_FEW = 3
"""Ids that are named; of more only how many."""


class Provenance:
    """The machines of replays, and the parts that they are made of."""

    def __init__(self, replays: Iterable[Replay]) -> None:
        # A part is the values that an adapter, a host, software, a switch or a testbed has.
        self._parts: dict[tuple[str, Parameters], str] = {}
        # Of each machine the names of its parts and the ids of what ran on it.
        self._uses: dict[tuple[str, str], tuple[Machine, list[str], dict[str, None]]] = {}
        for replay in replays:
            for machine in replay.machines.values():
                key = (machine.id, machine.digest)
                if key not in self._uses:
                    found: dict[str, list[Parameter[Value]]] = {}
                    for one in machine.parameters:
                        found.setdefault(_owner(machine, one.path), []).append(one)
                    parts = [self._part(name, tuple(own)) for name, own in found.items()]
                    self._uses[key] = (machine, parts, {})
                self._uses[key][2][replay.scenario.id] = None

    def _part(self, name: str, parameters: Parameters) -> str:
        """Return what a part is called: of several with other values each has a number."""
        if (name, parameters) not in self._parts:
            alike = sum(one == name for one, _ in self._parts)
            self._parts[name, parameters] = f"{name} ({alike + 1})" if alike else name
        return self._parts[name, parameters]

    @property
    def _values(self) -> list[tuple[str, Parameter[Value]]]:
        """All values, each with the name of its part."""
        return [(name, one) for (_, every), name in self._parts.items() for one in every]

    def blocks(self) -> Iterator[Block]:
        """Yield the machines, what they are made of, and all their values."""
        counts: Counter[str] = Counter(one.evidence for _, one in self._values)
        yield Text(
            f"The {len(self._uses)} machines that were simulated are made of {len(self._parts)} "
            f"parts with {len(self._values)} values. spec, datasheet and driver name a public "
            "document; fitted was determined from measurements, chosen is assumed with published "
            "numbers in view, and assumed is plausible without a public source. Of parts with a "
            "number, another of the same name has other values. Below a fitted value stands its "
            "interval."
        )
        yield Counts([(kind, counts[kind], "") for kind in EVIDENCE])
        yield self._machines()
        yield self._all_values()

    def _machines(self) -> Table:
        rows = []
        for machine, parts, scenarios in self._uses.values():
            settings = [f"{path} = {text}" for path, text in machine.overrides.items()]
            kinds = [[one for one in parts if one.split()[0] == kind] for kind in _KINDS]
            few = ", ".join([*scenarios][:_FEW])
            more = f" and {len(scenarios) - _FEW} more" if len(scenarios) > _FEW else ""
            rows.append(
                [
                    Cell(machine.id, below=machine.title),
                    *map(_lead, kinds),
                    "; ".join(settings),
                    Cell(str(len(scenarios)), len(scenarios), below=few + more),
                ]
            )
        prose = (Column("settings of the authors", prose=True), Column("figures", right=True))
        return Table("Machines", ("testbed", *_KINDS, *prose), rows)

    def _all_values(self) -> Table:
        rows: list[tuple[Content, ...]] = []
        before = ""
        for part, one in self._values:
            name = Cell(one.path, place="" if part == before else _place(part))
            ends = "" if one.ends is None else " to ".join(one.ends)
            order = one.value if type(one.value) is int else None
            value = Cell(one.text, order, below=ends)
            rows.append((name, part, value, one.evidence, ", ".join(one.claims), one.origin))
            before = part
        columns = (
            *("parameter", Column("part", chosen=True), Column("value", right=True)),
            *(Column("evidence", chosen=True), "determined by", Column("source", prose=True)),
        )
        return Table("All values", columns, rows, filtered=True)


def _owner(machine: Machine, path: str) -> str:
    """Return the part of a machine that a value is of, such as "adapter mt25208"."""
    first, _, rest = path.partition(".")
    groups, group, kind = {one.name: one for one in machine.groups}, machine.groups[0], first
    inner = rest.partition(".")[0]
    if inner in _KINDS and first in groups:
        group, kind = groups[first], inner
    if kind == "switch" or inner == "switch":
        model = machine.switches.get(first, machine.switch)
        return f"switch {model.id}" if model is not None else f"network {machine.id}"
    if kind in ("adapter", "host", "stack"):
        return f"{kind} {getattr(group, kind).id}"
    return f"network {machine.id}"


def _lead(parts: list[str]) -> str | Cell:
    """Return the names of parts of one kind, which lead to their values."""
    names = ", ".join(dict.fromkeys(one.partition(" ")[2] for one in parts))
    return Cell(names, link=_place(parts[0])) if parts else ""


def _place(part: str) -> str:
    """Return the name of the first row of a part, to which others lead."""
    return f"part-{part.replace(' ', '-')}"
