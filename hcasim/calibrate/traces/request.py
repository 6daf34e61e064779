"""What a fit to traces is asked for, checked before anything is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from hcasim.calibrate.entries import identifier, path_in_fit
from hcasim.calibrate.intervals.linear import KINDS
from hcasim.calibrate.search.loss import LOSSES
from hcasim.calibrate.search.objective import Budget
from hcasim.calibrate.search.parameters import free_parameters
from hcasim.calibrate.traces.freeing import free_fit
from hcasim.calibrate.traces.mismatch import mismatches
from hcasim.calibrate.traces.observations import FLOOR, Base, Observations, gather, unique
from hcasim.catalog import CatalogError, Fit, Machine, nearest, one_of, resolve
from hcasim.ground.errors import display
from hcasim.ground.text import command_line, printable
from hcasim.traces import Point, Trace, read_trace
from hcasim.workloads import find_workload


@dataclass(frozen=True)
class Request:
    """What a fit to traces was asked for.

    Parameters:
        traces: files.
        testbed: id of the base description.
        adapter: id of an adapter instead of the testbed's default.
        stack: id of a stack instead of the testbed's.
        host: id of a host instead of the testbed's.
        free: what-if paths, with bounds or without.
        settings: what-if settings of the base.
        mtu: in bytes instead of what the traces and the testbed say.
        switch: False for two hosts back to back.
        holdout: workloads that are compared and not fitted.
        loss: one of `LOSSES`.
        floor: relative error that the model may have at any point.
        intervals: one of `KINDS`.
        budget: of the search; without end if None.
        seed: of bootstraps and samples.
        allow_mismatch: go on though a trace was taken on another adapter or link.
    """

    traces: tuple[Path, ...]
    testbed: str
    free: tuple[str, ...]
    adapter: str | None = None
    stack: str | None = None
    host: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    mtu: int | None = None
    switch: bool = True
    holdout: tuple[str, ...] = ()
    loss: str = "soft_l1"
    floor: float = FLOOR
    intervals: str = "profile"
    budget: Budget | None = None
    seed: int = 0
    allow_mismatch: bool = False

    @property
    def command(self) -> str:
        """The command line that makes the same file, whatever folder the traces are in."""
        words = ["hcasim", "calibrate", *(one.name for one in self.traces)]
        many = {
            "--testbed": (self.testbed,),
            "--adapter": (self.adapter,) if self.adapter else (),
            "--stack": (self.stack,) if self.stack else (),
            "--host": (self.host,) if self.host else (),
            "--set": (f"{path}={value}" for path, value in self.settings.items()),
            "--free": self.free,
            "--holdout": self.holdout,
            "--mtu": (str(self.mtu),) if self.mtu else (),
        }
        words += [word for name, values in many.items() for one in values for word in (name, one)]
        words += [] if self.switch else ["--no-switch"]
        if self.budget is not None:
            seconds, count = self.budget.seconds, self.budget.evaluations
            words += ["--budget", str(count) if count is not None else f"{seconds:g}s"]
        words += ["--loss", self.loss, "--floor", f"{100 * self.floor:g}"]
        words += ["--intervals", self.intervals, "--seed", str(self.seed)]
        words += ["--allow-mismatch"] if self.allow_mismatch else []
        return command_line([*words, "-o", "FILE"])


@dataclass(frozen=True)
class Prepared:
    """A fit to traces that has no faults and was not begun.

    Parameters:
        request: what was asked for.
        traces: by name.
        base: the description that it starts from.
        fit: the free parameters.
        gathered: the points that are simulated.
        notes: what a user should know of the traces.
    """

    request: Request
    traces: Mapping[str, Trace]
    base: Base
    fit: Fit
    gathered: Observations
    notes: tuple[str, ...]


def prepare_fit(request: Request) -> Prepared:
    """Read traces and check a fit to them.

    Raises:
        CatalogError: every fault of the files and of the request.
    """
    faults: list[str] = []
    traces: dict[str, Trace] = {}
    for file in request.traces:
        try:
            trace = read_trace(file)
        except CatalogError as error:
            faults += error.faults
            continue
        same = next((name for name, one in traces.items() if one.sha256 == trace.sha256), None)
        if same is not None:
            faults.append(f"{display(file)}: found the same trace as {same}; allowed: once")
        traces[unique(printable(file.name), traces)] = trace
    faults += _word_faults(request)
    base = fit = None
    mpi = any(is_mpi(one) for trace in traces.values() for one in trace.points)
    try:
        base = find_base(request, mpi)
    except CatalogError as error:
        faults += error.faults
        with suppress(CatalogError):
            # What else is wrong does not depend on it.
            base = find_base(replace(request, mtu=None), mpi)
    if base is not None:
        try:
            fit = free_fit(base.machine, request.free, request.settings)
        except CatalogError as error:
            faults += error.faults
    notes: list[str] = []
    gathered = None
    if base is not None:
        differ = [
            f"{name}: {text}"
            for name, trace in traces.items()
            for text in mismatches(trace.header, base.machine)
        ]
        if request.allow_mismatch:
            notes += differ
        elif differ:
            faults += differ
            faults.append("the traces were taken on another machine; see also --allow-mismatch")
        # Points without an error would be another fault of a floor that is wrong.
        gathered = gather(traces, base, request.floor if _is_share(request.floor) else FLOOR)
        notes += gathered.notes
        if len(traces) == len(request.traces):
            faults += _holdout_faults(request, gathered)
    if faults or base is None or fit is None or gathered is None:
        raise CatalogError(faults)
    notes += _outside(base.machine, fit)
    return Prepared(request, traces, base, fit, gathered, tuple(notes))


def _outside(machine: Machine, fit: Fit) -> Iterable[str]:
    """Say which bounds leave out what the description has."""
    free = {one.path: one for one in free_parameters(fit)}
    for known in machine.parameters:
        one = free.get(path_in_fit(machine, known.path))
        if one is not None and one.start != known.value:
            start = one.leaf.format(one.start)
            yield f"{known.path}: found {known.text}, outside the bounds; sets out from {start}"


def is_mpi(point: Point) -> bool:
    """Whether a point of a trace was measured with MPI."""
    workload = find_workload(point.workload)
    return workload is not None and workload.mpi


def find_base(request: Request, mpi: bool) -> Base:
    """Return the description that a fit starts from.

    Parameters:
        request: says which.
        mpi: whether MPI programs were measured.

    Raises:
        CatalogError: every fault of the request.
    """
    parts = {
        "testbeds": request.testbed,
        "adapters": request.adapter,
        "stacks": request.stack,
        "hosts": request.host,
    }
    try:
        for kind, name in parts.items():
            # Two parts with one id would be one in a fit.
            identifier(name or "", kind)
        machine = resolve(
            request.testbed,
            adapter=request.adapter,
            overrides=request.settings,
            mtu=request.mtu,
            switch=request.switch,
            stack=request.stack,
            host=request.host,
            mpi=mpi,
        )
    except CatalogError as error:
        if request.mtu is None:
            raise
        # Here it is an option, and no key of a file.
        own = f"{request.testbed}: mtu: "
        faults = [one.replace(own, "mtu: ", 1) for one in error.faults]
        raise CatalogError(
            f"--{one}" if one.startswith("mtu: ") else one for one in faults
        ) from None
    stack = None if request.stack is None else machine.stack.id
    host = None if request.host is None else machine.host.id
    return Base(machine, request.settings, request.mtu, request.switch, stack, mpi, host)


def _word_faults(request: Request) -> Iterable[str]:
    words = {"loss": (request.loss, list(LOSSES)), "intervals": (request.intervals, list(KINDS))}
    for name, (word, allowed) in words.items():
        if word not in allowed:
            yield f"--{name}: found {word!r}; allowed: {one_of(allowed)}{nearest(word, allowed)}"
    if not _is_share(request.floor):
        yield f"--floor: found {100 * request.floor:g}; allowed: percent from 0 to 100"


def _is_share(floor: float) -> bool:
    # That also refuses what is no number.
    return 0 <= floor <= 1


def _holdout_faults(request: Request, gathered: Observations) -> Iterable[str]:
    measured = gathered.workloads()
    for name in request.holdout:
        if name not in measured:
            allowed = f"; allowed: {one_of(measured)}{nearest(name, measured)}" if measured else ""
            yield f"--holdout: found {name!r}, of which no point is left{allowed}"
    fitted, _ = gathered.split(request.holdout)
    if not fitted:
        what = "all points are held out" if gathered.observations else "no point can be simulated"
        yield f"found nothing to fit: {what}"
        yield from gathered.notes
    for one in fitted:
        if one.error is None or not one.error > 0:
            yield f"{one.id}: its error is not known; allowed: a --floor above 0"
            break
