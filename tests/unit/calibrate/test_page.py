"""The document of a fit to traces holds all of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.fit import fit_traces
from hcasim.calibrate.freeing import free_fit
from hcasim.calibrate.gathering import gather
from hcasim.calibrate.page import document
from hcasim.calibrate.report import FitReport, Traced
from hcasim.calibrate.request import Prepared, Request, find_base
from hcasim.pages.document import Code, Document, Figure, Section, Table, Text
from hcasim.runs.experiment import Experiment
from hcasim.traces import Header, Measured, Point, Tool, Trace
from tests.unit.calibrate.toys import QUEUE, SEND, run_curved

Make = Callable[..., FitReport]
SIZES = (8, 64, 512)


def measured(workload: str, latency_us: float, sizes: tuple[int, ...]) -> list[Point]:
    """Samples of latencies that grow with the size by 1 us per 1000 bytes."""
    return [
        Point(
            workload=workload,
            options={"size": size},
            measured=(
                Measured(
                    quantity="latency",
                    unit="ns",
                    samples=tuple(1000 * latency_us + size + one for one in (-5.0, 0.0, 5.0)),
                ),
            ),
        )
        for size in sizes
    ]


@pytest.fixture
def made() -> Make:
    """Fit a model that takes no time to a trace of writes and reads."""

    def make(
        points: list[Point] | None = None,
        name: str = "a.jsonl",
        run: Any = run_curved,
        **asked: Any,
    ) -> FitReport:
        if points is None:
            points = measured("write_lat", 1.7, SIZES) + measured("read_lat", 4.0, SIZES)
        free = asked.pop("free", ("adapter.send.latency",))
        base = Experiment.of("", "liu2004")
        request = Request((Path(name),), base, free, intervals="linear", **asked)
        base, machine = find_base(base, mpi=False)
        traces = {name: Trace(Header(tool=Tool(name="perftest")), tuple(points), sha256="0f" * 32)}
        gathered = gather(traces, base, machine)
        fit = free_fit(machine, free, {})
        prepared = Prepared(request, traces, base, machine, fit, gathered, gathered.notes)
        return fit_traces(prepared, run)

    return make


class Page:
    """What a document holds, wherever it stands."""

    def __init__(self, found: Document) -> None:
        parts = [one for one in found.blocks if isinstance(one, Section)]
        blocks = [*found.blocks, *(one for part in parts for one in part.blocks)]
        self.lines = [one.text for one in blocks if isinstance(one, Text | Code)]
        self.figures = {one.caption: one.drawing for one in blocks if isinstance(one, Figure)}
        self.tables = {one.title: one for one in blocks if isinstance(one, Table)}

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def traced(fit: FitReport) -> Traced:
    assert fit.traced is not None
    return fit.traced


def page(fit: FitReport) -> Page:
    return Page(document(fit))


def labels(axes: Any) -> list[str]:
    return [one.get_text() for one in axes.get_legend().get_texts()]


def test_each_curve_is_drawn_measured_fitted_and_as_described(made: Make) -> None:
    found = page(made(holdout=("read_lat",))).figures
    assert [*found] == ["write_lat", "read_lat (held out)"]
    drawn = [labels(figure.axes[0]) for figure in found.values()]
    # What was held out is not simulated before the fit.
    assert [sorted(one) for one in drawn] == [
        ["base description", "fitted", "measured, ± 2 deviations"],
        ["fitted", "measured, ± 2 deviations"],
    ]
    for caption, figure in found.items():
        assert figure.axes[0].get_title() == caption
        assert figure.axes[1].get_ylabel() == "deviations"
        assert figure.axes[1].get_xlabel() == "Message Size (Bytes)"


def test_the_lines_of_a_drawing_are_those_of_the_fit(
    made: Make,
) -> None:
    fit = made()
    upper, lower = page(fit).figures["write_lat"].axes
    lines = {one.get_label(): one for one in upper.lines}
    after, before = fit.residuals[:3], traced(fit).before[:3]
    assert [*lines["fitted"].get_xdata()] == [*SIZES]
    assert [*lines["fitted"].get_ydata()] == [one.simulated for one in after]
    assert [*lines["base description"].get_ydata()] == [one.simulated for one in before]
    assert [one.simulated for one in before] != [one.simulated for one in after]
    assert [*upper.containers[0].lines[0].get_ydata()] == pytest.approx([1.708, 1.764, 2.212])
    (bars,) = upper.containers[0].lines[2]
    for bar, one in zip(bars.get_segments(), after, strict=True):
        assert one.observation.error is not None
        assert bar[1, 1] - bar[0, 1] == pytest.approx(4 * one.observation.error)
    (parts,) = (one for one in lower.lines if len(one.get_xdata()) == 3)
    expected = [one.error / one.observation.tolerance for one in after]
    assert [*parts.get_ydata()] == expected
    low, high = lower.get_ylim()
    assert low < min(expected)
    assert high > max(expected)


def test_tables_hold_parameters_curves_and_every_point(made: Make) -> None:
    fit = made(holdout=("read_lat",))
    found = page(fit)
    (value,) = (str(one.raw(one.value)) for one in fit.parameters)
    parameters, correlations, curves, points = found.tables.values()
    assert [(row[1], row[2]) for row in parameters.rows] == [(SEND, value)]
    assert [*correlations.rows] == [("1", "+1.00")]
    assert [row[1] for row in curves.rows] == ["fitted", "held out"]
    assert [(row[2], row[3], row[5]) for row in points.rows] == [
        (role, one.cells[0], one.cells[2])
        for role, several in (("fitted", fit.residuals), ("held out", traced(fit).held))
        for one in several
    ]
    numbers = {column.title for column in points.heads if column.right}
    assert numbers == {"measured", "simulated", "error", "in deviations"}
    assert "The search ended by itself. Points fitted: 3; held out: 3." in found.lines
    assert traced(fit).prepared.request.command in found.lines
    assert "a.jsonl: sha256 " + "0f" * 32 in found.lines
    assert {*fit.closing_lines()} <= {*found.lines}
    assert document(fit).title.endswith(", fitted to a.jsonl")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict(True), "is determined by write_lat, read_lat."),
        (Verdict(False), "is not determined at all: within its bounds everything fits."),
        (
            Verdict(False, (QUEUE,)),
            f"is not determined by itself, only in combination with {QUEUE}.",
        ),
        (Verdict(False, (), "above"), "is determined only from above: its interval ends"),
        (Verdict(False, ended=False), "is unknown: the search did not end"),
    ],
)
def test_each_verdict_is_said_in_words(verdict: Verdict, words: str, made: Make) -> None:
    fit = made()
    judged = tuple(replace(one, verdict=verdict) for one in fit.parameters)
    shown = replace(fit, parameters=judged, converged=False)
    assert f"{SEND} {words}" in page(shown).text
    assert "The search did not end by itself: these values are not a fit." in page(shown).text


def test_a_point_far_off_is_within_its_drawing(made: Make) -> None:
    def wrong(trials: Any) -> list[dict[str, Any]]:
        return [{"latency_us": 50.0 if one.options.size == 8 else 2.0} for one in trials]

    fit = made(measured("write_lat", 1.7, SIZES), run=wrong)
    worst = max(abs(one.error / one.observation.tolerance) for one in fit.residuals)
    assert worst > 100
    limits = page(fit).figures["write_lat"].axes[1].get_ylim()
    assert limits == (pytest.approx(-1.1 * worst), pytest.approx(1.1 * worst))


def test_points_that_nothing_fitted_moves_are_named(made: Make) -> None:
    still = "what was fitted does not move 8, 64, 512: something else limits them"
    lines = made(free=("adapter.responder.latency",)).closing_lines()
    assert f"write_lat: {still}" in lines
    assert f"read_lat: {still}" not in lines
    assert not any("does not move" in line for line in made().closing_lines())
