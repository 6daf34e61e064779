"""Finding and reading scenarios: published experiments, one file per figure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from hcasim.catalog import (
    CatalogError,
    data_path,
    find_file,
    find_kind,
    list_ids,
    nearest,
    one_of,
    read_toml,
)
from hcasim.catalog.folders import a_model, is_known, is_path, shipped, unknown_id
from hcasim.ground.errors import display, name_fault, refuse
from hcasim.ground.faults import told
from hcasim.ground.quantities import QUANTITIES
from hcasim.ground.reading import leads_to
from hcasim.papers.claim import Claim, Context, Entry, Measure, Text, as_tuple
from hcasim.papers.scenario import Scenario

CONTEXT = "context"
"""Name of a paper's file of statements that no figure replays."""

M = TypeVar("M", bound=BaseModel)
_ID = re.compile("[^:/]+(/[^:/]+)+")


class ContextFile(Entry):
    """The statements of a paper that no scenario replays, as their file holds them."""

    paper: Text
    context: Annotated[tuple[Context, ...], BeforeValidator(as_tuple)]


def list_scenarios(paper: str | None = None) -> list[str]:
    """Return the ids of all scenarios, or of one paper's, sorted."""
    refuse("" if paper is None else name_fault("paper", paper, "the name of a paper"))
    return [
        name
        for name in list_ids("scenarios")
        if not name.endswith(f"/{CONTEXT}") and (paper is None or name.startswith(f"{paper}/"))
    ]


def list_papers() -> list[str]:
    """Return the papers that have scenarios, sorted."""
    return sorted({name.partition("/")[0] for name in list_scenarios()})


def scenario_path(identifier: str) -> Path:
    """Return the file of a scenario by its id."""
    return data_path("scenarios", *f"{identifier}.toml".split("/"))


