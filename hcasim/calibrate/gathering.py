"""What a fit to traces is fitted to: each point that can be simulated, as an observation."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, count
from typing import Any

from hcasim.calibrate.observation import Observation, experiment
from hcasim.catalog import Adapter, Machine, one_of
from hcasim.catalog.link import MTU_OF, MTUS
from hcasim.ground.quantities import QUANTITIES
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point as Simulated
from hcasim.traces import Measured, Point, Trace
from hcasim.workloads import Options, Workload, find_workload
from hcasim.workloads.checks import check
from hcasim.workloads.options import AXES

FLOOR = 0.01
"""Relative error that the model may have at any point unless the user says otherwise: what is
left of a curve where none of the latencies that are fitted shows."""
_TELLING = ("latency", "bandwidth", "rate")
"""The quantities of which one counts, the one that says most first: where several are measured,
the others follow from it."""
_RUNS = ("iters", "warmup")
QUARTILES = 1.348980
"""Distance of the quartiles of a normal distribution, in standard deviations."""
MEDIAN = math.sqrt(math.pi / 2)
"""Standard error of the median of normal samples, in that of their mean."""
_PRINTED = re.compile(r"([0-9]+)(?:\.([0-9]*))?")


@dataclass(frozen=True)
class Measurement:
    """A measured number, in the unit of its quantity.

    Parameters:
        value: the median of the samples, or the number that a tool printed of them.
        sampling: standard error of the value by the spread of the samples; 0 if that is unknown.
        rounding: half a unit of the last digit that was printed; 0 if samples were kept.
    """

    value: float
    sampling: float
    rounding: float

    def deviation(self, floor: float) -> float:
        """Return the standard deviation of the value as an image of what a model can give, whose
        own relative error `floor` is independent of those of the measurement."""
        return math.hypot(self.sampling, self.rounding / math.sqrt(3), floor * self.value)


def measurement(one: Measured) -> Measurement:
    """Read a measured quantity.

    Samples and histograms give their median; its standard error is that of a normal distribution
    with their quartiles, so that a long tail does not widen it. Of printed statistics the median
    counts, else the mean, else the minimum; a printed deviation gives the standard error.
    """
    error = 0.0
    if seen := one.statistics:
        best = next((v for v in (seen.median, seen.mean, seen.minimum) if v is not None), None)
        if best is None:
            return Measurement(0.0, 0.0, 0.0)
        if seen.deviation is not None and seen.count is not None:
            error = seen.deviation / math.sqrt(seen.count) * (MEDIAN if best == seen.median else 1)
        return Measurement(best, error, _rounding(one.printed, best))
    pairs = one.histogram or sorted(Counter(one.samples).items())
    values, counts = zip(*pairs, strict=True)
    low, middle, high = (_quantile(values, counts, part) for part in (0.25, 0.5, 0.75))
    if (total := sum(counts)) > 1:
        error = MEDIAN * (high - low) / QUARTILES / math.sqrt(total)
    return Measurement(middle, error, _rounding(one.printed, middle))


def pooled(repeats: Sequence[Measurement]) -> Measurement:
    """Return what repeated measurements of one thing, one or more, say together.

    How far the runs differ beyond their own errors is estimated from their scatter (the variance
    component of a random effects model: Cochran, Biometrics 10, 1954, page 101) and counts for
    each. Roundings are not averaged away, because that of one number is the same each time.
    """
    if len(repeats) == 1:
        return repeats[0]
    own = [one.sampling**2 + one.rounding**2 / 3 for one in repeats]
    scatter = statistics.variance(one.value for one in repeats)
    between = max(0.0, scatter - statistics.fmean(own))
    # Where the error of one is not known, all count the same.
    known = all(error + between > 0 for error in own)
    weights = [1 / (error + between) if known else 1.0 for error in own]
    shares = [weight / sum(weights) for weight in weights]
    pairs = list(zip(shares, repeats, strict=True))
    return Measurement(
        value=sum(share * one.value for share, one in pairs),
        sampling=math.sqrt(sum(share**2 * (one.sampling**2 + between) for share, one in pairs)),
        rounding=sum(share * one.rounding for share, one in pairs),
    )


def _quantile(values: tuple[float, ...], counts: tuple[int, ...], part: float) -> float:
    """Return a quantile, midway between two samples if it falls between them."""
    wanted, seen = part * sum(counts), 0
    for number, (value, times) in enumerate(zip(values, counts, strict=True)):
        seen += times
        if seen > wanted:
            return value
        if seen == wanted:
            return (value + values[min(number + 1, len(values) - 1)]) / 2
    return values[-1]


def _rounding(printed: str, value: float) -> float:
    """Return half a unit of the last printed digit, whatever the unit it was printed in."""
    match = _PRINTED.search(printed)
    number = float(match.group()) if match else 0.0
    if match is None or not number:
        return 0.0
    return 0.5 * 10.0 ** -len(match.group(2) or "") / number * value


@dataclass(frozen=True)
class Observations:
    """The observations of some traces.

    Parameters:
        observations: one for each point that is simulated.
        notes: what was left out, and why.
    """

    observations: tuple[Observation, ...]
    notes: tuple[str, ...]

    def workloads(self) -> list[str]:
        """Return the workloads that were measured."""
        return list(dict.fromkeys(one.experiments[0].workload for one in self.observations))

    def split(self, holdout: Iterable[str]) -> tuple[list[Observation], list[Observation]]:
        """Divide the observations into those that are fitted and those that are held out."""
        kept: list[Observation] = []
        out: list[Observation] = []
        for one in self.observations:
            (out if one.experiments[0].workload in holdout else kept).append(one)
        return kept, out


def gather(
    traces: Mapping[str, Trace], base: Experiment, machine: Machine, floor: float = FLOOR
) -> Observations:
    """Turn the points of traces into observations.

    A point counts if hcasim has its workload and all of its options; iterations are at most those
    of the workload's defaults, because the model repeats itself. What was measured several times
    is pooled: the model is as wrong at each of them, so its floor enters once.

    Parameters:
        traces: by name, for messages.
        base: the settings of the machine that they are simulated on; the points say the workload.
        machine: this machine.
        floor: relative error that the model may have at any point.
    """
    taken: dict[_Reading, list[Measurement]] = {}
    left: dict[str, Counter[str]] = {}
    for trace in traces.values():
        for point in trace.points:
            for reading, one in _readings(point, trace, base, machine, left):
                taken.setdefault(reading, []).append(one)
    found: dict[str, Observation] = {}
    for reading, several in taken.items():
        observation = reading.observation(pooled(several), floor)
        identifier = unique(observation.id, found)
        found[identifier] = replace(observation, id=identifier)
    notes = []
    for reason, counts in left.items():
        points = "1 point" if counts.total() == 1 else f"{counts.total()} points"
        notes.append(f"left out {points} of {', '.join(counts)}: {reason}")
    repeated = [len(several) for several in taken.values() if len(several) > 1]
    if repeated:
        notes.append(
            f"{sum(repeated)} measurements are repeats: pooled, they count as {len(repeated)}"
        )
    for name, trace in traces.items():
        if trace.failures:
            notes.append(f"{name}: {len(trace.failures)} points of it could not be measured")
        if trace.end is None or not trace.end.complete:
            notes.append(f"{name}: was interrupted; what it holds counts")
    return Observations(tuple(found.values()), tuple(notes))


def unique(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken: the same, or with a number behind it."""
    numbered = chain([name], (f"{name} #{number}" for number in count(2)))
    return next(one for one in numbered if one not in taken)


