"""Finding and reading scenarios: published experiments, one file per figure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
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
    setting_paths,
)
from hcasim.catalog.folders import a_model, is_known, is_path, shipped, unknown_id
from hcasim.ground.errors import display, name_fault, refuse
from hcasim.ground.faults import told
from hcasim.ground.quantities import QUANTITIES
from hcasim.ground.reading import leads_to
from hcasim.papers.claim import Context, Entry, Text, as_tuple, references
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
    """Return the ids of all scenarios, or of one paper's or collection's, sorted."""
    allowed = "the name of a paper or collection"
    refuse("" if paper is None else name_fault("paper", paper, allowed))
    return [
        name
        for name in list_ids("scenarios")
        if not name.endswith(f"/{CONTEXT}") and (paper is None or name.startswith(f"{paper}/"))
    ]


def list_papers() -> list[str]:
    """Return the papers and collections that have scenarios, sorted."""
    return sorted({name.partition("/")[0] for name in list_scenarios()})


def scenario_path(identifier: str) -> Path:
    """Return the file of a scenario by its id."""
    return data_path("scenarios", *f"{identifier}.toml".split("/"))


def is_shipped(identifier: str) -> bool:
    """Whether a scenario is none of the user's own."""
    return scenario_path(identifier).is_relative_to(shipped())


def load_context(paper: str) -> tuple[Context, ...]:
    """Load the statements of a paper that no scenario replays; none if it has no such file."""
    path = data_path("scenarios", paper, f"{CONTEXT}.toml")
    if not leads_to(path):
        return ()
    return _validated(ContextFile, read_toml(path), path).context


