"""The result of a calibration, for people, for programs and as the file of the fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hcasim import __version__
from hcasim.calibrate.confidence import Confidence
from hcasim.calibrate.document import CalibrateDocument
from hcasim.calibrate.estimate import Estimate, Residual
from hcasim.calibrate.identifiability import Tie
from hcasim.calibrate.loss import Array, Loss
from hcasim.calibrate.objective import Objective
from hcasim.catalog import Fit, FittedValue, render_fit

NUMBERS = ("published", "simulated", "error")
STRONG = 0.9
"""Correlation from which on two parameters are worth a line of their own."""
_ROUNDED = "Values are rounded, times to 1 ns or closer, intervals outwards."
METHOD = (
    "Intervals: 95 %, from how exactly the numbers are printed alone (uniform within the ± beside",
    "them), to first order; other errors of the measurements and of the model are not known.",
    _ROUNDED,
)


def method(floor_percent: float) -> tuple[str, ...]:
    """Say where the intervals of a fit to published numbers come from."""
    if not floor_percent:
        return METHOD
    return (
        "Intervals: 95 %, to first order, from how exactly the numbers are printed and an error of",
        f"{floor_percent:g} % of each for measurement and model; ± is the deviation of both.",
        _ROUNDED,
    )


@dataclass(frozen=True)
class Table:
    """Rows of text for a printer of tables.

    Parameters:
        title: what it shows.
        columns: their names.
        rows: the cells.
        right: the columns of numbers.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: tuple[str, ...] = ()


@dataclass(frozen=True)
class Local:
    """What a fit leaves for finer questions.

    Parameters:
        objective: simulates further points.
        point: the fit, in base units by path, tied paths included.
        slopes: observations by parameters, per base unit.
        residuals: at the fit, in tolerances.
        confidence: to first order.
        loss: what the fit made small.
    """

    objective: Objective
    point: Mapping[str, int]
    slopes: Array
    residuals: Array
    confidence: Confidence
    loss: Loss


@dataclass(frozen=True)
class FitReport:
    """What a calibration found.

    Parameters:
        fit: what was given: title, notes, bounds and ties.
        parameters: the free parameters.
        residuals: what the fitted model gives for each observation.
        ties: what happens if a tied parameter is freed.
        cost: half the sum of the squares of all errors, each in tolerances.
        inflation: how much larger the errors are than the rounding explains; 1 if they are not.
        evaluations: points of the parameters at which the observations were computed.
        converged: whether the search ended by itself.
        local: the model around the fit, for further questions.
        method: how the intervals were found, in lines.
    """

    fit: Fit
    parameters: tuple[Estimate, ...]
    residuals: tuple[Residual, ...]
    ties: tuple[Tie, ...]
    cost: float
    inflation: float
    evaluations: int
    converged: bool
    local: Local = field(repr=False, compare=False)
    method: tuple[str, ...] = METHOD

    def __getitem__(self, path: str) -> Estimate:
        """Return the parameter with this path."""
        return next(one for one in self.parameters if one.path == path)

    @property
    def result(self) -> Fit:
        """The fit with the new values, as its file will hold them."""
        found = {one.path: one for one in self.parameters}
        ties = {tie.path: tie for tie in self.ties}
        entries: dict[str, FittedValue] = {}
        for path, entry in self.fit.entries.items():
            one = found[entry.tied_to or path]
            changes = {
                "value": one.raw(one.value),
                "interval": one.raw_interval,
                "claims": one.claims,
                "verdict": ties[path].judgement if entry.tied_to else one.judgement,
            }
            entries[path] = entry.model_copy(update=changes)
        return self.fit.model_copy(update={"entries": entries})

    def render(self) -> str:
        """Return the text of the file of the fit."""
        return render_fit(self.result, self._header())

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return {
            **CalibrateDocument.head(),
            "id": self.fit.id,
            "parameters": [one.to_dict() for one in self.parameters],
            "observations": [one.to_dict() for one in self.residuals],
            "ties": [tie.to_dict() for tie in self.ties],
            "cost": self.cost,
            "inflation": self.inflation,
            "evaluations": self.evaluations,
            "converged": self.converged,
        }

    def tables(self) -> tuple[Table, ...]:
        """Return the parameters, the observations and the correlations as tables."""
        numbered = [(str(n), one) for n, one in enumerate(self.parameters, start=1)]
        numbers = ("no", *(number for number, _ in numbered))
        tables = [
            Table(
                f"Fit of {self.fit.id}",
                ("no", "parameter", "value", "95 % interval", "verdict"),
                [(n, one.path, *one.written, one.judgement) for n, one in numbered],
                ("no", "value", "95 % interval"),
            ),
            Table(
                "Observations",
                ("claim", "statement", *NUMBERS),
                [(one.ids, one.observation.statement, *one.cells) for one in self.residuals],
                NUMBERS,
            ),
            Table(
                "Correlation of the parameters",
                numbers,
                [(n, *(f"{r:+.2f}" for r in one.correlation.values())) for n, one in numbered],
                numbers,
            ),
        ]
        if self.ties:
            columns = ("parameter", "tied to", "what the observations do not notice if it is free")
            ties = [(tie.path, tie.leader, tie.move) for tie in self.ties]
            tables.append(Table("Ties, each undone", columns, ties))
        return tuple(tables)

    def closing_lines(self) -> list[str]:
        """Return what the data cannot tell, and a summary."""
        lines = list(self._correlated())
        if self.inflation > 1 and self.converged:
            measured = any(one.observation.error is not None for one in self.residuals)
            known = "their standard deviation" if measured else "the rounding"
            wider = f"{self.inflation:.3g} times what {known} explains"
            lines.append(f"the errors are {wider}; the intervals are wider by as much")
        lines.append(
            f"{len(self.residuals)} observations, {len(self.parameters)} free parameters, "
            f"cost {self.cost:.2g}, {self.evaluations} evaluations"
        )
        if len(self.residuals) <= len(self.parameters):
            lines.append(
                "no more observations than parameters: that the fit meets them tests nothing"
            )
        lines.append(" ".join(self.method))
        if not self.converged:
            lines.append("the search did not end by itself: these values are not a fit")
        return lines

    def _correlated(self) -> Iterator[str]:
        for n, one in enumerate(self.parameters):
            for other in self.parameters[n + 1 :]:
                r = one.correlation[other.path]
                if abs(r) >= STRONG and one.verdict.identified and other.verdict.identified:
                    yield f"{one.path} and {other.path} are nearly collinear: correlation {r:+.2f}"

    def _header(self) -> list[str]:
        lines = [
            f"Written by hcasim {__version__}; bounds, start, tied_to, title and notes by hand.",
            "The rest comes again with",
            f"    hcasim calibrate {self.fit.id} -o calibration/fits/{self.fit.id}.toml",
            "",
            *self.method,
            "",
            "Observations, each number once:",
        ]
        cells = [
            (one.ids, one.published, f"fitted {one.written}", one.observation.statement)
            for one in self.residuals
        ]
        widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"    {'  '.join(padded)}".rstrip())
        if self.ties:
            lines += ["", "Each tie undone: the move that the observations do not notice:"]
            lines += [f"    {tie.path}: {tie.move}" for tie in self.ties]
        strong = list(self._correlated())
        return [*lines, *(["", *strong] if strong else [])]
