"""Every model with where its values come from, and every scenario with what its paper states."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from hcasim.catalog import list_ids, load
from hcasim.papers.claim import Claim
from hcasim.papers.loader import list_papers, list_scenarios, load_context, load_scenario
from hcasim.papers.plan import plan_papers
from hcasim.papers.roles import Role, Standing, standings
from hcasim.papers.scenario import Scenario
from tests.docs.site.markdown import beside, code, contents, page, plain, prose, table

KINDS = ("adapters", "hosts", "switches", "stacks", "testbeds")
REPORT = "HCASIM_REPORT"
"""The environment variable that names a `reproduce.json`, whose simulated values are shown then."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    yield from _models()
    scenarios = [load_scenario(name) for name in list_scenarios()]
    standing = standings(plan_papers(scenarios))
    found = simulated()
    for paper in list_papers():
        own = [one for one in scenarios if one.paper == paper]
        yield f"reference/scenarios/{paper}", _paper(paper, own, standing, found)
    told = "The published experiments that are replayed, each with what its authors state."
    yield (
        "reference/scenarios/index",
        page("Scenarios and claims", told, contents(list_papers())),
    )
    yield "included/validity", _validity(scenarios, standing, found)


def _models() -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        rows = []
        for name in list_ids(kind):
            found = load(name, kind)
            evidence = Counter(one.evidence for one in found.parameters)
            parts = ", ".join(f"{count} {word}" for word, count in evidence.most_common())
            values = (
                (
                    code(one.path),
                    code(one.text),
                    one.evidence,
                    (f"from {code(one.inherited_from)}: " if one.inherited_from else "")
                    + plain(one.source),
                )
                for one in found.parameters
            )
            yield (
                f"reference/models/{kind}/{name}",
                beside(
                    page(
                        name,
                        f"[{kind.title()}](index.md): {plain(found.model.title)}.",
                        prose(str(getattr(found.model, "notes", ""))),
                        f"{len(found.parameters)} values: {parts}.",
                        table(("path", "value", "evidence", "source"), values),
                    )
                ),
            )
            rows.append((f"[{code(name)}]({name}.md)", plain(found.model.title)))
        listed = table(("id", "what it is"), rows)
        yield (
            f"reference/models/{kind}/index",
            page(kind.title(), listed),
        )
    told = (
        "Each piece of hardware and software has one file, and each value in it says where it "
        "comes from: `spec`, `datasheet`, `driver`, `fitted`, `chosen` or `assumed`, as "
        "[the evidence](/contributing.md) is. `hcasim show ID` prints the same."
    )
    names = [f"{kind}/index" for kind in KINDS]
    yield "reference/models/index", page("Models", told, contents(names))


def simulated() -> Mapping[str, Mapping[str, Any]]:
    """What a reproduction found of each claim, if there is one to be shown."""
    file = os.environ.get(REPORT)
    if not file:
        return {}
    claims = json.loads(Path(file).read_text(encoding="utf-8"))["claims"]
    return {one["id"]: one for one in claims}


def figures() -> Iterator[Path]:
    """Yield the figures of the scenarios that `hcasim reproduce -o` has drawn beside its report."""
    found = (report_beside(_figure(load_scenario(name))) for name in list_scenarios())
    yield from (one for one in found if one is not None)


def _figure(scenario: Scenario) -> str:
    return f"{scenario.id.replace('/', '-')}.svg"


def report_beside(name: str) -> Path | None:
    """Return a file beside the reproduction that is shown, if both are there."""
    report = os.environ.get(REPORT)
    file = Path(report or "").parent / name
    return file if report and file.exists() else None


def _paper(
    paper: str,
    scenarios: list[Scenario],
    standing: Mapping[str, Standing],
    simulated: Mapping[str, Mapping[str, Any]],
) -> str:
    parts = [_scenario(one, standing, simulated) for one in scenarios]
    if context := load_context(paper):
        rows = [(one.id, plain(one.statement), plain(one.reason)) for one in context]
        lines = table(("statement", "what is stated", "why it is not replayed"), rows)
        parts.append(page("## Not replayed", lines))
    return page(paper, *parts)


