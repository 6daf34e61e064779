"""A search for a machine ends where nothing better is known, also among numbers with steps."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate import Trial
from hcasim.calibrate.freeing import free_fit
from hcasim.catalog import resolve
from hcasim.study import trace_search
from hcasim.study.evidence import Base, gather
from hcasim.study.trace_fit import TraceFit
from hcasim.study.trace_request import Prepared, Request
from hcasim.study.trace_search import SEARCHES, fit_traces
from hcasim.traces import Header, Measured, Point, Tool, Trace
from tests.unit.calibrate.toys import SEND, run_curved

ENTRIES = "adapters.mt25208.sqpc.entries"
QPS = (1, 8, 16, 32, 48, 64, 80, 96, 128, 256)


def full(entries: int, qps: int) -> float:
    """Latency in microseconds: it is higher beyond what a cache holds."""
    return 5.0 + (3.0 if qps > entries else 0.0)


def run_full(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    return [
        {"latency_us": full(one.machine.adapter.sqpc.entries, one.options.qps)} for one in trials
    ]


def point(value: float, **options: Any) -> Point:
    one = Measured(quantity="latency", unit="ns", samples=(1000 * value,))
    return Point(workload="write_lat", options={"size": 8, **options}, measured=(one,))


def prepared(points: Sequence[Point], *free: str, **asked: Any) -> Prepared:
    request = Request((Path("a.jsonl"),), "liu2004", free, **asked)
    base = Base(resolve("liu2004"), {})
    traces = {"a.jsonl": Trace(Header(tool=Tool(name="perftest")), tuple(points), sha256="0f" * 32)}
    evidence = gather(traces, base)
    return Prepared(request, traces, base, free_fit(base.machine, free, {}), evidence, ())


@pytest.mark.parametrize("kind", ["profile", "bootstrap", "linear"])
@pytest.mark.parametrize("truth", [16, 32, 100, 200])
def test_the_entries_of_a_cache_are_found_wherever_the_search_sets_out(
    truth: int, kind: str
) -> None:
    points = [point(full(truth, qps), qps=qps) for qps in QPS]
    found = fit_traces(
        prepared(points, "adapter.sqpc.entries=8..256", intervals=kind), run_full
    ).report
    assert found.cost == 0
    if kind == "linear":
        return  # a straight model has no interval for this
    low, high = found[ENTRIES].interval
    assert low <= truth <= high
    # Nothing is known between two numbers of queue pairs.
    below = max(one for one in QPS if one <= truth)
    assert low <= below + 8


def straight(*points: Point, **asked: Any) -> Prepared:
    return prepared(points or (point(1.8), point(1.864, qps=2)), "adapter.send.latency", **asked)


def test_a_search_sets_out_again_from_a_better_place(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, around, starts = trace_search.calibrate, trace_search.profiled, []

    def calibrated(fit: Any, *given: Any, **named: Any) -> Any:
        starts.append(fit.entries[SEND].start)
        return usual(fit, *given, **named)

    def better_once(report: Any) -> Any:
        found = around(report)
        return replace(found, cheaper={SEND: 123_000}) if len(starts) == 1 else found

    monkeypatch.setattr(trace_search, "calibrate", calibrated)
    monkeypatch.setattr(trace_search, "profiled", better_once)
    found = fit_traces(straight(), run_curved)
    assert starts == ["790 ns", "123 ns"]
    assert found.report.converged
    assert found.report.evaluations > found.report.local.objective.evaluations
    # What the description has is what it was.
    assert found.report[SEND].parameter.start == 790_000
    assert found.report.fit.entries[SEND].start == "790 ns"


def test_what_is_always_bettered_is_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    around, times = trace_search.profiled, []

    def always_better(report: Any) -> Any:
        times.append(1)
        return replace(around(report), cheaper={SEND: 1000 * len(times)})

    monkeypatch.setattr(trace_search, "profiled", always_better)
    found: TraceFit = fit_traces(straight(), run_curved)
    assert len(times) == SEARCHES
    assert not found.report.converged
    assert str(found.report[SEND].verdict) == "unknown: the search did not end"