@dataclass(frozen=True)
class _Reading:
    """What may be measured again and again: one quantity of one experiment."""

    asked: Experiment
    field: str
    quantity: str
    curve: str

    def observation(self, taken: Measurement, floor: float) -> Observation:
        quantity = QUANTITIES[self.quantity]
        assert quantity.trace is not None
        factor = 1 / quantity.trace[1]
        value = taken.value * factor
        error = taken.deviation(floor) * factor
        sized = "size" in self.asked.settings
        size = AXES["size"].label(self.asked.settings["size"]) if sized else "one call"
        return Observation(
            id=f"{self.curve} {size}" if sized else self.curve,
            experiments=(self.asked,),
            field=self.field,
            # Seven digits are beyond any measurement and fit on a line.
            published=Decimal(f"{value:.7g}"),
            unit=quantity.unit,
            tolerance=error / value,
            statement=f"{self.quantity} of {size}",
            error=error,
            curve=self.curve,
        )


def _readings(
    point: Point,
    trace: Trace,
    base: Experiment,
    machine: Machine,
    left: dict[str, Counter[str]],
) -> Iterator[tuple[_Reading, Measurement]]:
    workload = find_workload(point.workload)
    if workload is None:
        left.setdefault("this workload is not simulated", Counter())[point.workload] += 1
        return
    given, faults = _given(point, workload)
    if "size" in workload.options and "size" not in point.options:
        faults.append("size: missing")
    if "algorithm" in workload.options and point.options.get("size") == 0:
        faults.append("a collective without data sends nothing")
    mtu = base.settings.get("mtu") or _mtu(point, trace, machine, faults)
    faults += check(workload, machine, given)
    if faults:
        left.setdefault("; ".join(faults), Counter())[point.workload] += 1
        return
    options = workload.build(given)
    asked = experiment(
        Simulated(workload.name, machine, options),
        **{**base.settings, "mtu": mtu},
        overrides=base.overrides,
    )
    curve = _curve(workload, options)
    for one, field in _chosen(point.measured, workload):
        name = curve if one.quantity != "time" else f"{curve}, {one.name}"
        taken = measurement(one)
        if not taken.value > 0:
            left.setdefault("found no number above 0", Counter())[name] += 1
            continue
        yield _Reading(asked, field, one.quantity, name), taken


