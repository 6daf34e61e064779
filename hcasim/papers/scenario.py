"""Published experiments as data: what was run, on what, and what its authors state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from hcasim.catalog import Value, one_of
from hcasim.catalog.adapter import FirmwareMode
from hcasim.catalog.link import LARGEST_MTU
from hcasim.ground.text import brief
from hcasim.papers.claim import (
    Claim,
    Entry,
    Measure,
    Points,
    SeriesNames,
    Text,
    as_tuple,
    one_or_several,
    read_size,
)
from hcasim.workloads.option import Option
from hcasim.workloads.options import AXES, OPTIONS

Size = Annotated[int, BeforeValidator(read_size, json_schema_input_type=int | str)]
Several = Annotated[
    tuple[Size, ...],
    BeforeValidator(one_or_several, json_schema_input_type=Size | tuple[Size, ...]),
    Field(min_length=1),
]
ValuesOfRuns = Annotated[tuple[Value, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Side = tuple[list[Any], Points]
"""Curves, and the points at which their best result is read."""
AS_IN_ROWS = {"sizes": "size"}
"""What a file names otherwise than the key of a row."""


def _fields(*, several: bool) -> dict[str, Any]:
    """Return a field for each option of a benchmark that says what is measured.

    With several values of an axis sizes are called so.
    """
    found: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        kind: Any = Size if option.is_size else int
        if option.words or option.is_name:
            kind = str
        elif option.is_flag:
            kind = bool
        elif several and option.title:
            kind = Several
        if name not in ("exact", "explain"):
            found["sizes" if several and name == "size" else name] = (kind | None, None)
    return found


class Settings(Entry):
    """What authors set of the options of a benchmark, in the words and ranges of their table."""

    @field_validator("*")
    @classmethod
    def _is_allowed(cls, value: Any, info: ValidationInfo) -> Any:
        name = info.field_name or ""
        option = OPTIONS.get(AS_IN_ROWS.get(name, name))
        if option is not None and value is not None:
            values = value if isinstance(value, tuple) else (value,)
            if faults := list(filter(None, map(option.fault, values))):
                raise ValueError("; ".join(faults))
            if len(set(values)) < len(values):
                raise ValueError("found a value twice")
        return value

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        return (one for one in super().__repr_args__() if one[1] is not None)

    @cached_property
    def chosen(self) -> dict[str, Any]:
        """The options that are set, by name; of an axis all values."""
        named = ((AS_IN_ROWS.get(n, n), getattr(self, n)) for n in type(self).model_fields)
        return {n: OPTIONS[n].read(one) for n, one in named if n in OPTIONS and one is not None}


class Options(Settings):
    """What the authors set for all series of a figure; never a hardware parameter.

    One of sizes, qps, reuse, processes, clients, nodes and window_bytes may have several values:
    the x axis of the figure.

    Parameters:
        mtu: in bytes, if the authors chose another.
        others: as the options of benchmarks that are named so; `sizes` are message sizes in bytes,
            written as on the paper's axis: "4", "8K", "1M".
    """

    mtu: Annotated[int, Field(ge=256, le=LARGEST_MTU)] | None = None

    @model_validator(mode="after")
    def _has_one_axis(self) -> Options:
        if len(several := self._several) > 1:
            allowed = "allowed: of one, the x axis"
            raise ValueError(f"found several values of {one_of(several)}; {allowed}")
        return self

    @property
    def _several(self) -> list[str]:
        return [n for n, values in self.chosen.items() if n in AXES and len(values) > 1]

    @property
    def axis(self) -> Option:
        """The x axis of the figure."""
        return AXES[(self._several or ["size"])[0]]

    @property
    def points(self) -> tuple[int, ...] | None:
        """The values along the x axis; None if that is the usual size of the workload."""
        return self.chosen.get(self.axis.name)


class Series(Settings):
    """One curve of a figure.

    Parameters:
        label: its name in the legend.
        group: where it stands on the x axis of a bar chart.
        testbed: id of the testbed, if it is another than that of the other series.
        workload: name of the benchmark, if it is another than that of the other series.
        result: what of it is plotted, by its name in a row of results, if it is named otherwise
            than the field of the axes.
        counters: names of counters of adapters and switches, whose sum a claim reads as the count
            beside what is plotted.
        per: names of those by whose sum it is divided.
        over: name of another benchmark, which runs on the same machine with those of the options
            that it has: the series is the overhead over it, by how many percent its result is
            larger.
        adapter: the adapter that was measured.
        firmware_mode: which of its interfaces the adapter's firmware offered.
        stack: id of the software, if it is not the testbed's.
        settings: what the authors set of the machine, by path, such as
            {"host.pcix_bridge.streaming": True}; with several values it is the mean over them.
        overrides: what they did not change of it, by path, such as {"adapter.bus.lanes": "16"}; no
            such series was published, and none is drawn or run unless it is named.
        others: as the options of benchmarks that are named so.
    """

    label: Text
    group: str = ""
    testbed: Text | None = None
    workload: Text | None = None
    result: Text | None = None
    counters: SeriesNames | None = None
    per: SeriesNames | None = None
    over: Text | None = None
    adapter: Text
    firmware_mode: FirmwareMode | None = None
    stack: Text | None = None
    settings: dict[str, Value | ValuesOfRuns] | None = None
    overrides: dict[str, str] | None = None

    @property
    def runs(self) -> Iterator[dict[str, Any]]:
        """What the authors set in each run that it is the mean of, by path."""
        own = self.settings or {}
        each = (one if isinstance(one, tuple) else (one,) for one in own.values())
        return (dict(zip(own, values, strict=True)) for values in product(*each))


if not TYPE_CHECKING:
    Options = create_model("Options", __base__=Options, **_fields(several=True))
    Series = create_model("Series", __base__=Series, **_fields(several=False))


class Axes(Entry):
    """The axes of the published figure.

    Parameters:
        kind: curves over what varies, bars, or a table.
        x, y: titles of the axes.
        field: what is plotted, by its name in a row of results.
        ymax: upper end of the y axis, if the paper shows it.
        yscale: of the y axis; logarithmic where what is stated would not be seen otherwise.
        frames: those of a figure that has several side by side: of bars the groups of each, of
            curves the first and the last x.
    """

    kind: Literal["lines", "bars", "table"] = "lines"
    x: str
    y: Text
    field: Literal[
        "latency_us",
        "bandwidth_MBps",
        "throughput_Mbps",
        "rate_Mps",
        "total_KiB",
        "pinned_KiB",
        "mapped_KiB",
        "time_us",
        "overlap_percent",
        "overhead_percent",
        "run_s",
        "communication_s",
        "count",
    ]
    ymax: Annotated[float, Field(gt=0)] | None = None
    yscale: Literal["linear", "log"] = "linear"
    frames: Annotated[
        tuple[Annotated[tuple[Text, ...], BeforeValidator(as_tuple)], ...],
        BeforeValidator(as_tuple),
    ] = ()


class Scenario(Entry):
    """A published experiment and the claims that its replay must meet.

    Parameters:
        id: "<paper>/<figure>", from the place of the file.
        title: what was measured.
        paper: author and year; or the name of a collection of numbers that were published in many
            places, such as "modern".
        figure: number in the paper; "Table 1" for a table; else what the numbers come from.
        source: of a collection: where these numbers were published, such as a repository.
        section: where the paper discusses it.
        testbed: id of the testbed, of all series that name none.
        workload: name of the benchmark, of all series that name none.
        chosen_from: ids of the claims that its options were chosen with in view.
    """

    id: Text
    title: Text
    paper: Text
    figure: Text
    source: Text | None = None
    section: Text
    testbed: Text
    workload: Text
    options: Options
    series: Annotated[dict[str, Series], Field(min_length=1)]
    axes: Axes
    chosen_from: Annotated[tuple[Text, ...], BeforeValidator(as_tuple)] = ()
    claims: Annotated[tuple[Claim, ...], BeforeValidator(as_tuple)] = ()

    @model_validator(mode="after")
    def _draws_overheads_or_none(self) -> Scenario:
        drawn = self.axes.field == "overhead_percent"
        why = "missing; axes.field is" if drawn else "found; allowed if axes.field is"
        wrong = [name for name, one in self.series.items() if (one.over is not None) != drawn]
        if wrong:
            raise ValueError("; ".join(f"series.{n}.over: {why} overhead_percent" for n in wrong))
        return self

    def __repr__(self) -> str:
        return brief(self, self.id, series=len(self.series), claims=len(self.claims))

    __str__ = __repr__

    @property
    def place(self) -> str:
        """Where it stands: "liu2004, Figure 3", "sur2005, Table 1" or "modern, pcie-bench"."""
        return f"{self.paper}, {'' if self.figure[0].isalpha() else 'Figure '}{self.figure}"

    @property
    def publication(self) -> str:
        """Who measured it: the paper, or the source of a collection's numbers."""
        return self.source or self.paper

    @property
    def published(self) -> tuple[str, ...]:
        """The names of what was published: of series without overrides; of all if all have some."""
        names = tuple(name for name, one in self.series.items() if not one.overrides)
        return names or tuple(self.series)

    def moved(
        self,
        testbed: str | PathLike[str] | None,
        adapter: str | PathLike[str] | None,
        choices: Mapping[str, Any] = MappingProxyType({}),
    ) -> Scenario:
        """Return the experiment as it would be elsewhere.

        Parameters:
            testbed: id or file instead of its own, for all series.
            adapter: id or file instead of the series' own.
            choices: what else of the machine is chosen, by name, which its title says.
        """
        told = {name.replace("_", " "): one for name, one in choices.items()}
        if isinstance(switch := choices.get("switch"), bool):
            told["switch"] = "of the testbed" if switch else "none"
        instead = {"on": testbed, "with": adapter, **told}
        where = [f"{word} {name}" for word, name in instead.items() if name is not None]
        if not where:
            return self
        changes: dict[str, Any] = {} if testbed is None else {"testbed": None}
        changes |= {} if adapter is None else {"adapter": fspath(adapter)}
        series = {name: one.model_copy(update=changes) for name, one in self.series.items()}
        title = f"{self.title} ({', '.join(where)})"
        update = {"series": series, "title": title, "testbed": fspath(testbed or self.testbed)}
        return self.model_copy(update=update)

    def testbed_of(self, series: str) -> str:
        """Return the id of the testbed on which a series was measured."""
        return self.series[series].testbed or self.testbed

    def workload_of(self, series: str) -> str:
        """Return the name of the benchmark that measured a series."""
        return self.series[series].workload or self.workload

    def readings(self, measure: Measure, found: Mapping[str, Any]) -> Iterator[tuple[Side, Side]]:
        """Yield what a measure reads: of its series, and of those that they are compared with.

        Parameters:
            measure: of one of its claims.
            found: curves, or lines of a plan, by scenario and series: "liu2004/fig06:pcie".
        """
        own, other = (
            [found[self.qualified(name)] for name in names]
            for names in (measure.series, measure.against or ())
        )
        x, against = ([at for one in side for at in one.x] for side in (own, other))
        for here, there in measure.points(x, against if other else None):
            yield (own, here), (other, there)

    def qualified(self, reference: str) -> str:
        """Return a reference to a series with its scenario: "liu2004/fig06:pcie"."""
        return reference if ":" in reference else f"{self.id}:{reference}"
