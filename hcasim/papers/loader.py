"""Finding and reading scenarios: published experiments, one file per figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from hcasim.catalog import CatalogError, data_path, find_file, list_ids, nearest, one_of, read_toml
from hcasim.catalog.folders import shipped
from hcasim.ground.errors import display
from hcasim.ground.faults import told
from hcasim.ground.paths import leads_to
from hcasim.ground.quantities import QUANTITIES
from hcasim.papers.claim import Claim, Context, Entry, Measure, Text, as_tuple
from hcasim.papers.scenario import Scenario

CONTEXT = "context"
"""Name of a paper's file of statements that no figure replays."""

M = TypeVar("M", bound=BaseModel)


class ContextFile(Entry):
    """The statements of a paper that no scenario replays, as their file holds them."""

    paper: Text
    context: Annotated[tuple[Context, ...], BeforeValidator(as_tuple)]


def list_scenarios(paper: str | None = None) -> list[str]:
    """Return the ids of all scenarios, or of one paper's, sorted."""
    return [
        name
        for name in list_ids("scenarios")
        if not name.endswith(f"/{CONTEXT}") and (paper is None or name.startswith(f"{paper}/"))
    ]


def list_papers() -> list[str]:
    """Return the papers that have scenarios, sorted."""
    return sorted({name.partition("/")[0] for name in list_scenarios()})


def scenario_path(identifier: str) -> Path:
    """Return the file of a scenario."""
    return data_path("scenarios", *f"{identifier}.toml".split("/"))


def load_scenario(identifier: str) -> Scenario:
    """Load a scenario by its id.

    Parameters:
        identifier: "<paper>/<figure>", such as "liu2004/fig03".

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    known = list_scenarios()
    if identifier not in known:
        raise CatalogError([_unknown(identifier, known)])
    path = scenario_path(identifier)
    table = {**read_toml(path), "id": identifier}
    scenario = _validated(Scenario, table, path)
    ids = [claim.id for claim in scenario.claims]
    faults = [
        *_wrong_references(scenario, foreign=False),
        *_unknown_parts(scenario),
        *(
            f"series.{name}.qps: found {one.qps}, but qps is the x axis; leave one out"
            for name, one in scenario.series.items()
            if one.qps is not None and scenario.options.axis.name == "qps"
        ),
        *_foreign_units(scenario),
        *(f"claims: found {name!r} twice" for name, n in Counter(ids).items() if n > 1),
    ]
    if scenario.paper != identifier.partition("/")[0]:
        faults.append(f"paper: found {scenario.paper!r}; allowed: the name of the folder")
    if faults:
        raise CatalogError([f"{display(path)}: {fault}" for fault in faults])
    return scenario


def load_context(paper: str) -> tuple[Context, ...]:
    """Load the statements of a paper that no scenario replays; none if it has no such file."""
    path = data_path("scenarios", paper, f"{CONTEXT}.toml")
    if not leads_to(path):
        return ()
    return _validated(ContextFile, read_toml(path), path).context


def load_scenarios(identifiers: Iterable[str]) -> list[Scenario]:
    """Load scenarios, and whole papers, and check what their claims refer to.

    Parameters:
        identifiers: papers such as "liu2004" or scenarios such as "liu2004/fig03".

    Returns:
        Each scenario once, in the order asked for.

    Raises:
        CatalogError: every fault of the request and of the files.
    """
    known, papers = list_scenarios(), list_papers()
    wanted: dict[str, None] = {}
    faults: list[str] = []
    for identifier in identifiers:
        if identifier in papers:
            wanted.update(dict.fromkeys(list_scenarios(identifier)))
        elif identifier in known:
            wanted[identifier] = None
        else:
            faults.append(_unknown(identifier, [*papers, *known]))
    scenarios: list[Scenario] = []
    for identifier in wanted:
        try:
            scenario = load_scenario(identifier)
        except CatalogError as error:
            faults += error.faults
        else:
            scenarios.append(scenario)
            path = display(scenario_path(identifier))
            faults += (f"{path}: {fault}" for fault in _wrong_references(scenario, foreign=True))
    if faults:
        raise CatalogError(faults)
    return scenarios


def every_scenario(first: Iterable[str] = ()) -> list[Scenario]:
    """Load the scenarios that are named, and behind them all others.

    What is said of a claim depends on all claims; a broken file of the user's own that nobody asks
    for is left out, and `hcasim list` marks it.

    Parameters:
        first: papers or scenarios.

    Raises:
        CatalogError: every fault of the request, and of the files that are named or shipped.
    """
    names = list_scenarios()
    found = load_scenarios([*first, *filter(is_shipped, names)])
    loaded = {one.id for one in found}
    for name in (name for name in names if name not in loaded):
        with suppress(CatalogError):
            found += load_scenarios([name])
    return found


def is_shipped(identifier: str) -> bool:
    """Whether a scenario is none of the user's own."""
    return scenario_path(identifier).is_relative_to(shipped())