def load_scenario(name: str) -> Scenario:
    """Load a scenario by its id, "<paper>/<figure>", or its file, whose `paper` and name make it.

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    if not is_path(name, "scenarios"):
        _known(name)
    return load_scenarios([name])[0]


def load_scenarios(identifiers: Iterable[str]) -> list[Scenario]:
    """Load scenarios and whole papers, each scenario once, and check what their claims refer to.

    Parameters:
        identifiers: papers or collections such as "liu2004", or scenarios such as "liu2004/fig03"
            or "./mine.toml".

    Raises:
        CatalogError: every fault of the request and of the files.
    """
    known, papers = list_scenarios(), list_papers()
    wanted: dict[str, None] = {}
    faults: list[str] = []
    for identifier in identifiers:
        if identifier in papers:
            wanted |= dict.fromkeys(list_scenarios(identifier))
        elif identifier in known or is_path(identifier, "scenarios"):
            wanted[identifier] = None
        else:
            faults.append(unknown_id("scenarios", identifier, [*papers, *known]))
    found: dict[str, tuple[Scenario, Path]] = {}
    names: dict[str, str] = {}
    for identifier in wanted:
        try:
            scenario, file = _read(identifier)
        except CatalogError as error:
            faults += error.faults
            continue
        found[scenario.id] = scenario, file
        if (other := names.setdefault(scenario.id, identifier)) != identifier:
            has = f"found the id {scenario.id!r}, which {other} has, too"
            faults.append(f"{identifier}: {has}; allowed: another paper or name of the file")
    others = dict(found)

    def find(identifier: str) -> Scenario:
        if identifier not in others:
            _known(identifier)
            others[identifier] = _read(identifier)
        return others[identifier][0]

    placed = []
    for scenario, file in found.values():
        own = [*_faults(scenario, find)]
        placed.append(_placed(scenario, file.parent, own))
        faults += (f"{display(file)}: {fault}" for fault in own)
    refuse(*faults)
    return placed


def every_scenario(first: Iterable[Scenario] = ()) -> list[Scenario]:
    """Return some scenarios, which take the place of those with the same id, and all others.

    What is said of a claim depends on all claims; a broken file of the user's own that nobody asks
    for is left out, and `hcasim list` marks it.

    Raises:
        CatalogError: every fault of the files that are shipped, or a claim of the first with the id
            of another.
    """
    found = {one.id: one for one in first}
    names = [name for name in list_scenarios() if name not in found]
    shipped = load_scenarios(filter(is_shipped, names))
    owners = {claim.id: one.id for one in shipped for claim in one.claims}

    def taken(scenario: Scenario) -> list[str]:
        own = {one.id: owners.setdefault(one.id, scenario.id) for one in scenario.claims}
        return [f"{name} of {owner}" for name, owner in own.items() if owner != scenario.id]

    refuse(
        *(
            f"{one.id}: claims: found {', '.join(foreign)}; allowed: ids of its own"
            for one in found.values()
            if (foreign := taken(one))
        )
    )
    found |= {one.id: one for one in shipped}
    for name in (name for name in names if not is_shipped(name)):
        with suppress(CatalogError):
            (scenario,) = load_scenarios([name])
            if not taken(scenario):
                found[name] = scenario
    return list(found.values())


def _known(identifier: str) -> None:
    """Refuse what is the id of no scenario."""
    known = is_known(identifier, "scenarios") and not identifier.endswith(f"/{CONTEXT}")
    refuse("" if known else unknown_id("scenarios", identifier, list_scenarios()))


def _read(name: str) -> tuple[Scenario, Path]:
    """Read a file; its claims and the parts that it names are still to be checked."""
    path, identifier = find_file(name, "scenarios"), name
    table = read_toml(path)
    if is_path(name, "scenarios"):
        identifier, kind = f"{table.get('paper', '')}/{path.stem}", "scenarios"
        with suppress(CatalogError):
            kind = find_kind(str(path))
        if kind != "scenarios":
            fault = f"describes {a_model(kind)}; a scenario is asked for"
            raise CatalogError([f"{display(path)}: {fault}"])
    return _validated(Scenario, {**table, "id": identifier}, path), path


def _validated(model: type[M], table: object, path: Path) -> M:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise CatalogError(told(error, [model], table, f"{display(path)}: ")) from None


def _faults(scenario: Scenario, find: Callable[[str], Scenario]) -> Iterator[str]:
    """Yield what is wrong with a scenario, beside the form of its file; `find` returns others."""
    axis, known = scenario.options.axis.name, setting_paths()
    for name, series in scenario.series.items():
        if (value := getattr(series, axis, None)) is not None:
            yield f"series.{name}.{axis}: found {value}, but {axis} is the x axis; leave one out"
        # A path may begin with the name of a group of nodes or of a switch.
        ends = {path: {path, path.partition(".")[2]} for path in series.settings or ()}
        for path in (one for one in ends if ends[one].isdisjoint(known)):
            allowed = f"what authors set: {one_of(known)}{nearest(path, known)}"
            yield f"series.{name}.settings: found {path!r}; allowed: {allowed}"
    for number, claim in enumerate(scenario.claims, start=1):
        limit = claim.kind == "threshold" and claim.measure[0].against is None
        units = list(QUANTITIES[claim.quantity].units)
        if (limit or claim.kind in ("value", "difference")) and claim.unit not in units:
            allowed = f"{one_of(units)}{nearest(claim.unit, units)}"
            found = f"found {claim.unit!r}; allowed for a {claim.quantity}: {allowed}"
            yield f"claims[{number}].unit: {found}"
    ids = Counter(claim.id for claim in scenario.claims)
    yield from (f"claims: found {name!r} twice" for name, count in ids.items() if count > 1)
    if not scenario.id.startswith(f"{scenario.paper}/"):
        yield f"paper: found {scenario.paper!r}; allowed: the name of the folder"
    if not _ID.fullmatch(scenario.id):
        yield f"found the id {scenario.id!r}; allowed: a paper and a name without / and :"
    yield from _wrong_frames(scenario)
    yield from _wrong_references(scenario, find)


def _wrong_frames(scenario: Scenario) -> Iterator[str]:
    axis, groups = scenario.options.axis, [one.group for one in scenario.series.values()]
    for frame in scenario.axes.frames:
        if scenario.axes.kind == "bars":
            for name in (one for one in frame or ("",) if one not in groups):
                hint = nearest(name, groups)
                yield f"axes.frames: found no group {name!r}; allowed: {one_of(groups)}{hint}"
            continue
        if scenario.axes.kind == "table" or len(frame) != 2:
            yield f"axes.frames: found {list(frame)}; allowed: of curves the first and last x"
            continue
        try:
            for one in frame:
                axis.read(one)
        except ValueError as error:
            yield f"axes.frames: {error}"


def _wrong_references(scenario: Scenario, find: Callable[[str], Scenario]) -> Iterator[str]:
    for number, claim in enumerate(scenario.claims, start=1):
        where = f"claims[{number}].measure"
        for name, measure, at in references(claim):
            identifier, _, series = scenario.qualified(name).partition(":")
            try:
                other = scenario if identifier == scenario.id else find(identifier)
            except CatalogError as error:
                yield from (f"{where}: {fault}" for fault in error.faults)
                continue
            if series not in other.series:
                has = f"{other.id} has {one_of(list(other.series))}{nearest(series, other.series)}"
                yield f"{where}: found no series {name!r}; {has}"
                continue
            if other.series[series].overrides and claim.kind not in ("ordering", "cause"):
                yield f"{where}: series {name!r} is of another machine; no number is measured there"
            axis, points = other.options.axis, other.options.points or ()
            has = f"{axis.name} of {other.id} has {one_of([axis.label(one) for one in points])}"
            if at is not None and at not in points:
                yield f"{where}: found at {axis.label(at)}; {has}"
            elif points and not any(map(measure.covers, points)):
                yield f"{where}: found below or above all; {has}"


def _placed(scenario: Scenario, folder: Path, faults: list[str]) -> Scenario:
    """Name the files that it names as they are seen from the current folder."""

    def placed(where: str, name: str) -> str:
        try:
            file = find_file(name, f"{where.rpartition('.')[2]}s", folder)
        except CatalogError as error:
            faults.append(f"{where}: {error.faults[0]}")
            return name
        return display(file) if is_path(name) else name

    series = {}
    for name, one in scenario.series.items():
        parts = {"adapter": one.adapter, "testbed": one.testbed}
        update = {p: placed(f"series.{name}.{p}", file) for p, file in parts.items() if file}
        series[name] = one.model_copy(update=update)
    testbed = placed("testbed", scenario.testbed)
    return scenario.model_copy(update={"testbed": testbed, "series": series})
