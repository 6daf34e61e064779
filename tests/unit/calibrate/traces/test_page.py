"""The page of a fit to traces holds all of it, needs nothing else, and shows names as text."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.traces.fit import fit_traces
from hcasim.calibrate.traces.freeing import free_fit
from hcasim.calibrate.traces.observations import Base, gather
from hcasim.calibrate.traces.page import page
from hcasim.calibrate.traces.report import TraceReport
from hcasim.calibrate.traces.request import Prepared, Request
from hcasim.catalog import resolve
from hcasim.runs.point import Point as Simulated
from hcasim.traces import Header, Measured, Point, Tool, Trace
from tests.unit.calibrate.toys import RECEIVE, RESPONDER, SEND, run_curved

Make = Callable[..., TraceReport]
SIZES = (8, 64, 512)
SCRIPT = "<script>alert('1')&\""


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
    ) -> TraceReport:
        if points is None:
            points = measured("write_lat", 1.7, SIZES) + measured("read_lat", 4.0, SIZES)
        free = asked.pop("free", ("adapter.send.latency",))
        request = Request((Path(name),), "liu2004", free, intervals="linear", **asked)
        base = Base(resolve("liu2004"), {})
        traces = {name: Trace(Header(tool=Tool(name="perftest")), tuple(points), sha256="0f" * 32)}
        gathered = gather(traces, base)
        fit = free_fit(base.machine, free, {})
        return fit_traces(Prepared(request, traces, base, fit, gathered, gathered.notes), run)

    return make


class Page(HTMLParser):
    """What a browser finds: elements with attributes, text and comments."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.comments: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data.strip())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def test_the_page_needs_no_other_file(made: Make) -> None:
    found = Page(page(made(holdout=("read_lat",))))
    assert not {tag for tag, _ in found.elements} & {"script", "link", "img", "iframe", "object"}
    for _, attributes in found.elements:
        assert not attributes.keys() & {"src", "srcset", "onload", "data"}
        for name, value in attributes.items():
            if name.endswith("href"):
                assert value is not None
                assert value.startswith("#"), value
            assert all(one == "#" for one in re.findall(r"url\((.)", value or ""))
    assert "@import" not in found.text
    assert "url(" not in found.text.replace("url(#", "")


def test_ids_of_the_drawings_do_not_meet(made: Make) -> None:
    found = Page(page(made(holdout=("read_lat",))))
    ids = Counter(one["id"] for _, one in found.elements if "id" in one)
    assert ids.most_common(1)[0][1] == 1
    used = {value for _, one in found.elements for key, value in one.items() if key[-4:] == "href"}
    assert used
    assert {str(one).removeprefix("#") for one in used} <= ids.keys()


def test_each_curve_is_drawn_measured_fitted_and_as_described(made: Make) -> None:
    found = Page(page(made(holdout=("read_lat",))))
    assert found.count("svg") == found.count("figure") == 2
    words = Counter(found.comments)
    assert words["write_lat"] == words["read_lat (held out)"] == 1
    assert words["measured, ± 2 deviations"] == words["fitted"] == 2
    # What was held out is not simulated before the fit.
    assert words["base description"] == 1
    assert words["deviations"] == words["Message Size (Bytes)"] == 2


def test_the_lines_of_a_drawing_are_those_of_the_fit(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hcasim.calibrate.traces import page as fit_page

    figures: list[Any] = []
    new = fit_page.new_figure
    monkeypatch.setattr(fit_page, "new_figure", lambda: figures.append(new()) or figures[-1])
    fit = made()
    page(fit)
    upper, lower = figures[0].axes
    lines = {one.get_label(): one for one in upper.lines}
    after, before = fit.report.residuals[:3], fit.before[:3]
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
    html = page(fit)
    (value,) = (str(one.raw(one.value)) for one in fit.report.parameters)
    assert f"<td>{SEND}</td>" in html
    assert f'<td class="n">{value}</td>' in html
    assert html.count("<td>held out</td>") == 1 + 3
    for one in (*fit.report.residuals, *fit.held):
        assert f'<td class="n">{100 * one.error:+.2f} %</td>' in html
        assert f'<td class="n">{one.published}</td>' in html
    found = Page(html)
    assert found.count("table") == 4
    assert '<tr><td class="n">1</td><td class="n">+1.00</td></tr>' in html
    assert "Points fitted: 3; held out: 3." in html
    assert "a.jsonl: sha256 " + "0f" * 32 in html


def test_each_verdict_is_said_in_words(made: Make) -> None:
    text = Page(page(made())).text
    assert f"{SEND} is determined by " in text
    assert "The search ended by itself." in text
    # The model has no pipeline of the receiver.
    free = ("adapter.send.latency", "adapter.receive.latency")
    assert f"{RECEIVE} is not determined at all: within its bounds everything fits." in (
        Page(page(made(free=free))).text
    )
    sum_only = made(
        measured("read_lat", 4.0, SIZES), free=("adapter.send.latency", "adapter.responder.latency")
    )
    text = Page(page(sum_only)).text
    assert f"{SEND} is not determined by itself, only in combination with {RESPONDER}." in text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict(False, (), "above"), "is determined only from above: its interval ends"),
        (Verdict(False, ended=False), "is unknown: the search did not end"),
    ],
)
def test_verdicts_that_leave_an_end_open_are_said(verdict: Verdict, words: str, made: Make) -> None:
    fit = made()
    judged = tuple(replace(one, verdict=verdict) for one in fit.report.parameters)
    shown = replace(fit, report=replace(fit.report, parameters=judged))
    assert f"{SEND} {words}" in Page(page(shown)).text