def _scenario(
    scenario: Scenario,
    standing: Mapping[str, Standing],
    simulated: Mapping[str, Mapping[str, Any]],
) -> str:
    name, figure = scenario.id.partition("/")[2], _figure(scenario)
    axis = scenario.options.axis
    points = ", ".join(map(axis.label, scenario.options.points or ()))
    machines = dict.fromkeys(
        f"{_linked('testbeds', scenario.testbed_of(key))} with {_linked('adapters', one.adapter)}"
        for key, one in scenario.series.items()
    )
    place = filter(None, (scenario.place, scenario.source))
    rows = [_claim(one, standing[one.id], simulated.get(one.id)) for one in scenario.claims]
    columns = ("claim", "what is stated", "published", "role")
    if simulated:
        columns = (*columns, "simulated", "error")
    missed = [
        f"- {code(one.id)}: {plain(one.deviation.reason)}; {plain(one.deviation.mechanism)}"
        for one in scenario.claims
        if one.deviation
    ]
    return page(
        f"## {name}",
        f"{plain(scenario.title)} ({plain(', '.join(place))}, section {plain(scenario.section)}). "
        f"{code(scenario.workload)} on {'; '.join(machines)}. "
        f"{plain(scenario.axes.y)} over {code(axis.name)}"
        + (f": {plain(points)}." if points else "."),
        f"Series: {', '.join(plain(one.label) for one in scenario.series.values())}.",
        f"![{plain(scenario.title)}](/figures/{figure})" if report_beside(figure) else "",
        table(columns, rows) if rows else "",
        "\n".join(missed),
    )


def _linked(kind: str, name: str) -> str:
    return f"[{code(name)}](/reference/models/{kind}/{name}.md)"


def _claim(
    claim: Claim, standing: Standing, simulated: Mapping[str, Any] | None
) -> tuple[str, ...]:
    published: object = claim.published
    if isinstance(published, tuple):
        published = f"{published[0]:g} to {published[1]:g}"
    elif isinstance(published, float):
        sign = {"=": "", "~": "~ "}.get(claim.relation, f"{claim.relation} ")
        published = f"{sign}{published:g}"
    role: str = standing.role
    if claim.deviation is not None:
        role += f", missed by {100 * claim.deviation.error:+.0f} %"
    stated = f"{plain(claim.statement)} ({plain(claim.system)})"
    row = (code(claim.id), stated, plain(f"{published} {claim.unit}"), role)
    if simulated is None:
        return row
    error = simulated["error"]
    found = "" if simulated["simulated"] is None else f"{simulated['simulated']:.4g}"
    return (*row, found, "" if error is None else f"{100 * error:+.1f} %")


def _validity(
    scenarios: list[Scenario],
    standing: Mapping[str, Standing],
    simulated: Mapping[str, Mapping[str, Any]],
) -> str:
    rows = []
    for paper in list_papers():
        claims = [claim for one in scenarios if one.paper == paper for claim in one.claims]
        roles = Counter(standing[one.id].role for one in claims)
        readings = len({standing[one.id].first for one in claims})
        missed = sum(one.deviation is not None for one in claims)
        counts = (
            len(claims),
            readings,
            *(roles[one] for one in ("fitted", "derived", "predicted")),
        )
        link = f"[{paper}](/reference/scenarios/{paper}.md)"
        rows.append((link, *map(str, counts), str(missed), str(len(load_context(paper)))))
    totals = (str(sum(int(row[column]) for row in rows)) for column in range(1, len(rows[0])))
    rows.append(("all", *totals))
    columns = ("paper or collection", "claims", "readings", *get_args(Role), "missed", "context")
    parts = [table(columns, rows)]
    if simulated:
        parts.append(_errors(standing, simulated))
    return page("## In numbers", *parts, "## What is missed", _missed(scenarios))


def _errors(standing: Mapping[str, Standing], simulated: Mapping[str, Mapping[str, Any]]) -> str:
    rows = []
    for role in get_args(Role):
        errors = sorted(
            abs(one["error"])
            for name, one in simulated.items()
            if name in standing and standing[name].role == role and one["error"] is not None
        )
        if errors:
            middle, far = errors[len(errors) // 2], errors[9 * len(errors) // 10]
            rows.append((role, str(len(errors)), f"{100 * middle:.1f} %", f"{100 * far:.1f} %"))
    return table(("role", "numbers", "median error", "nine in ten below"), rows)


def _missed(scenarios: list[Scenario]) -> str:
    """Each deviation once, with the claims that share its reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in scenarios:
        for claim in one.claims:
            if claim.deviation:
                why = claim.deviation.reason, claim.deviation.mechanism
                error = f"{code(claim.id)} ({100 * claim.deviation.error:+.0f} %)"
                found.setdefault(why, []).append(error)
    rows = [
        (", ".join(claims), f"{plain(reason)}; {plain(mechanism)}")
        for (reason, mechanism), claims in found.items()
    ]
    return table(("claims", "what is missed, and the likely mechanism"), rows)
