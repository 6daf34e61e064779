"""A reproduction of papers as a document: what was published beside what was simulated, and where
the values of the machines come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from hcasim import __version__
from hcasim.catalog import Machine, Parameter, Value
from hcasim.catalog.section import EVIDENCE
from hcasim.ground.quantities import title
from hcasim.pages.document import (
    Block,
    Cell,
    Code,
    Column,
    Content,
    Counts,
    Document,
    Facts,
    Figure,
    Section,
    Table,
    Text,
)
from hcasim.papers.claim import Claim
from hcasim.papers.replay import Replay
from hcasim.papers.report import Report
from hcasim.papers.verdict import Verdict
from hcasim.runs.curve import beside

_Columns = Sequence[str | Column]
Parameters = tuple[Parameter[Value], ...]
_KINDS = ("adapter", "host", "stack", "switch", "network")
_FEW = 3
"""Ids that are named; of more only how many."""


def _right(*titles: str) -> list[Column]:
    return [Column(one, right=True) for one in titles]


def _prose(*titles: str) -> list[Column]:
    return [Column(one, prose=True) for one in titles]


_PAPER = "paper or collection"
_NUMBERS = _right("published", "simulated", "error")


def _place(scenario: str) -> str:
    """Return the name of the section of a scenario."""
    return f"figure-{scenario.replace('/', '-')}"


def claims(report: Report) -> Table:
    """Return the table of all claims that were judged."""
    paper, role, status = (Column(one, chosen=True) for one in (_PAPER, "role", "status"))
    columns: _Columns = (
        "claim",
        paper,
        "figure",
        "system",
        *_prose("statement"),
        *_NUMBERS,
        role,
        status,
    )
    judged = [one for one in report.verdicts if one.status != "context"]
    return Table(report.title, columns, [list(_claim(one)) for one in judged], filtered=True)


def _claim(verdict: Verdict) -> Iterator[str | Cell]:
    missed = verdict.status in ("fail", "deviation")
    below = verdict.section if missed else "; ".join(filter(None, (verdict.section, verdict.note)))
    paper, _, figure = verdict.scenario.partition("/")
    yield Cell(verdict.id, place=f"claim-{verdict.id}")
    yield paper
    yield Cell(figure, link=_place(verdict.scenario))
    yield verdict.system
    yield Cell(verdict.statement, below=below)
    yield from _numbers(verdict)
    yield verdict.role
    link = f"missed-{verdict.id}" if missed else ""
    yield Cell(verdict.status, mark=verdict.status, link=link)


def _numbers(verdict: Verdict) -> Iterator[Cell]:
    """Yield what was published, what was simulated, and by how much they differ."""
    published, simulated, error = verdict.texts
    stated = verdict.published[0] if isinstance(verdict.published, tuple) else verdict.published
    share = None
    if verdict.error is not None and verdict.tolerance:
        share = verdict.error / verdict.tolerance
    yield Cell(published, stated if isinstance(stated, float) else None)
    yield Cell(simulated, verdict.simulated)
    yield Cell(error, verdict.error, share=share)


def deviations(report: Report) -> Table:
    """Return the table of the claims that are missed, with what explains them."""
    every = (claim for one in report.replays for claim in one.scenario.claims)
    known = {claim.id: claim for claim in every}
    told: dict[str, str] = {}
    rows = []
    for one in report.deviations:
        name = Cell(one.id, place=f"missed-{one.id}", link=f"claim-{one.id}")
        rows.append([name, *_numbers(one), *_explained(one, known.get(one.id), told)])
    columns: _Columns = ("claim", *_NUMBERS, *_prose("what is missed", "mechanism"))
    return Table("Claims that are missed, and why", columns, rows)


def _explained(
    verdict: Verdict, claim: Claim | None, told: dict[str, str]
) -> tuple[str, str | Cell]:
    """Return what is missed and its mechanism; what was told of a claim is not told again."""
    if verdict.status == "fail" or claim is None or claim.deviation is None:
        return verdict.note or verdict.statement, Cell("no deviation is documented", mark="fail")
    mechanism = claim.deviation.mechanism
    first = told.setdefault(mechanism, verdict.id)
    again = Cell(f"as {first}", link=f"missed-{first}")
    return claim.deviation.reason, mechanism if first == verdict.id else again


def context(report: Report) -> Table:
    """Return the table of the statements that nothing replays."""
    prose = _prose("what is stated", "why it is not replayed")
    columns: _Columns = ("statement", _PAPER, "system", "published", *prose)
    rows = [
        (one.id, one.scenario.partition("/")[0], one.system, one.texts[0], one.statement, one.note)
        for one in report.verdicts
        if one.status == "context"
    ]
    return Table("Statements of context", columns, rows, filtered=True)


def by_paper(reports: Mapping[str, Report]) -> Table:
    """Return the table of how well each paper is met, from reports on each alone."""
    counted, roles = ("pass", "deviation", "fail", "context"), ("fitted", "predicted")
    rows = [
        [name, *_counts(one.summary, counted), *(_error(one.median_error(role)) for role in roles)]
        for name, one in reports.items()
    ]
    titles = (*counted, *(f"median error, {role}" for role in roles))
    return Table("Statements by paper or collection", [_PAPER, *_right(*titles)], rows)


def by_role(report: Report) -> Table:
    """Return the table of how many claims were fitted, derived and predicted."""
    counted = ("claims", "readings", "numbers", "orders", "limits")
    rows = [
        [role, *_counts(count, counted), _error(report.median_error(role))]
        for role, count in report.roles.items()
    ]
    return Table("Claims by their role", ["role", *_right(*counted, "median error")], rows)


def _counts(found: Mapping[str, int], names: Iterable[str]) -> list[str | Cell]:
    return [Cell(str(found[name]), found[name]) for name in names]


def _error(error: float | None) -> str | Cell:
    return "" if error is None else Cell(f"{100 * error:.1f} %", error)


_COUNTED = {
    "pass": "claims pass",
    "deviation": "miss, with a documented deviation",
    "fail": "miss, and nothing says why",
    "context": "statements that nothing replays",
}
_ROLES = (
    "Numbers that several claims repeat are one reading. Orders and limits are counted apart from "
    "numbers. The median error is that of the readings that state a number, each with the worst of "
    "its errors."
)


def document(report: Report, command: str = "", made: datetime | None = None) -> Document:
    """Describe a reproduction for readers, with the command that made it, and when."""
    met = Text("None: every claim is met.")
    sections = [
        Section("Deviations", [deviations(report) if report.deviations else met]),
        Section("Agreement", list(_agreement(report))),
        Section("Figures", list(_figures(report))),
        Section("Fitted, chosen and predicted", [Text(_ROLES), by_role(report)]),
        Section("Where each value comes from", list(Provenance(report.replays).blocks())),
    ]
    return Document(report.title, [*_summary(report, command, made), *sections])


def _summary(report: Report, command: str, made: datetime | None) -> Iterator[Block]:
    yield Counts([(told, report.summary[one], one) for one, told in _COUNTED.items()])
    papers = dict.fromkeys(one.scenario.paper for one in report.replays)
    facts = {
        "papers and collections": ", ".join(papers),
        "replayed": f"{len(report.replays)} figures and tables",
        **{f"instead: {part}": name for part, name in report.instead.items()},
        "hcasim": __version__,
        "made": f"{made:%Y-%m-%d %H:%M %Z}".strip() if made else "",
        "took": "" if report.wall_seconds is None else f"{report.wall_seconds:.1f} s",
    }
    yield Facts([(name, one) for name, one in facts.items() if one])
    if command:
        yield Code(f"$ {command}")


def _agreement(report: Report) -> Iterator[Block]:
    if len(report.by_paper) > 1:
        yield by_paper(report.by_paper)
    yield Text(
        "The error is relative to what was published; the bar shows how much of the tolerance it "
        "takes, of which each half of the bar is all. A claim is fitted if a value was fitted to "
        "it or chosen from it, derived if it follows from such claims by arithmetic, and "
        "predicted otherwise."
    )
    yield claims(report)
    if report.summary["context"]:
        yield Section("Statements that nothing replays", [context(report)], folded=True)


def _figures(report: Report) -> Iterator[Block]:
    yield Text("Lines and bars are simulated, stars are what was published of single points.")
    statuses = {one.id: one.status for one in report.verdicts}
    for paper, replays in groupby(report.replays, lambda one: one.scenario.paper):
        yield Section(paper, [_figure(one, statuses) for one in replays])


def _figure(replay: Replay, statuses: Mapping[str, str]) -> Section:
    scenario = replay.scenario
    heading = f"{scenario.place}: {replay.title}"
    claims = [
        Cell(one.id, link=f"claim-{one.id}", mark=statuses.get(one.id, ""))
        for one in scenario.claims
    ]
    how: list[tuple[str, Content | Sequence[Content]]] = [
        ("scenario", scenario.id),
        ("discussed in", scenario.section),
        ("testbed", ", ".join(dict.fromkeys(map(scenario.testbed_of, scenario.series)))),
        ("workload", ", ".join(dict.fromkeys(map(scenario.workload_of, scenario.series)))),
        *([("claims", claims)] if claims else []),
    ]
    curves, quantity = list(replay.curves.values()), scenario.axes.field
    (first, *others), rows = beside(curves, quantity)
    columns: tuple[str | Column, ...] = (first, *(Column(one, right=True) for one in others))
    values = Table(title(quantity), columns, rows)
    drawn = replay.plot()
    # The section has the title.
    drawn.suptitle("")
    drawn.axes[0].set_title("")
    folded = Section("Values", [values], f"values-{_place(scenario.id)}", folded=True)
    return Section(heading, [Figure(heading, drawn), Facts(how), folded], _place(scenario.id))


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
            name = Cell(one.path, place="" if part == before else _part_place(part))
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
    return Cell(names, link=_part_place(parts[0])) if parts else ""


def _part_place(part: str) -> str:
    """Return the name of the first row of a part, to which others lead."""
    return f"part-{part.replace(' ', '-')}"