def test_a_search_that_did_not_end_is_no_fit(made: Make) -> None:
    fit = made()
    stopped = replace(fit, report=replace(fit.report, converged=False))
    assert "The search did not end by itself: these values are not a fit." in page(stopped)


def test_names_are_shown_as_text(made: Make) -> None:
    fit = made(name=f"{SCRIPT}.jsonl", holdout=("read_lat",))
    named = [
        replace(
            one,
            observation=replace(
                one.observation, curve=f"{SCRIPT} curve", statement=f"{SCRIPT} point"
            ),
        )
        for one in fit.report.residuals
    ]
    (one,) = fit.report.parameters
    other = replace(
        one,
        parameter=replace(one.parameter, path=f"{SCRIPT} other"),
        verdict=Verdict(identified=False, partners=(f"{SCRIPT} partner",)),
    )
    one = replace(
        one,
        parameter=replace(one.parameter, path=f"{SCRIPT} parameter"),
        claims=(f"{SCRIPT} claim",),
        correlation={f"{SCRIPT} parameter": 1.0, f"{SCRIPT} other": 0.0},
    )
    other = replace(other, correlation=one.correlation)
    strange = replace(
        fit,
        prepared=replace(fit.prepared, notes=(f"{SCRIPT} note",)),
        report=replace(fit.report, parameters=(one, other), residuals=tuple(named)),
    )
    html = page(strange)
    assert "<script" not in html
    found = Page(html)
    assert found.count("script") == 0
    kinds = ("curve", "point", "parameter", "other", "claim", "partner", "note")
    for kind in kinds:
        assert f"{SCRIPT} {kind}" in found.text, kind
    # The title, the command and the list of traces.
    assert f"fitted to {SCRIPT}.jsonl" in found.text
    assert f"{SCRIPT}.jsonl: sha256 " in found.text
    assert strange.prepared.request.command in found.text


@pytest.mark.parametrize("holdout", [(), ("read_lat",)])
def test_one_point_of_a_curve_is_enough(holdout: tuple[str, ...], made: Make) -> None:
    points = measured("write_lat", 1.7, (8,))
    points += measured("read_lat", 4.0, (8,)) if holdout else []
    found = Page(page(made(points, holdout=holdout)))
    assert found.count("svg") == 1 + len(holdout)
    assert f"Points fitted: 1; held out: {len(holdout)}." in found.text


def test_a_point_far_off_is_within_its_drawing(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from hcasim.calibrate.traces import page as fit_page

    limits: list[tuple[float, float]] = []
    draw = fit_page._draw

    def kept(*given: Any) -> Any:
        figure = draw(*given)
        limits.append(figure.axes[1].get_ylim())
        return figure

    monkeypatch.setattr(fit_page, "_draw", kept)

    def wrong(trials: Any) -> list[dict[str, Any]]:
        return [{"latency_us": 50.0 if one.options.size == 8 else 2.0} for one in trials]

    fit = made(measured("write_lat", 1.7, SIZES), run=wrong)
    page(fit)
    worst = max(abs(one.error / one.observation.tolerance) for one in fit.report.residuals)
    assert worst > 100
    assert limits == [(pytest.approx(-1.1 * worst), pytest.approx(1.1 * worst))]


def test_the_same_fit_gives_the_same_page(made: Make) -> None:
    assert page(made()) == page(made())


def test_points_are_drawn_in_the_order_of_their_sizes(made: Make) -> None:
    asked: list[Simulated] = []

    def run(trials: Any) -> list[dict[str, Any]]:
        asked.extend(trials)
        return run_curved(trials)

    upwards = measured("write_lat", 1.7, SIZES)
    svgs = [
        re.findall(r"<svg.*?</svg>", page(made(points, run=run)), re.DOTALL)
        for points in (upwards, upwards[::-1])
    ]
    assert svgs[0] == svgs[1]
    assert {one.options.size for one in asked} == {*SIZES}