def load_scenario(name: str) -> Scenario:
    """Load a scenario.

    Parameters:
        name: its id, "<paper>/<figure>", such as "liu2004/fig03"; or the path of its file, whose
            `paper` and name make the id.

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    if is_path(name, "scenarios"):
        path = find_file(name, "scenarios")
        table = read_toml(path)
        kind = "scenarios"
        with suppress(CatalogError):
            kind = find_kind(str(path))
        if kind != "scenarios":
            fault = f"describes {a_model(kind)}; a scenario is asked for"
            raise CatalogError([f"{display(path)}: {fault}"])
        folder = str(table.get("paper", ""))
        identifier = f"{folder}/{path.stem}"
    else:
        if not is_known(name, "scenarios") or name.endswith(f"/{CONTEXT}"):
            raise CatalogError([unknown_id("scenarios", name, list_scenarios())])
        path, identifier, folder = scenario_path(name), name, name.partition("/")[0]
        table = read_toml(path)
    scenario = _validated(Scenario, {**table, "id": identifier}, path)
    axis = scenario.options.axis.name
    ids = [claim.id for claim in scenario.claims]
    faults = [
        *_wrong_references(scenario),
        *_unknown_parts(scenario, path.parent),
        *(
            f"series.{name}.{axis}: found {found}, but {axis} is the x axis; leave one out"
            for name, one in scenario.series.items()
            if (found := getattr(one, axis, None)) is not None
        ),
        *_foreign_units(scenario),
        *(f"claims: found {name!r} twice" for name, n in Counter(ids).items() if n > 1),
    ]
    if scenario.paper != folder:
        faults.append(f"paper: found {scenario.paper!r}; allowed: the name of the folder")
    if not _ID.fullmatch(identifier):
        faults.append(f"found the id {identifier!r}; allowed: a paper and a name without / and :")
    if faults:
        raise CatalogError([f"{display(path)}: {fault}" for fault in faults])
    return _placed(scenario, path.parent)


def load_context(paper: str) -> tuple[Context, ...]:
    """Load the statements of a paper that no scenario replays; none if it has no such file."""
    path = data_path("scenarios", paper, f"{CONTEXT}.toml")
    if not leads_to(path):
        return ()
    return _validated(ContextFile, read_toml(path), path).context


def load_scenarios(identifiers: Iterable[str]) -> list[Scenario]:
    """Load scenarios, and whole papers, and check what their claims refer to.

    Parameters:
        identifiers: papers such as "liu2004", or scenarios such as "liu2004/fig03" or
            "./mine.toml".

    Returns:
        Each scenario once, in the order asked for.

    Raises:
        CatalogError: every fault of the request and of the files.
    """
    known = list_scenarios()
    papers = {name.partition("/")[0] for name in known}
    wanted: dict[str, None] = {}
    faults: list[str] = []
    for identifier in identifiers:
        if identifier in papers:
            wanted.update(dict.fromkeys(n for n in known if n.startswith(f"{identifier}/")))
        elif identifier in known or is_path(identifier, "scenarios"):
            wanted[identifier] = None
        else:
            faults.append(unknown_id("scenarios", identifier, [*sorted(papers), *known]))
    loaded: dict[str, Scenario] = {}
    names: dict[str, str] = {}
    for identifier in wanted:
        try:
            scenario = load_scenario(identifier)
        except CatalogError as error:
            faults += error.faults
            continue
        if scenario.id in loaded:
            other = names[scenario.id]
            faults.append(
                f"{identifier}: found the id {scenario.id!r}, which {other} has, too; "
                "allowed: another paper or name of the file"
            )
        loaded[scenario.id], names[scenario.id] = scenario, identifier
    for identifier, scenario in loaded.items():
        name = names[identifier]
        file = Path(name) if is_path(name, "scenarios") else scenario_path(name)
        faults += (f"{display(file)}: {fault}" for fault in _wrong_references(scenario, loaded))
    if faults:
        raise CatalogError(faults)
    return list(loaded.values())


def every_scenario(first: Iterable[Scenario] = ()) -> list[Scenario]:
    """Return some scenarios, and behind them all others.

    What is said of a claim depends on all claims; a broken file of the user's own that nobody asks
    for is left out, and `hcasim list` marks it.

    Parameters:
        first: take the place of those with the same id.

    Raises:
        CatalogError: every fault of the files that are shipped, or a claim of the first with the id
            of another.
    """
    found = {one.id: one for one in first}
    names = [name for name in list_scenarios() if name not in found]
    shipped = load_scenarios(filter(is_shipped, names))
    known = {claim.id: one.id for one in shipped for claim in one.claims}
    faults = []
    for scenario in found.values():
        owners = {one.id: known.setdefault(one.id, scenario.id) for one in scenario.claims}
        foreign = [f"{name} of {one}" for name, one in owners.items() if one != scenario.id]
        if foreign:
            faults.append(
                f"{scenario.id}: claims: found {', '.join(foreign)}; allowed: ids of its own"
            )
    if faults:
        raise CatalogError(faults)
    found |= {one.id: one for one in shipped}
    for name in (name for name in names if not is_shipped(name)):
        with suppress(CatalogError):
            (scenario,) = load_scenarios([name])
            if all(known.setdefault(one.id, name) == name for one in scenario.claims):
                found[name] = scenario
    return list(found.values())


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


def _by_id(identifier: str) -> Scenario:
    if is_path(identifier, "scenarios"):
        raise CatalogError([unknown_id("scenarios", identifier, list_scenarios())])
    return load_scenario(identifier)


def _validated(model: type[M], table: object, path: Path) -> M:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise CatalogError(told(error, [model], table, f"{display(path)}: ")) from None


def _wrong_references(
    scenario: Scenario, others: Mapping[str, Scenario] | None = None
) -> Iterator[str]:
    """Faults of what claims refer to: in their own scenario, or in others.

    Parameters:
        others: what is asked for, by id; the faults are those of references to others then.
    """
    for number, claim in enumerate(scenario.claims, start=1):
        where = f"claims[{number}].measure"
        for name, measure, at in references(claim):
            if (":" in name) != (others is not None):
                continue
            other, _, series = scenario.qualified(name).partition(":")
            try:
                found = {scenario.id: scenario, **(others or {})}.get(other) or _by_id(other)
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


def _placed(scenario: Scenario, folder: Path) -> Scenario:
    """Name the files that it names as they are seen from the current folder."""

    def found(name: str, kind: str) -> str:
        return display(find_file(name, kind, folder)) if is_path(name) else name

    series = {
        name: one.model_copy(
            update={
                "adapter": found(one.adapter, "adapters"),
                "testbed": one.testbed and found(one.testbed, "testbeds"),
            }
        )
        for name, one in scenario.series.items()
    }
    update = {"testbed": found(scenario.testbed, "testbeds"), "series": series}
    return scenario.model_copy(update=update)


def _unknown_parts(scenario: Scenario, folder: Path) -> Iterator[str]:
    wanted = [("testbed", scenario.testbed)]
    for name, series in scenario.series.items():
        wanted += [(f"series.{name}.adapter", series.adapter)]
        if series.testbed is not None:
            wanted += [(f"series.{name}.testbed", series.testbed)]
    for where, part in wanted:
        try:
            find_file(part, f"{where.rpartition('.')[2]}s", folder)
        except CatalogError as error:
            yield f"{where}: {error.faults[0]}"
