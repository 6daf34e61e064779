"""A search for a machine ends where nothing better is known, also among numbers with steps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate import fit as trace_search
from hcasim.calibrate.fit import SEARCHES, fit_traces
from hcasim.calibrate.freeing import free_fit
from hcasim.calibrate.gathering import gather
from hcasim.calibrate.report import FitReport
from hcasim.calibrate.request import Prepared, Request, find_base
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point as Simulated
from hcasim.traces import Header, Measured, Point, Tool, Trace
from tests.unit.calibrate.toys import RECEIVE, SEND, run_curved

ENTRIES = "adapters.mt25208.sqpc.entries"
MISS = "adapters.mt25208.icm.latency"
ACK = "adapters.mt25208.ack.latency"
QPS = (1, 8, 16, 32, 48, 64, 80, 96, 128, 256)


def full(entries: int, qps: int) -> float:
    """Latency in microseconds: it is higher beyond what a cache holds."""
    return 5.0 + (3.0 if qps > entries else 0.0)


def run_full(trials: Sequence[Simulated]) -> list[dict[str, Any]]:
    return [
        {"latency_us": full(one.machine.adapter.sqpc.entries, one.options.qps)} for one in trials
    ]


def point(value: float, **options: Any) -> Point:
    one = Measured(quantity="latency", unit="ns", samples=(1000 * value,))
    return Point(workload="write_lat", options={"size": 8, **options}, measured=(one,))


def prepared(points: Sequence[Point], *free: str, **asked: Any) -> Prepared:
    base = Experiment.of("", "liu2004")
    request = Request((Path("a.jsonl"),), base, free, **asked)
    base, machine = find_base(base, mpi=False)
    traces = {"a.jsonl": Trace(Header(tool=Tool(name="perftest")), tuple(points), sha256="0f" * 32)}
    fit = free_fit(machine, free, {})
    return Prepared(request, traces, base, machine, fit, gather(traces, base, machine), ())


@pytest.mark.parametrize("kind", ["profile", "linear"])
@pytest.mark.parametrize("truth", [16, 32, 100, 200])
def test_the_entries_of_a_cache_are_found_wherever_the_search_sets_out(
    truth: int, kind: str
) -> None:
    points = [point(full(truth, qps), qps=qps) for qps in QPS]
    found = fit_traces(prepared(points, "adapter.sqpc.entries=8..256", intervals=kind), run_full)
    assert found.cost == 0
    if kind == "linear":
        return  # a straight model has no interval for this
    low, high = found[ENTRIES].interval
    assert low <= truth <= high
    # Nothing is known between two numbers of queue pairs.
    below = max(one for one in QPS if one <= truth)
    assert low <= below + 8


@pytest.mark.parametrize("kind", ["profile", "linear"])
@pytest.mark.parametrize(("truth", "miss"), [(20, 0.1), (20, 5.0), (40, 8.0), (100, 0.3)])
def test_entries_are_found_together_with_what_a_miss_costs(
    truth: int, miss: float, kind: str
) -> None:
    """Few cheap misses look like many dear ones where a search sets out."""

    def run(trials: Sequence[Simulated]) -> list[dict[str, Any]]:
        found = []
        for one in trials:
            adapter = one.machine.adapter
            missed = one.options.qps > adapter.sqpc.entries
            found.append({"latency_us": 3.0 + missed * adapter.icm.latency / 1e6})
        return found

    points = [point(3.0 + miss * (qps > truth), qps=qps) for qps in QPS]
    asked = prepared(
        points, "adapter.sqpc.entries=8..256", "adapter.icm.latency=0ns..9us", intervals=kind
    )
    found = fit_traces(asked, run)
    assert found.cost < 0.01
    low, high = found[MISS].interval
    assert low <= 1e6 * miss <= high
    assert max(one for one in QPS if one <= truth) <= found[ENTRIES].value + 8


def straight(*points: Point, **asked: Any) -> Prepared:
    return prepared(points or (point(1.8), point(1.864, qps=2)), "adapter.send.latency", **asked)


def test_a_search_sets_out_again_from_a_better_place(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, around, starts = trace_search.calibrate, trace_search.profiled, []
    cheaper = {SEND: 123_000, ACK: 777_000}

    def calibrated(*given: Any, search: Any, **named: Any) -> Any:
        starts.append(search.begin)
        return usual(*given, search=search, **named)

    def better_once(report: Any) -> Any:
        found = around(report)
        if len(starts) == 1:
            report.around.cheaper = cheaper
        return found

    monkeypatch.setattr(trace_search, "calibrate", calibrated)
    monkeypatch.setattr(trace_search, "profiled", better_once)
    points = (point(1.8), point(1.864, qps=2))
    asked = prepared(points, "adapter.send.latency", "adapter.ack.latency")
    found = fit_traces(asked, run_curved)
    assert starts == [None, cheaper]
    assert found.converged
    assert found.evaluations > found.around.objective.evaluations
    # What the data do not tell is as described, not as where the search set out again.
    assert found[ACK].value == found[ACK].parameter.start == 100_000
    assert str(found[ACK].verdict) == "not at all"


def test_what_is_always_bettered_is_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    around, times = trace_search.profiled, []

    def always_better(report: Any) -> Any:
        times.append(1)
        report.around.cheaper = {SEND: 1000 * len(times)}
        return around(report)

    monkeypatch.setattr(trace_search, "profiled", always_better)
    found: FitReport = fit_traces(straight(), run_curved)
    assert len(times) == SEARCHES
    assert not found.converged
    assert str(found[SEND].verdict) == "unknown: the search did not end"


def corner(trials: Sequence[Simulated]) -> list[dict[str, Any]]:
    """A model in which the slower of two decides, as where stages of a pipeline overlap."""
    found = []
    for one in trials:
        adapter = one.machine.adapter
        slower = max(adapter.send.latency, adapter.ack.latency, 300_000)
        found.append({"latency_us": slower / 1e6 * one.options.qps})
    return found


def test_a_profile_finds_a_corner_within_the_evaluations_that_were_announced() -> None:
    points = [point(0.7 * qps * (1 + 0.01 * (-1) ** qps), qps=qps) for qps in range(1, 9)]
    asked = prepared(points, "adapter.send.latency=0ns..9us", "adapter.ack.latency=0ns..9us")
    found = fit_traces(asked, corner)
    assert found[SEND].value == pytest.approx(700_000, rel=0.01)
    assert found[SEND].verdict.identified
    # The other may be as slow before it shows.
    assert found[ACK].interval[0] == 0
    assert found[ACK].interval[1] == pytest.approx(705_000, rel=0.05)
    least, most = asked.evaluations
    assert least <= found.evaluations <= most < 36


@pytest.mark.parametrize("kind", ["profile", "linear"])
def test_where_nothing_moves_as_many_evaluations_are_announced(kind: str) -> None:
    points = [point(0.3 * qps, qps=qps) for qps in range(1, 9)]
    free = "adapter.send.latency=0ns..300ns", "adapter.ack.latency=0ns..300ns"
    asked = prepared(points, *free, intervals=kind)
    found = fit_traces(asked, corner)
    assert found.evaluations == asked.evaluations[0]


def test_what_was_not_freed_and_would_explain_the_same_is_named() -> None:
    def run(trials: Sequence[Simulated]) -> list[dict[str, Any]]:
        found = []
        for one in trials:
            adapter, qps = one.machine.adapter, one.options.qps
            both = adapter.send.latency + adapter.receive.latency
            found.append({"latency_us": (both * qps + adapter.ack.latency * (qps > 4)) / 1e6})
        return found

    points = [point(1.5 * qps, qps=qps) for qps in range(1, 9)]
    found = fit_traces(prepared(points, "adapter.send.latency=0ns..9us"), run)
    (same,) = found.alternatives
    # What shows at some points only, as the acknowledgement does, is told apart.
    assert (same.path, same.like) == (RECEIVE, SEND)
    assert same.correlation == pytest.approx(1)
    said = f"not freed, these would explain the same as {SEND}: {RECEIVE}"
    assert said in found.closing_lines()
    assert found.to_dict()["alternatives"][0]["path"] == RECEIVE
