"""One benchmark on one machine, over what varies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hcasim.catalog import Adapter, Machine
from hcasim.ground.errors import flag_fault, refuse
from hcasim.ground.text import brief
from hcasim.runs.curve import Curve, measured_with, side_by_side
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point, all_notes
from hcasim.runs.store import usual_store
from hcasim.runs.table import Table
from hcasim.workloads import WORKLOADS, find_workload
from hcasim.workloads.limits import options_of, settings_for
from hcasim.workloads.options import AXES, OPTIONS, Options, varying
from hcasim.workloads.result import Cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hcasim.runs.store import Store
    from hcasim.workloads import Result, Workload
    from hcasim.workloads.registry import Listen


@dataclass(frozen=True, repr=False)
class Benchmark(Table):
    """The result of one benchmark.

    Parameters:
        workload: its name.
        machine: what it ran on.
        options: settings of the first point.
        curve: the results, point by point.
        counters: the adapters' counters, summed over the points.
        breakdowns: where the time went and how the caches fared, point by point; empty unless it
            was asked for.
        wall_seconds: time that the simulation took, or None to leave that out.
        costs: what simulating each point cost; empty unless it was asked for.
        notes: what the results leave out that a reader may expect.
    """

    workload: str
    machine: Machine
    options: Options
    curve: Curve
    counters: Mapping[str, int]
    breakdowns: tuple[Mapping[str, Any], ...]
    wall_seconds: float | None
    costs: tuple[Cost, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        machine = self.machine
        where = {"testbed": machine.id, "adapter": machine.adapter.id}
        return brief(self, self.workload, **where, points=len(self.rows))

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        return self.curve.rows

    @property
    def title(self) -> str:
        return f"{self.workload} on {self.machine.id}, {self.machine.adapter.id}"

    @property
    def _known(self) -> Workload:
        known = find_workload(self.workload)
        assert known is not None
        return known

    @property
    def axes(self) -> tuple[str, ...]:
        """What tells the points apart: the size, if it means something, and what else varies."""
        others = [axis.name for axis in varying(self.rows) if axis.name != "size"]
        return (*(["size"] if "size" in self._known.options else []), *others)

    @property
    def points(self) -> tuple[dict[str, int], ...]:
        """The value of each of `axes`, point by point."""
        return tuple({name: row[name] for name in self.axes} for row in self.rows)

    @property
    def fields(self) -> tuple[str, ...]:
        """What the benchmark is about; rows may hold details beside it."""
        return tuple(name for name in self._known.fields if self.rows and name in self.rows[0])

    @property
    def changed(self) -> tuple[dict[str, Any], ...]:
        """The options that are not the workload's defaults, point by point."""
        # Settings say how completions are moderated, not what was asked for.
        same = {"cq_mod": self.options.cq_mod}
        every = ({**self.curve.settings, **own, **same} for own in self.curve.points)
        known = ({name: one[name] for name in OPTIONS if name in one} for one in every)
        return tuple(self._known.changed(replace(self.options, **one)) for one in known)

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON, in the form of the schema `bench`."""
        from hcasim.runs.document import BenchmarkDocument
        from hcasim.workloads.result import profile

        breakdown: Mapping[str, Any] = {}
        if len(self.breakdowns) == 1:
            (breakdown,) = self.breakdowns
        elif self.breakdowns:
            named = zip(self.points, self.breakdowns, strict=True)
            key = "sizes" if all(list(point) == ["size"] for point in self.points) else "points"
            breakdown = {key: [{**point, **one} for point, one in named]}
        took = self.wall_seconds
        cost = profile(self.costs, self.points, timing=took is not None)
        return BenchmarkDocument(
            **BenchmarkDocument.head(),
            **self.curve.setup,
            rows=self.rows,
            counters=self.counters,
            breakdown=breakdown,
            **({"notes": self.notes} if self.notes else {}),
            **({"profile": cost} if cost else {}),
            **({} if took is None else {"wall_seconds": round(took, 6)}),
        ).to_dict()

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows, each with testbed, adapter, options and what-if settings."""
        return self.curve.records

    def plot(self) -> Figure:
        """Draw what was measured over what varies."""
        from hcasim.runs.drawing import draw_lines

        return draw_lines(self.title, self.fields, self.series, AXES[self.curve.axis])

    @property
    def series(self) -> dict[str, list[Mapping[str, Any]]]:
        """The rows by what else varies than the x axis, in words."""
        others = [axis for axis in varying(self.rows) if axis.name != self.curve.axis]
        columns: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.rows:
            label = ", ".join(f"{axis.title} {axis.label(row[axis.name])}" for axis in others)
            columns.setdefault(label or self.curve.label, []).append(row)
        return columns

    def _repr_html_(self) -> str:
        axis = self.curve.axis
        curves = [
            Curve(label, label, tuple(rows), axis=axis) for label, rows in self.series.items()
        ]
        return side_by_side(curves, self.fields[0])


