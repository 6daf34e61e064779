"""What a fit to traces is asked for, checked before anything is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from hcasim.calibrate.descent import PLACES
from hcasim.calibrate.entries import identifier
from hcasim.calibrate.freeing import free_fit
from hcasim.calibrate.gathering import FLOOR, Observations, gather, unique
from hcasim.calibrate.loss import LOSSES
from hcasim.calibrate.parameters import free_parameters
from hcasim.catalog import (
    Adapter,
    CatalogError,
    Fit,
    InfinibandLink,
    Machine,
    PcieDevice,
    nearest,
    one_of,
)
from hcasim.catalog.fits import IntervalKind
from hcasim.catalog.link import LANES
from hcasim.ground.errors import display
from hcasim.ground.text import command_line, printable
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import find_machine
from hcasim.traces import LOOPBACK, TRANSPORTS, Header, Point, Trace, read_measured
from hcasim.workloads import find_workload

PARTS = {"adapter": "adapters", "stack": "stacks", "host": "hosts"}
"""What may be chosen instead of the testbed's, and the kind of each."""
SLACK = 0.07
"""Drivers round lane rates: 25 for 25.78125, 50 for 53.125."""


@dataclass(frozen=True)
class Request:
    """What a fit to traces was asked for.

    Parameters:
        traces: files, traces or what tools printed.
        base: the machine that is set out from; the traces tell the workloads, which it has not.
        free: what-if paths, with bounds or without.
        holdout: workloads that are compared and not fitted.
        loss: one of `LOSSES`.
        floor: relative error that the model may have at any point.
        intervals: one of `IntervalKind`.
        budget: seconds of all that is simulated; without end if None.
        seed: of samples.
        allow_mismatch: go on though a trace was taken on another adapter or link.
    """

    traces: tuple[Path, ...]
    base: Experiment
    free: tuple[str, ...]
    holdout: tuple[str, ...] = ()
    loss: str = "soft_l1"
    floor: float = FLOOR
    intervals: str = "profile"
    budget: float | None = None
    seed: int = 0
    allow_mismatch: bool = False

    @property
    def command(self) -> str:
        """The command line that makes the same file, whatever folder the traces are in."""
        base, chosen = self.base, self.base.settings
        options: dict[str, Iterable[object]] = {
            "--testbed": [base.testbed],
            **{f"--{name}": [chosen[name]] for name in PARTS if name in chosen},
            "--set": [f"{path}={value}" for path, value in base.overrides.items()],
            "--free": self.free,
            "--holdout": self.holdout,
            "--mtu": [chosen["mtu"]] if "mtu" in chosen else [],
            "--no-switch": [""] if chosen.get("switch") is False else [],
            "--switch": [chosen["switch"]] if chosen.get("switch") else [],
            "--budget": [] if self.budget is None else [f"{self.budget:g}s"],
            "--loss": [self.loss],
            "--floor": [f"{100 * self.floor:g}"],
            "--intervals": [self.intervals],
            "--seed": [self.seed],
            "--allow-mismatch": [""] if self.allow_mismatch else [],
            "-o": ["FILE"],
        }
        words = [
            word for name, found in options.items() for one in found for word in (name, str(one))
        ]
        return command_line(
            ["hcasim", "calibrate", *(one.name for one in self.traces), *filter(None, words)]
        )


