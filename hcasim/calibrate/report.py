"""The result of a calibration, for people, for programs and as the file of the fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from textwrap import wrap
from typing import Any

import numpy as np

from hcasim import __version__
from hcasim.calibrate.alternatives import Alternative
from hcasim.calibrate.confidence import Around, Tie
from hcasim.calibrate.document import CalibrateDocument
from hcasim.calibrate.entries import path_in_fit
from hcasim.calibrate.estimate import Estimate, Residual
from hcasim.calibrate.file.calibration import Calibration
from hcasim.calibrate.freeing import RULE
from hcasim.calibrate.loss import Array
from hcasim.calibrate.request import Prepared
from hcasim.catalog import Fit, FittedValue, render_fit
from hcasim.catalog.fits import FittedCurve, FittedTrace, Made
from hcasim.pages.document import Column, Content
from hcasim.pages.document import Table as PageTable
from hcasim.runs.table import Table

STRONG = 0.9
"""Correlation from which on two parameters are worth a line of their own."""
OPAQUE = 5.0
"""Errors that are so many times larger than expected mean that the model lacks what matters."""
FAR = 4.0
"""A curve that is so many deviations off, rms, is named."""
_ROUNDED = "Values are rounded, times to 1 ns or closer, intervals outwards."
_PRINTED = (
    "Intervals: 95 %, from how exactly the numbers are printed alone (uniform within the ± beside",
    "them), to first order; other errors of the measurements and of the model are not known.",
    _ROUNDED,
)


def method(floor_percent: float) -> tuple[str, ...]:
    """Say where the intervals of a fit to published numbers come from."""
    if not floor_percent:
        return _PRINTED
    return (
        "Intervals: 95 %, to first order, from how exactly the numbers are printed and an error of",
        f"{floor_percent:g} % of each for measurement and model; ± is the deviation of both.",
        _ROUNDED,
    )


@dataclass(frozen=True)
class Traced:
    """What a fit to traces has beside one to published numbers.

    Parameters:
        prepared: what was asked for and the traces.
        before: what the base description gives for each fitted observation.
        held: the observations that were held out, as the fit has them.
        samples: values that the traces allow, in base units: draws by parameters.
    """

    prepared: Prepared
    before: tuple[Residual, ...]
    held: tuple[Residual, ...]
    samples: Array


@dataclass(frozen=True)
class FitReport(Table):
    """What a calibration found.

    Parameters:
        fit: what was asked for.
        parameters: the free parameters with their uncertainty.
        residuals: each observation beside what the fitted model gives.
        ties: what happens if each tied parameter is freed.
        cost: half the sum of the squared relative errors, in tolerances.
        evaluations: points of the parameters at which the model was computed.
        converged: whether the search ended by itself.
        around: the model around the fit, for further questions.
        method: how the intervals were found, in lines.
        traced: of a fit to traces.
        alternatives: parameters that were not freed and would explain the same.
    """

    fit: Fit
    parameters: tuple[Estimate, ...]
    residuals: tuple[Residual, ...]
    ties: tuple[Tie, ...]
    cost: float
    evaluations: int
    converged: bool
    around: Around = field(repr=False, compare=False)
    method: tuple[str, ...]
    traced: Traced | None = None
    alternatives: tuple[Alternative, ...] = ()

    def __getitem__(self, path: str) -> Estimate:
        """Return the parameter with this path."""
        return next(one for one in self.parameters if one.path == path)

    @property
    def title(self) -> str:
        """What was fitted."""
        return f"Fit of {self.fit.id}"

    axes = ("parameter",)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each parameter."""
        return [
            {
                "parameter": one.path,
                "value": one.raw(one.value),
                "low": one.raw_interval[0],
                "high": one.raw_interval[1],
                "verdict": one.judgement,
            }
            for one in self.parameters
        ]

    @property
    def inflation(self) -> float:
        """How much larger the errors are than the data explain; 1 if they are not."""
        return self.around.confidence.inflation

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the traces."""
        return self.traced.prepared.notes if self.traced else ()

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
        whole = self.fit.model_copy(update={"entries": entries})
        return whole if self.traced is None else self._calibration(whole, self.traced)

    def _calibration(self, whole: Fit, traced: Traced) -> Calibration:
        """Return what the file of a fit to traces holds."""
        prepared, machine = traced.prepared, traced.prepared.machine
        request, chosen = prepared.request, prepared.base.settings
        entries = {}
        for one, column in zip(self.parameters, traced.samples.T, strict=True):
            free = one.parameter
            samples = tuple(free.clip(free.snap(float(value))) for value in column)
            entries[one.path] = whole.entries[one.path].model_copy(update={"samples": samples})
        contents = {
            "id": whole.id,
            "title": f"{machine.id} with {machine.adapter.id}, fitted to traces",
            "notes": "A description of the machine that was measured, as far as the traces tell.",
            "entries": entries,
            "traces": [
                FittedTrace(
                    name=name,
                    sha256=trace.sha256,
                    tool=f"{trace.header.tool.name} {trace.header.tool.version}".strip(),
                    device=trace.header.device.name,
                    points=len(trace.points),
                )
                for name, trace in prepared.traces.items()
            ],
            "curves": self.curves(),
            "made": Made(
                hcasim=__version__,
                command=request.command,
                testbed=machine.id,
                adapter=machine.adapter.id,
                stack=chosen.get("stack", ""),
                host=chosen.get("host", ""),
                mtu=machine.mtu,
                no_switch=chosen.get("switch") is False,
                switch=str(chosen.get("switch") or ""),
                seed=request.seed,
                loss=request.loss,
                floor_percent=round(100 * request.floor, 9),
                intervals=request.intervals,
                converged=self.converged,
                evaluations=self.evaluations,
                observations=len(self.residuals),
                held_out=len(traced.held),
                cost=float(f"{self.cost:.6g}"),
                inflation=float(f"{self.inflation:.6g}"),
                notes=prepared.notes,
            ),
        }
        if request.base.overrides:
            contents["settings"] = {
                path_in_fit(machine, path): text for path, text in request.base.overrides.items()
            }
        return Calibration.at(whole.file, contents)

    def to_toml(self) -> str:
        """Return the text of the file of the fit."""
        header = self._of_claims() if self.traced is None else self._of_traces(self.traced)
        return render_fit(self.result, [*header])

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        found: dict[str, Any] = {
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
        if self.traced is not None:
            result = self.result.model_dump()
            found |= {name: result[name] for name in ("made", "traces", "curves")}
            found["alternatives"] = [asdict(one) for one in self.alternatives]
            found["held_out"] = [one.to_dict() for one in self.traced.held]
        return found

    def _by_role(self) -> Iterator[tuple[str, Residual]]:
        yield from (("fitted", one) for one in self.residuals)
        yield from (("held out", one) for one in (self.traced.held if self.traced else ()))

    def curves(self) -> list[FittedCurve]:
        """Return how well each curve is met."""
        found: dict[tuple[str, str], list[Residual]] = {}
        for role, one in self._by_role():
            found.setdefault((role, one.observation.curve), []).append(one)
        return [_curve(name, role, part) for (role, name), part in found.items()]

    def tables(self) -> list[PageTable]:
        """Return the parameters, the observations or curves, the correlations and the ties."""
        numbered = [(str(n), one) for n, one in enumerate(self.parameters, start=1)]
        observed = _table(
            "Observations",
            ("claim", "statement", "published>", "simulated>", "error>"),
            [(one.ids, one.observation.statement, *one.cells) for one in self.residuals],
        )
        tables = [
            _table(
                self.title,
                ("no>", "parameter", "value>", "95 % interval>", "verdict"),
                [(n, *_cells(one)) for n, one in numbered],
            ),
            self._curves() if self.traced else observed,
            _table(
                "Correlation of the parameters",
                ("no>", *(f"{number}>" for number, _ in numbered)),
                [(n, *(f"{r:+.2f}" for r in one.correlation.values())) for n, one in numbered],
            ),
        ]
        if self.ties:
            columns = ("parameter", "tied to", "what the observations do not notice if it is free")
            ties = [(tie.path, tie.tied_to, tie.move) for tie in self.ties]
            tables.append(_table("Ties, each undone", columns, ties))
        return tables

    def _curves(self) -> PageTable:
        rows = []
        for one in self.curves():
            errors = (f"{e:+.2f} %" for e in (one.mean_error_percent, one.worst_error_percent))
            rows.append(
                (one.curve, one.role, str(one.points), *errors, f"{one.rms_deviations:.2f}")
            )
        columns = ("curve", "role", "points>", "mean error>", "worst>", "in deviations>")
        return _table("Curves", columns, rows)

    def points(self) -> PageTable:
        """Return each point, measured and simulated."""
        rows = []
        for role, one in self._by_role():
            names = one.observation.curve, one.observation.statement, role
            rows.append((*names, *one.cells, f"{one.deviations:+.1f}"))
        numbers = ("measured>", "simulated>", "error>", "in deviations>")
        return _table("Points", ("curve", "point", "role", *numbers), rows)

    def closing_lines(self) -> list[str]:
        """Return what the data cannot tell, what was left out, and a summary."""
        lines = [*self.notes]
        if self.traced is not None and self.converged:
            lines += self._doubts()
        lines += self._correlated()
        for path in dict.fromkeys(one.like for one in self.alternatives):
            others = [one.path for one in self.alternatives if one.like == path]
            lines.append(f"not freed, these would explain the same as {path}: {', '.join(others)}")
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

    def _doubts(self) -> Iterator[str]:
        """Say what speaks against the model."""
        missed = [
            f"{curve.curve} is not met: {curve.rms_deviations:.1f} deviations off (rms)"
            for curve in self.curves()
            if curve.role == "fitted" and curve.rms_deviations > FAR
        ]
        why = "the model may lack something, or the bounds are too tight"
        if not missed and self.inflation <= 1:
            why = "all curves are met there"
        for one in self.parameters:
            bounds = one.parameter.low, one.parameter.high
            if one.value in bounds and (one.value != one.parameter.start or one.verdict.known):
                yield f"{one.path} is at a bound of what was allowed: {why}"
        yield from missed
        yield from self._unmoved()
        if self.inflation > OPAQUE:
            yield (
                "the model does not describe these curves: its parameters say little of the machine"
            )

    def _unmoved(self) -> Iterator[str]:
        """Name the points that would be the same with any value of what was fitted."""
        moved = np.abs(self.around.per_unit) @ self.around.widths
        curves: dict[str, list[str]] = {}
        for residual, far in zip(self.residuals, moved, strict=True):
            one = residual.observation
            if far < one.deviation:
                curves.setdefault(one.curve, []).append(one.id.removeprefix(one.curve).strip())
        for curve, points in curves.items():
            where = ", ".join(filter(None, points))
            yield f"{curve}: what was fitted does not move {where}: something else limits them"

    def _correlated(self) -> Iterator[str]:
        for n, one in enumerate(self.parameters):
            for other in self.parameters[n + 1 :]:
                r = one.correlation[other.path]
                if abs(r) >= STRONG and one.verdict.identified and other.verdict.identified:
                    yield f"{one.path} and {other.path} are nearly collinear: correlation {r:+.2f}"

    def _of_traces(self, traced: Traced) -> Iterator[str]:
        """Say at the head of a file where its values come from."""
        request = traced.prepared.request
        yield f"Written by hcasim {__version__} from traces; it comes again with"
        yield f"    {request.command}"
        yield "Used by: hcasim show ID --calibration FILE, hcasim bench ... --calibration FILE"
        yield from ("", *self.method)
        yield "Errors of the points: of their samples, of the rounding of what was printed, and"
        yield f"{100 * request.floor:g} % for the model."
        yield from wrap(RULE, 96)
        yield "Samples: what the traces allow, in base units; those at one place go together."

    def _of_claims(self) -> Iterator[str]:
        yield f"Written by hcasim {__version__}; bounds, start, tied_to, title and notes by hand."
        yield "The rest comes again with"
        yield f"    hcasim calibrate {self.fit.id} -o calibration/fits/{self.fit.id}.toml"
        yield from ("", *self.method, "", "Observations, each number once:")
        cells = []
        for one in self.residuals:
            published, simulated, _ = one.cells
            cells.append((one.ids, published, f"fitted {simulated}", one.observation.statement))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield f"    {'  '.join(padded)}".rstrip()
        if self.ties:
            yield from ("", "Each tie undone: the move that the observations do not notice:")
            yield from (f"    {tie.path}: {tie.move}" for tie in self.ties)
        if strong := list(self._correlated()):
            yield from ("", *strong)


def _cells(one: Estimate) -> tuple[str, ...]:
    low, high = one.raw_interval
    return one.path, str(one.raw(one.value)), f"{low} to {high}", one.judgement


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Content]]) -> PageTable:
    """Return a table; columns of numbers have a > behind their names."""
    heads = [Column(one.removesuffix(">"), right=one.endswith(">")) for one in columns]
    return PageTable(title, heads, rows)


def _curve(name: str, role: str, residuals: Sequence[Residual]) -> FittedCurve:
    """Sum up the points of a curve."""
    errors = [one.error for one in residuals]
    squares = [one.deviations**2 for one in residuals]
    return FittedCurve(
        curve=name,
        role=role,
        points=len(errors),
        # No negative zero.
        mean_error_percent=round(100 * sum(errors) / len(errors), 3) + 0.0,
        worst_error_percent=round(100 * max(errors, key=abs), 3) + 0.0,
        rms_deviations=round(math.sqrt(sum(squares) / len(squares)), 3),
    )
