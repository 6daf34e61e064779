"""Scenarios: published experiments as data, one file per figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from hcasim.catalog import CatalogError, data_path, list_ids, nearest, one_of, read_toml
from hcasim.catalog.paths import display
from hcasim.study.claims import Claim, Context, Entry, Text, read_size
from hcasim.study.faults import describe

CONTEXT = "context"
"""Name of a paper's file of statements that no figure replays."""

M = TypeVar("M", bound=BaseModel)


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Size = Annotated[int, BeforeValidator(read_size), Field(ge=1)]
Sizes = Annotated[tuple[Size, ...], BeforeValidator(_tuple), Field(min_length=1)]
Positive = Annotated[int, Field(ge=1)]


class Options(Entry):
    """What the authors set for all series of a figure; never a hardware parameter.

    Parameters:
        sizes: message sizes in bytes, written as on the paper's axis: "4", "8K", "1M".
        window: messages that may be outstanding.
        threshold: longest message in bytes that striping leaves whole.
        warmup: iterations before the clock starts.
        iters: iterations that are timed.
        qps: queue pairs of each process.
        mtu: largest InfiniBand payload in bytes, if the authors chose another.
    """

    sizes: Sizes
    window: Positive | None = None
    threshold: Annotated[int, Field(ge=0)] | None = None
    warmup: Annotated[int, Field(ge=0)] | None = None
    iters: Positive | None = None
    qps: Positive | None = None
    mtu: Literal[256, 512, 1024, 2048, 4096] | None = None


class Series(Entry):
    """One curve of a figure.

    Parameters:
        label: its name in the legend.
        group: where it stands on the x axis of a bar chart.
        adapter: the adapter that was measured.
        mode: how messages use the ports.
        ports: ports of each adapter that were used.
        processes: processes on each node.
        op: which atomic operation.
    """

    label: Text
    group: str = ""
    adapter: Text
    mode: Literal["single", "striping", "binding"] | None = None
    ports: Positive | None = None
    processes: Positive | None = None
    op: Literal["fetch_add", "cmp_swap"] | None = None


class Axes(Entry):
    """The axes of the published figure.

    Parameters:
        kind: curves over the message size, or bars.
        x: title of the x axis.
        y: title of the y axis.
        field: what is plotted, by its name in a row of results.
        ymax: upper end of the y axis, if the paper shows it.
    """

    kind: Literal["lines", "bars"] = "lines"
    x: str
    y: Text
    field: Literal["latency_us", "bandwidth_MBps", "rate_Mps"]
    ymax: Annotated[float, Field(gt=0)] | None = None


class Scenario(Entry):
    """A published experiment and the claims that its replay must meet.

    Parameters:
        id: "<paper>/<figure>", from the place of the file.
        title: what was measured.
        paper: author and year.
        figure: number in the paper.
        section: where the paper discusses it.
        testbed: id of the testbed.
        workload: name of the benchmark.
        options: what the authors set.
        series: the curves.
        axes: the axes of the figure.
        claims: what the paper states.
    """

    id: Text
    title: Text
    paper: Text
    figure: Text
    section: Text
    testbed: Text
    workload: Text
    options: Options
    series: Annotated[dict[str, Series], Field(min_length=1)]
    axes: Axes
    claims: Annotated[tuple[Claim, ...], BeforeValidator(_tuple)] = ()

    def qualified(self, reference: str) -> str:
        """Return a reference to a series with its scenario: "liu2004/fig06:pcie"."""
        return reference if ":" in reference else f"{self.id}:{reference}"


class _ContextFile(Entry):
    paper: Text
    context: Annotated[tuple[Context, ...], BeforeValidator(_tuple)]


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
    path = data_path("scenarios", *f"{identifier}.toml".split("/"))
    table = {**read_toml(path), "id": identifier}
    scenario = _validated(Scenario, table, path)
    faults = [
        *_own_references(scenario),
        *_unknown_parts(scenario),
        *_repeated(claim.id for claim in scenario.claims),
    ]
    if scenario.paper != identifier.partition("/")[0]:
        faults.append(f"paper: found {scenario.paper!r}; allowed: the name of the folder")
    if faults:
        raise CatalogError([f"{display(path)}: {fault}" for fault in faults])
    return scenario


def load_context(paper: str) -> tuple[Context, ...]:
    """Load the statements of a paper that no scenario replays; none if it has no such file."""
    path = data_path("scenarios", paper, f"{CONTEXT}.toml")
    if not path.exists():
        return ()
    return _validated(_ContextFile, read_toml(path), path).context


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
            faults += _foreign_references(scenario)
    if faults:
        raise CatalogError(faults)
    return scenarios


def references(claim: Claim) -> Iterator[str]:
    """Yield the series that a claim reads, as it names them."""
    for measure in claim.measure:
        yield from measure.series
        yield from measure.against or ()


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
        raise CatalogError(describe(error, model, display(path))) from None


def _own_references(scenario: Scenario) -> Iterator[str]:
    for number, claim in enumerate(scenario.claims, start=1):
        for name in references(claim):
            if ":" not in name and name not in scenario.series:
                yield (
                    f"claims[{number}].measure: found no series {name!r}; "
                    f"allowed: {one_of(list(scenario.series))}{nearest(name, scenario.series)}"
                )


def _foreign_references(scenario: Scenario) -> Iterator[str]:
    path = display(data_path("scenarios", *f"{scenario.id}.toml".split("/")))
    for number, claim in enumerate(scenario.claims, start=1):
        for name in references(claim):
            other, colon, series = name.partition(":")
            if not colon:
                continue
            where = f"{path}: claims[{number}].measure"
            try:
                known = load_scenario(other).series
            except CatalogError as error:
                yield from (f"{where}: {fault}" for fault in error.faults)
                continue
            if series not in known:
                yield (
                    f"{where}: found no series {name!r}; "
                    f"{other} has {one_of(list(known))}{nearest(series, known)}"
                )


def _unknown_parts(scenario: Scenario) -> Iterator[str]:
    testbeds, adapters = list_ids("testbeds"), list_ids("adapters")
    if scenario.testbed not in testbeds:
        yield (
            f"testbed: found {scenario.testbed!r}; "
            f"allowed: {one_of(testbeds)}{nearest(scenario.testbed, testbeds)}"
        )
    for name, series in scenario.series.items():
        if series.adapter not in adapters:
            yield (
                f"series.{name}.adapter: found {series.adapter!r}; "
                f"allowed: {one_of(adapters)}{nearest(series.adapter, adapters)}"
            )


def _repeated(identifiers: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for identifier in identifiers:
        if identifier in seen:
            yield f"claims: found {identifier!r} twice"
        seen.add(identifier)