@dataclass(frozen=True)
class Prepared:
    """A fit to traces that has no faults and was not begun.

    Parameters:
        request: what was asked for.
        traces: by name.
        base: the machine that it starts from, with the settings that each point has.
        machine: the same, resolved.
        fit: the free parameters.
        gathered: the points that are simulated.
        notes: what a user should know of the traces.
    """

    request: Request
    traces: Mapping[str, Trace]
    base: Experiment
    machine: Machine
    fit: Fit
    gathered: Observations
    notes: tuple[str, ...]

    @property
    def evaluations(self) -> tuple[int, int]:
        """How many evaluations the fit takes if no parameter moves anything, and how many if it
        sets out far off and limits are met on the way."""
        free = free_parameters(self.fit)
        stepped, count = sum(one.stepped for one in free), len(free)
        scan = stepped * (PLACES + PLACES // 2 * (1 + count - stepped))
        sides = 0 if self.request.intervals == "linear" else 2 * count
        return scan + 1 + 2 * count + sides, scan + 3 + 4 * count + 6 * sides


def prepare_fit(request: Request) -> Prepared:
    """Read traces and check a fit to them.

    Raises:
        CatalogError: every fault of the files and of the request.
    """
    faults: list[str] = []
    traces: dict[str, Trace] = {}
    for file in request.traces:
        try:
            trace = read_measured(file)
        except CatalogError as error:
            faults += error.faults
            continue
        same = next((name for name, one in traces.items() if one.sha256 == trace.sha256), None)
        if same is not None:
            faults.append(f"{display(file)}: found the same trace as {same}; allowed: once")
        traces[unique(printable(file.name), traces)] = trace
    faults += _word_faults(request)
    mpi = any(is_mpi(one) for trace in traces.values() for one in trace.points)
    try:
        base, machine = find_base(request.base, mpi)
    except CatalogError as error:
        faults += error.faults
        # What else is wrong does not depend on the MTU.
        rest = {name: one for name, one in request.base.settings.items() if name != "mtu"}
        try:
            base, machine = find_base(replace(request.base, settings=rest), mpi)
        except CatalogError:
            raise CatalogError(faults) from None
    fit = None
    try:
        fit = free_fit(machine, request.free, request.base.overrides)
    except CatalogError as error:
        faults += error.faults
    differ = [
        f"{name}: {text}"
        for name, trace in traces.items()
        for text in mismatches(trace.header, machine)
    ]
    notes = differ if request.allow_mismatch else []
    if differ and not request.allow_mismatch:
        hint = "the traces were taken on another machine; see also --allow-mismatch"
        faults += [*differ, hint]
    notes += (
        f"{name}: {device} is software: what is fitted says nothing of an adapter"
        for name, trace in traces.items()
        if (device := software(trace.header))
    )
    notes += (f"{name}: {LOOPBACK}" for name, one in traces.items() if LOOPBACK in one.header.notes)
    # Points without an error would be another fault of a floor that is wrong.
    floor = request.floor if _is_share(request.floor) else FLOOR
    gathered = gather(traces, base, machine, floor)
    notes += gathered.notes
    if len(traces) == len(request.traces):
        faults += _holdout_faults(request, gathered)
    if faults or fit is None:
        raise CatalogError(faults)
    return Prepared(request, traces, base, machine, fit, gathered, tuple(notes))


def is_mpi(point: Point) -> bool:
    """Whether a point of a trace was measured with MPI."""
    workload = find_workload(point.workload)
    return workload is not None and workload.mpi


def find_base(asked: Experiment, mpi: bool) -> tuple[Experiment, Machine]:
    """Return the machine that a fit starts from, its parts named by their ids, and resolved.

    Parameters:
        asked: says which.
        mpi: whether MPI programs were measured.

    Raises:
        CatalogError: every fault of the request.
    """
    chosen = asked.settings
    try:
        for kind, name in {
            "testbeds": asked.testbed,
            **{kind: chosen.get(name) for name, kind in PARTS.items()},
        }.items():
            # Two parts with one id would be one in a fit.
            identifier(str(name or ""), kind)
        machine = find_machine(asked.testbed, {**chosen, "overrides": asked.overrides}, mpi)
    except CatalogError as error:
        if chosen.get("mtu") is None:
            raise
        # Here it is an option, and no key of a file.
        own = f"{asked.testbed}: mtu: "
        faults = [one.replace(own, "mtu: ", 1) for one in error.faults]
        raise CatalogError(
            f"--{one}" if one.startswith("mtu: ") else one for one in faults
        ) from None
    parts = {"adapter": machine.adapter.id}
    if mpi or "stack" in chosen:
        # Points of verbs run with it, too.
        parts["stack"] = machine.stack.id
    if "host" in chosen:
        parts["host"] = machine.host.id
    return replace(asked, testbed=machine.id, settings={**chosen, **parts}), machine


def _word_faults(request: Request) -> Iterable[str]:
    words = {
        "loss": (request.loss, list(LOSSES)),
        "intervals": (request.intervals, list(get_args(IntervalKind))),
    }
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


def software(header: Header) -> str:
    """Return the name of the device if it is software, such as rxe; empty if it is not."""
    words = header.device.driver, header.device.name
    found = any(word.removeprefix("rdma_").startswith(("rxe", "siw")) for word in words)
    return header.device.name or header.device.driver if found else ""


def mismatches(header: Header, machine: Machine) -> Iterator[str]:
    """Say what a trace tells of its adapter that is not so on a machine.

    Parameters:
        header: of the trace; what it does not tell is not compared.
        machine: the base of a fit.

    Yields:
        A line for each: what the trace has, what the machine has, and what would change it.
    """
    device, adapter = header.device, machine.adapter
    if header.tool.name == "hcasim" and device.name not in ("", adapter.id):
        yield f"adapter: found {device.name}; {machine.id} has {adapter.id} here; see --adapter"
    speaks = TRANSPORTS[adapter.protocol.kind] if isinstance(adapter, Adapter) else "no RDMA"
    if device.transport and device.transport != speaks:
        yield f"transport: found {device.transport}; {adapter.id} speaks {speaks}"
    layer, kind = header.port.layer, machine.link.kind
    if layer and layer != kind:
        yield f"link: found {layer}; that of {machine.id} is {kind}"
    else:
        yield from _rates(header, machine)
    yield from _slots(header, machine)


def _rates(header: Header, machine: Machine) -> Iterator[str]:
    width, speed, link = header.port.width, header.port.speed, machine.link
    if isinstance(link, InfinibandLink):
        if width is not None and width != link.width:
            yield _other("link.width", f"{width} lanes", machine.id, link.width, width)
        rate = float(LANES[link.speed].gigabits)
        if speed is not None and abs(speed / rate - 1) > SLACK:
            near = min(LANES, key=lambda name: abs(LANES[name].gigabits - speed))
            own = f"{link.speed}, which is {rate:g}"
            yield _other("link.speed", f"{speed:g} Gbit/s a lane", machine.id, own, near)
    elif speed is not None:
        total = speed * (width or 1)
        if abs(total / link.gigabits - 1) > SLACK:
            told = f"found {total:g} Gbit/s; {machine.id} has {link.gigabits}"
            yield f"link.gigabits: {told}; see --set link.gigabits"


def _slots(header: Header, machine: Machine) -> Iterator[str]:
    pci, bus, name = header.pci, machine.adapter.bus, machine.adapter.id
    if pci is None:
        return
    if not isinstance(bus, PcieDevice):
        if pci.generation is not None:
            yield f"bus: found PCI Express; {name} has {bus.kind}; see --set adapter.bus.kind=pcie"
        return
    for key in ("generation", "lanes", "max_payload", "max_read_request"):
        value, own = getattr(pci, key), getattr(bus, key)
        if value is not None and value != own:
            yield _other(f"adapter.bus.{key}", value, name, own, value)


def _other(key: str, found: object, owner: str, own: object, wanted: object) -> str:
    return f"{key}: found {found}; {owner} has {own}; see --set {key}={wanted}"
