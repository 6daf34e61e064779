"""What a calibration is fitted to: published numbers, and what to simulate for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from hcasim.workloads import find_workload


@dataclass(frozen=True)
class Observation:
    """A published number.

    Parameters:
        id: number of the statement.
        experiments: what is simulated for it, each one point, off which it is read.
        field: which number of a point, such as "latency_us".
        published: the number with the digits that were printed: 9.0 says more than 9.
        unit: of the number.
        tolerance: relative error that a replay may have; a residual is weighted with it.
        best: whether the lowest or the highest of the points was published.
        statement: what was measured, in words.
        repeats: further statements of the same number.
        half_width: how far the number may be off, if not half a unit of its last digit.
        error: standard deviation of a number that was measured; None for one of which only the
            rounding is known.
        curve: the curve that it is a point of, such as "write_lat"; empty if it stands alone.
        scale: what the field of a point is multiplied with to be in that unit.
    """

    id: str
    experiments: tuple[Experiment, ...]
    field: str
    published: Decimal
    unit: str
    tolerance: float
    best: Literal["min", "max"] = "min"
    statement: str = ""
    repeats: tuple[str, ...] = ()
    half_width: float | None = None
    error: float | None = None
    curve: str = ""
    scale: float = 1.0

    @property
    def size(self) -> int:
        """Bytes of the message; 1 of what has none."""
        return int(self.experiments[0].settings.get("size", 1))

    @property
    def rounding(self) -> float:
        """How far the number may be off: half a unit of its last digit, unless more is said."""
        if self.half_width is not None:
            return self.half_width
        exponent = self.published.as_tuple().exponent
        assert isinstance(exponent, int)
        return float(Decimal(5).scaleb(exponent - 1))

    @property
    def deviation(self) -> float:
        """Standard deviation: as measured, or that of a uniform error within the rounding."""
        return self.rounding / math.sqrt(3) if self.error is None else self.error

    @property
    def reach(self) -> float:
        """What is written behind the number: its deviation, or half a unit of its last digit."""
        return self.rounding if self.error is None else self.error

    def with_floor(self, floor: float) -> Observation:
        """Return it with a relative error that the model may have, beside its own."""
        if not floor:
            return self
        return replace(self, error=math.hypot(self.deviation, floor * float(self.published)))

    def read(self, rows: Sequence[Mapping[str, Any]]) -> float:
        """Return the number that the rows of the points give."""
        best = min if self.best == "min" else max
        return float(best(row[self.field] for row in rows)) * self.scale


def without_repeats(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Keep each published number once, so that a repeated one weighs no more than others."""
    kept: dict[object, Observation] = {}
    for one in observations:
        key = (one.experiments, one.field, one.best, one.published)
        first = kept.get(key)
        kept[key] = one if first is None else replace(first, repeats=(*first.repeats, one.id))
    return tuple(kept.values())


def experiment(point: Point, **settings: Any) -> Experiment:
    """Return what asks for a point on its testbed and adapter; of its machine only those count.

    The settings are those of a machine, as `Experiment.of` takes them.
    """
    workload = find_workload(point.workload)
    assert workload is not None
    options = {"size": point.options.size} if "size" in workload.options else {}
    options |= workload.changed(point.options)
    chosen = {"adapter": point.machine.adapter.id, **options, **settings}
    return Experiment.of(point.workload, point.machine.id, **chosen)
