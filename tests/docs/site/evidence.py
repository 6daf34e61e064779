"""What claims rest on: counted by source, and how far each value that could overturn one may move.

Run as a program it prints the table of the README.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from statistics import median
from typing import get_args

from hcasim.ground.units import FREQUENCY, RATE, SIZE, TIME
from hcasim.papers.claim import Claim
from hcasim.papers.evidence import Basis, Decisive, Rests, lines_of, read_evidence, rests_of
from hcasim.papers.loader import list_papers, list_scenarios, load_context, load_scenario
from hcasim.papers.plan import plan_papers
from hcasim.papers.roles import Standing, standings
from hcasim.papers.scenario import Scenario
from hcasim.papers.verdict import NUMBERS, relative_error
from tests.docs.site.markdown import code, page, plain, table

SIMULATED = "peers"
"""What was simulated by others: verification, and no measurement."""
COLUMNS = ("source", "claims", "not replayed", "numbers", *get_args(Basis), "median error")
Standings = Mapping[str, Standing]


def pages() -> Iterator[tuple[str, str]]:
    """Yield the page of what would change a verdict."""
    told = (
        "Each unpublished value of the machines was varied over its plausible range, one at a "
        "time. Below are those that overturn a claim, with the value at which it turns. A claim "
        "that is not here is forced by what is published, informed by a fit to itself, or was not "
        "computed."
    )
    parts = []
    for paper in list_papers():
        rows = []
        for name in list_scenarios(paper):
            scenario = load_scenario(name)
            rows += [
                (claim, one, rests.basis(scenario.publication))
                for claim, rests in rests_of(scenario, lines_of(scenario)).items()
                for one in rests.decisive.values()
            ]
        cells = [
            (
                code(claim),
                basis,
                *map(code, (one.name, one.value, one.turns)),
                _by(one),
                _origin(one),
            )
            for claim, one, basis in rows
        ]
        columns = ("claim", "rests on", "value of", "is", "turns at", "by", "evidence")
        parts += [page(f"## {paper}", table(columns, cells))] if cells else []
    yield "reference/turning", page("What would change a verdict", told, *parts)


def _by(one: Decisive) -> str:
    """Return by how much a value may move before the claim turns; nothing of words."""
    for unit in (TIME, SIZE, RATE, FREQUENCY, None):
        with suppress(ValueError):
            read = int if unit is None else unit.parse
            base, turns = map(read, (one.value, one.turns))
            return f"{100 * (turns / base - 1):+.0f} %" if base else ""
    return ""


def _origin(one: Decisive) -> str:
    return plain(one.evidence + (f", informed by {' '.join(one.informed)}" if one.informed else ""))


def counts(scenarios: Sequence[Scenario], standing: Standings, on_site: bool = False) -> str:
    """Return the table of what claims of measurements rest on, by source.

    Cells count claims, in brackets those that are missed; of forced ones also those that two values
    together, or one with twice its range, could overturn. The median error is of the numbers that
    are forced or carried over. On the site the table has links, what others simulated, and each
    publication of a collection.
    """
    rows = []
    for paper in list_papers():
        if paper == SIMULATED and not on_site:
            continue
        own = [one for one in scenarios if one.paper == paper]
        name = f"[{paper}](/reference/scenarios/{paper}.md)" if on_site else code(paper)
        rows.append((name, *_counted(own, standing, len(load_context(paper)))))
        several = dict.fromkeys(one.publication for one in own)
        for publication in several if on_site and len(several) > 1 else ():
            part = [one for one in own if one.publication == publication]
            rows.append((plain(publication), *_counted(part, standing)))
    return table(COLUMNS, rows)


def _counted(
    scenarios: Sequence[Scenario], standing: Standings, context: int | None = None
) -> Sequence[str]:
    """Return the cells of the claims of scenarios, beside so many statements not replayed."""
    rests = {name: one for own in read_evidence().values() for name, one in own.claims.items()}
    claims = [claim for one in scenarios for claim in one.claims]
    numbers = {standing[one.id].first for one in claims if one.kind in NUMBERS}
    own = {one: [c for c in claims if standing[c.id].basis == one] for one in get_args(Basis)}
    weak = sum(bool(rests[c.id].doubled or rests[c.id].together) for c in own["forced"])
    cells = [*map(_cell, own.values())]
    cells[0] += f", {weak} barely" * bool(weak)
    errors = [*_errors(claims, standing, rests).values()]
    middle = f"{100 * median(errors):.1f} % of {len(errors)}" if errors else ""
    left = "" if context is None else str(context)
    return str(len(claims)), left, str(len(numbers)), *cells, middle


def _cell(claims: Sequence[Claim]) -> str:
    missed = sum(one.deviation is not None for one in claims)
    return f"{len(claims)} ({missed})" if missed else str(len(claims))


def _errors(
    claims: Sequence[Claim], standing: Standings, rests: Mapping[str, Rests]
) -> dict[str, float]:
    """Return the error of each number that is forced or carried over, the worst of several."""
    errors: dict[str, float] = {}
    for one in claims:
        own = standing[one.id]
        if one.kind in NUMBERS and own.basis in ("forced", "carried over"):
            error = abs(relative_error(rests[one.id].value, one.ends))
            errors[own.first] = max(error, errors.get(own.first, 0.0))
    return errors


if __name__ == "__main__":
    every = [load_scenario(name) for name in list_scenarios()]
    sys.stdout.write(counts(every, standings(plan_papers(every))) + "\n")