def references(claim: Claim) -> Iterator[tuple[str, Measure, int | None]]:
    """Yield the series that a claim reads, as it names them, by which measure, and the one x of
    them that it reads, if it is given."""
    for measure in claim.measure:
        other = measure.at if measure.against_at is None else measure.against_at
        yield from ((name, measure, measure.at) for name in measure.series)
        yield from ((name, measure, other) for name in measure.against or ())


def _unknown(identifier: str, known: list[str]) -> str:
    folder = display(data_path("scenarios"))
    return (
        f"{folder}: found no scenario {identifier!r}; "
        f"allowed: {one_of(known)}{nearest(identifier, known)}"
    )


def _validated(model: type[M], table: object, path: Path) -> M:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise CatalogError(told(error, [model], table, f"{display(path)}: ")) from None


def _wrong_references(scenario: Scenario, foreign: bool) -> Iterator[str]:
    """Faults of what claims refer to: in other scenarios, or in their own."""
    for number, claim in enumerate(scenario.claims, start=1):
        where = f"claims[{number}].measure"
        for name, measure, at in references(claim):
            if (":" in name) != foreign:
                continue
            other, _, series = scenario.qualified(name).partition(":")
            try:
                found = load_scenario(other) if foreign else scenario
            except CatalogError as error:
                yield from (f"{where}: {fault}" for fault in error.faults)
                continue
            if series not in found.series:
                yield (
                    f"{where}: found no series {name!r}; "
                    f"{other} has {one_of(list(found.series))}{nearest(series, found.series)}"
                )
                continue
            axis, points = found.options.axis, found.options.points or ()
            known = one_of([axis.label(point) for point in points])
            if at is not None and at not in points:
                yield f"{where}: found at {axis.label(at)}; {axis.name} of {other} has {known}"
            elif points and not any(map(measure.covers, points)):
                yield f"{where}: found below or above all; {axis.name} of {other} has {known}"


def _foreign_units(scenario: Scenario) -> Iterator[str]:
    """Faults of claims whose number has a unit that its quantity cannot have."""
    for number, claim in enumerate(scenario.claims, start=1):
        limit = claim.kind == "threshold" and claim.measure[0].against is None
        units = list(QUANTITIES[claim.quantity].units)
        if (limit or claim.kind in ("value", "difference")) and claim.unit not in units:
            yield (
                f"claims[{number}].unit: found {claim.unit!r}; "
                f"allowed for a {claim.quantity}: {one_of(units)}{nearest(claim.unit, units)}"
            )


def _unknown_parts(scenario: Scenario) -> Iterator[str]:
    wanted = [("testbed", scenario.testbed)]
    for name, series in scenario.series.items():
        wanted += [(f"series.{name}.adapter", series.adapter)]
        if series.testbed is not None:
            wanted += [(f"series.{name}.testbed", series.testbed)]
    for where, part in wanted:
        try:
            find_file(part, f"{where.rpartition('.')[2]}s")
        except CatalogError as error:
            yield f"{where}: {error.faults[0]}"
