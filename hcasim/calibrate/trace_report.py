"""Fitting a machine to traces: parameters, how well each curve is met, and the file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from hcasim import __version__
from hcasim.calibrate.entries import path_in_fit
from hcasim.calibrate.estimate import Residual
from hcasim.calibrate.file.calibration import Calibration
from hcasim.calibrate.freeing import RULE
from hcasim.calibrate.report import FitReport, Table
from hcasim.calibrate.request import Prepared
from hcasim.calibrate.sampling import Samples
from hcasim.catalog.fits import FittedCurve, FittedTrace, Made, render_fit

OPAQUE = 5.0
"""Errors that are so many times larger than expected mean that the model lacks what matters."""

FAR = 4.0
"""A curve that is so many deviations off, rms, is named."""


@dataclass(frozen=True)
class TraceReport:
    """A fit to traces with all that is known of it.

    Parameters:
        prepared: what was asked for and the traces.
        report: the fit.
        before: what the base description gives for each fitted observation.
        held: the observations that were held out, as the fit has them.
        samples: values that the traces allow.
    """

    prepared: Prepared
    report: FitReport
    before: tuple[Residual, ...]
    held: tuple[Residual, ...]
    samples: Samples

    @property
    def converged(self) -> bool:
        """Whether the search ended by itself."""
        return self.report.converged

    def calibration(self) -> Calibration:
        """Return what the file holds."""
        request, machine = self.prepared.request, self.prepared.machine
        chosen, overrides = self.prepared.base.settings, request.base.overrides
        report = self.report
        samples = {}
        for one, column in zip(report.parameters, self.samples.values.T, strict=True):
            free = one.parameter
            samples[one.path] = tuple(free.clip(free.snap(float(value))) for value in column)
        contents = {
            "id": report.fit.id,
            "title": f"{machine.id} with {machine.adapter.id}, fitted to traces",
            "notes": "A description of the machine that was measured, as far as the traces tell.",
            "entries": {
                path: one.model_copy(update={"samples": samples[path]})
                for path, one in report.result.entries.items()
            },
            "traces": [
                FittedTrace(
                    name=name,
                    sha256=trace.sha256,
                    tool=f"{trace.header.tool.name} {trace.header.tool.version}".strip(),
                    device=trace.header.device.name,
                    points=len(trace.points),
                )
                for name, trace in self.prepared.traces.items()
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
                no_switch="switch" in chosen,
                seed=request.seed,
                loss=request.loss,
                floor_percent=round(100 * request.floor, 9),
                intervals=request.intervals,
                converged=report.converged,
                evaluations=report.evaluations,
                observations=len(report.residuals),
                held_out=len(self.held),
                cost=float(f"{report.cost:.6g}"),
                inflation=float(f"{report.inflation:.6g}"),
                notes=self.prepared.notes,
            ),
        }
        if overrides:
            contents["settings"] = {
                path_in_fit(machine, path): text for path, text in overrides.items()
            }
        return Calibration.at(report.fit.file, contents)

    def render(self) -> str:
        """Return the text of the calibration file."""
        return render_fit(self.calibration(), self._header())

    def _by_role(self) -> Iterator[tuple[str, Residual]]:
        yield from (("fitted", one) for one in self.report.residuals)
        yield from (("held out", one) for one in self.held)

    def curves(self) -> list[FittedCurve]:
        """Return how well each curve is met."""
        found: dict[tuple[str, str], list[Residual]] = {}
        for role, one in self._by_role():
            found.setdefault((role, one.observation.curve), []).append(one)
        return [_curve(name, role, part) for (role, name), part in found.items()]

    def tables(self) -> tuple[Table, ...]:
        """Return parameters, curves and correlations as tables."""
        parameters, _, correlations, *_ = self.report.tables()
        columns = ("curve", "role", "points", "mean error", "worst", "in deviations")
        rows = []
        for one in self.curves():
            errors = (f"{e:+.2f} %" for e in (one.mean_error_percent, one.worst_error_percent))
            rows.append(
                (one.curve, one.role, str(one.points), *errors, f"{one.rms_deviations:.2f}")
            )
        return parameters, Table("Curves", columns, rows, columns[2:]), correlations

    def points(self) -> Table:
        """Return each point, measured and simulated."""
        columns = ("curve", "point", "role", "measured", "simulated", "error", "in deviations")
        rows = []
        for role, one in self._by_role():
            names = one.observation.curve, one.observation.statement, role
            rows.append((*names, *one.cells, f"{one.deviations:+.1f}"))
        return Table("Points", columns, rows, columns[3:])

    def closing_lines(self) -> list[str]:
        """Return what the traces cannot tell, what was left out, and a summary."""
        found = self._doubts() if self.report.converged else []
        return [*self.prepared.notes, *found, *self.report.closing_lines()]

    def _doubts(self) -> list[str]:
        """Return what speaks against the model or the samples."""
        missed = [
            f"{curve.curve} is not met: {curve.rms_deviations:.1f} deviations off (rms)"
            for curve in self.curves()
            if curve.role == "fitted" and curve.rms_deviations > FAR
        ]
        why = "the model may lack something, or the bounds are too tight"
        if not missed and self.report.inflation <= 1:
            why = "all curves are met there"
        lines = []
        for one in self.report.parameters:
            bounds = one.parameter.low, one.parameter.high
            if one.value in bounds and (one.value != one.parameter.start or one.verdict.known):
                lines.append(f"{one.path} is at a bound of what was allowed: {why}")
        lines += missed
        if self.report.inflation > OPAQUE:
            lines.append(
                "the model does not describe these curves: its parameters say little of the machine"
            )
        if self.samples.poor:
            lines.append(
                f"the samples rest on {self.samples.support:.0f} places, which is few: bands of "
                "bench --uncertainty are rough; narrower bounds or fewer free parameters help"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the fit for JSON."""
        found = self.calibration().model_dump()
        return {
            **self.report.to_dict(),
            **{name: found[name] for name in ("made", "traces", "curves")},
            "held_out": [one.to_dict() for one in self.held],
        }

    def _header(self) -> list[str]:
        return [
            f"Written by hcasim {__version__} from traces; it comes again with",
            f"    {self.prepared.request.command}",
            "Used by: hcasim show ID --calibration FILE, hcasim bench ... --calibration FILE",
            "",
            *self.report.method,
            "Errors of the points: of their samples, of the rounding of what was printed, and",
            f"{100 * self.prepared.request.floor:g} % for the model.",
            *wrap(RULE, 96),
            "Samples: values that the traces allow, in base units; those at one place go together.",
        ]


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