def _given(point: Point, workload: Workload) -> tuple[dict[str, Any], list[str]]:
    """Return the options of a point that mean something to a workload, and those it lacks."""
    given: dict[str, Any] = {}
    faults: list[str] = []
    usual = vars(workload.defaults)
    for name, value in point.options.items():
        if name == "mtu":
            continue
        if name not in workload.options:
            if name not in _RUNS and usual.get(name) != value:
                faults.append(f"{name} {value!r} is not simulated")
        elif type(value) is not type(usual[name]):
            faults.append(f"{name}: found {value!r}; allowed: such as {usual[name]!r}")
        elif name in _RUNS:
            given[name] = min(int(value), usual[name])
        else:
            given[name] = value
    if "inline" in given and "inline_size" in workload.options:
        # What the tool says of inline data is all: none is so by default.
        given.setdefault("inline_size", 0)
    return given, faults


def _mtu(point: Point, trace: Trace, machine: Machine, faults: list[str]) -> int | None:
    """Return the path MTU of a point; that of iWARP is Ethernet's, which traces do not tell."""
    adapter = machine.adapter
    if not isinstance(adapter, Adapter) or MTU_OF[adapter.protocol.kind] != "infiniband":
        return None
    mtu = point.options.get("mtu", trace.header.port.mtu)
    if mtu is None:
        return None
    largest = adapter.limits.max_mtu
    allowed = [int(one) for one in MTUS["infiniband"].choices if int(one) <= largest]
    if isinstance(mtu, bool) or mtu not in allowed:
        sizes = one_of([str(one) for one in allowed])
        faults.append(f"mtu: found {mtu}; allowed: {sizes}; --mtu goes before what traces say")
        return None
    return int(mtu)


def _chosen(measured: Sequence[Measured], workload: Workload) -> Iterator[tuple[Measured, str]]:
    """Return what counts of a point: each time, and one of what follows from each other."""
    for one in measured:
        if one.quantity == "time" and f"{one.name}_us" in workload.fields:
            yield one, f"{one.name}_us"
    for quantity in _TELLING:
        field = QUANTITIES[quantity].field
        for one in measured:
            if one.quantity == quantity and field in workload.fields:
                yield one, field
                return


def _curve(workload: Workload, options: Options) -> str:
    """Name the curve that a point belongs to: the workload and what is unusual of it."""
    usual = vars(workload.defaults)
    special = [
        name if value is True else f"{name} {value}"
        for name, value in vars(options).items()
        if name not in ("size", *_RUNS) and usual[name] != value
    ]
    return ", ".join((workload.name, *special))