def bench(
    workload: str | Experiment,
    testbed: str | PathLike[str] | Machine | None = None,
    *,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    profile: bool = False,
    cache: bool = True,
    **settings: Any,
) -> Benchmark:
    """Run a benchmark, such as `bench("window_bw", "liu2004", size="4..1M", window=16)`.

    Parameters:
        workload: its name, such as "write_lat"; `hcasim list workloads` has them all. Or an
            experiment, which `testbed` and settings change.
        testbed: its id or file; or a machine that `hcasim.machine` put together, which leaves no
            choice.
        jobs: processes to use; all processors without it.
        scheduler: address or file of a Dask scheduler whose workers simulate, in place of `jobs`.
        progress: is told how many points are done.
        profile: also measure what simulating costs; then all is simulated, and nothing kept.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        settings: choices of the machine: adapter, host and stack (id or file, in every group of
            nodes), firmware_mode (such as "memfree"), mtu (bytes, or text such as "2K"), switch
            (False: two hosts back to back; or an id or file) and overrides (what-if settings by
            path, such as {"adapter.bus.lanes": 4}); and options of the workload as
            `hcasim bench --help` has them, as numbers or as its text: of AXES there may be several,
            as a list, an array, "8,64" or "4..1M"; the others are OTHERS. Without `size` it is the
            workload's usual one, and for netpipe all of NetPIPE's, each with as many bytes more
            and less as `perturbation` says (3).

    Raises:
        CatalogError: every fault of the request.
    """
    refuse(flag_fault("profile", profile), flag_fault("cache", cache))
    asked = workload if isinstance(workload, Experiment) else Experiment.of(workload, testbed)
    if testbed is not None:
        asked = replace(asked, testbed=testbed)
    points = asked.with_(**settings).benchmark()
    store = usual_store() if cache else None
    with on_scheduler(scheduler):
        return run_benchmark(points, jobs=jobs, progress=progress, profile=profile, store=store)


if bench.__doc__:
    _names = {True: ", ".join(AXES), False: ", ".join(one for one in OPTIONS if one not in AXES)}
    bench.__doc__ = bench.__doc__.replace("AXES", _names[True]).replace("OTHERS", _names[False])


def run_benchmark(
    prepared: Sequence[Point],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    listen: Listen | None = None,
    profile: bool = False,
    store: Store | None = None,
) -> Benchmark:
    """Run the points of a benchmark, as `bench` does.

    `listen` is given the simulator of each point before anything happens; then all points run in
    this process. The store, if there is one, knows results of earlier runs and keeps new ones.
    """
    started = perf_counter()
    if listen is None:
        points = run_points(prepared, workers=jobs, progress=progress, store=store, profile=profile)
    else:
        points = {job: job.run(listen, profile) for job in prepared}
    first = prepared[0]
    counters: Counter[str] = Counter()
    for job in prepared:
        counters.update(points[job].counters)
    workload = WORKLOADS[first.workload]
    settings, own = measured_with(prepared)
    used = [axis.name for axis in varying([vars(job.options) for job in prepared])]
    rows = tuple(job.row(points[job], used) for job in prepared)
    return Benchmark(
        workload=first.workload,
        machine=first.machine,
        options=first.options,
        curve=Curve(
            first.workload,
            workload.title,
            rows,
            settings,
            axis=used[0] if used else "size",
            points=own,
            overrides=first.machine.overrides,
        ),
        counters=counters,
        breakdowns=tuple(_explained(job, points[job]) for job in prepared if job.options.explain),
        wall_seconds=perf_counter() - started,
        costs=tuple(cost for job in prepared if (cost := points[job].cost) is not None),
        notes=(*all_notes(prepared), *(one for job in prepared for one in job.lost(points[job]))),
    )


def _explained(job: Point, result: Result) -> dict[str, Any]:
    """What a result explains, with what says how much there is of what limits, and the caches."""
    found = dict(result.breakdown)
    if found.get("binds"):
        names = [found["binds"], *found.get("also", ())]
        found["parameters"] = settings_for(job.machine, names)
        understood = WORKLOADS[job.workload].options
        found["options"] = [o for name in names for o in options_of(name) if o in understood]
    return {**found, "caches": cache_use(job.machine, result.counters)}


def cache_use(machine: Machine, counters: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return an entry, as `CacheUse` has it, for each cache that the counters say was used."""
    adapter = machine.adapter
    found: list[dict[str, Any]] = []
    if not isinstance(adapter, Adapter):
        return found
    for name, table in adapter.caches.items():
        accesses = counters.get(f"{name}_access_cnt", 0)
        if not accesses:
            continue
        misses = counters.get(f"{name}_miss_cnt", 0)
        found.append(
            {
                "name": name,
                "accesses": accesses,
                "misses": misses,
                "hit_rate": 1 - misses / accesses,
                "fetch_us": counters.get(f"{name}_fetch_ps", 0) / misses / 1e6 if misses else 0.0,
                "waited_us": counters.get(f"{name}_wait_ps", 0) / 1e6,
                "table": "host" if adapter.in_host(table) else "adapter",
            }
        )
    return found
