"""Time series of queues, pauses, marks and rates agree with what a run has counted."""

from collections import defaultdict
from itertools import pairwise
from math import ceil
from typing import Any

import pytest

from hcasim.runs.benchmark import Benchmark, run_benchmark
from hcasim.runs.experiment import Experiment
from hcasim.study.series import HEAD, Series

EVERY_US = 5
SMALL = {"switch.memory.size": "2000000 B", "switch.memory.alpha": "1 %"}
MARKS = {"switch.memory.marking.kmin": "50000 B", "switch.memory.marking.kmax": "100000 B"}

Lines = dict[tuple[str, str], list[tuple[float, float]]]
"""Times in us and values, by what they are of and where."""


def looked_at(workload: str, testbed: str, **options: Any) -> tuple[Lines, Benchmark]:
    parts: list[bytes] = []
    series = Series(parts.append, EVERY_US * 1_000_000)
    points = Experiment.of(workload, testbed, **options).benchmark()
    found = run_benchmark(points, listen=series.follow, profile=True)
    series.finish()
    assert parts[0] == HEAD
    assert len(parts) == 1 + series.lines
    lines: Lines = defaultdict(list)
    for part in parts[1:]:
        time, what, where, value = part.decode().rstrip("\n").split(",")
        lines[what, where].append((float(time), float(value)))
    return lines, found


def incast(**more: Any) -> tuple[Lines, Benchmark]:
    lossless = {"adapter": "connectx6", "switch": "spectrum-lossless", "overrides": SMALL | MARKS}
    return looked_at("incast", "ideal-100g", size=2**18, nodes=3, **(lossless | more))


def test_a_series_ends_where_messages_are_lost_for_good() -> None:
    memory = {"switch.memory.size": "1 MiB", "switch.memory.alpha": "100 %"}
    small = SMALL | {"switch.memory.profile": "tail-drop"} | memory
    _, found = incast(connection="UC", iters=3, overrides=small)
    assert found.counters["switch_discards"] > 0


def test_what_is_looked_at_adds_up_to_what_is_counted() -> None:
    lines, found = incast()
    counters = found.counters
    assert lines["marks_count", "switch0"][-1][1] == counters["switch_marks"] > 0
    queue = [value for _, value in lines["queue_bytes", "switch0.port1 priority 0"]]
    assert 50_000 < max(queue) < 2_000_000
    assert queue[-1] == 0
    for values in lines.values():
        assert all(a != b for (_, a), (_, b) in pairwise(values))
    # Flows begin at once, and nothing is written of a last interval that is like that before.
    whole = EVERY_US * ceil(found.rows[0]["completion_max_us"] / EVERY_US)
    lowest = list[float]()
    for node in (1, 2):
        rates = lines["flow_Gbps", f"node{node}.qp1 to node0"]
        # A rate is that since the look before.
        begins = [EVERY_US * (ceil(time / EVERY_US) - 1) for time, _ in rates]
        spans = [after - begin for begin, after in pairwise([*begins, whole])]
        sent = sum(value * span for (_, value), span in zip(rates, spans, strict=True))
        assert sent * 1000 / 8 == pytest.approx(2**18, rel=1e-3)
        limits = [value for _, value in lines["limit_Gbps", f"node{node}.qp1 to node0"]]
        assert limits[0] == pytest.approx(100)
        lowest.append(min(limits))
    # The rate has been cut to the half, and has grown by up to a step since.
    assert 50 <= min(lowest) < 52


@pytest.mark.parametrize("offset", [0.002, 0.9])
def test_no_flow_is_faster_than_its_link_in_the_last_interval_either(offset: float) -> None:
    # The last acknowledgement comes this share of an interval after the look before.
    given: dict[str, Any] = {"size": 2**18, "nodes": 2}
    _, found = looked_at("incast", "ideal-100g", **given)
    took = round(found.rows[0]["completion_max_us"] * 1_000_000)
    series = Series((parts := list[bytes]()).append, every := round(took / (3 + offset)))
    points = Experiment.of("incast", "ideal-100g", **given).benchmark()
    run_benchmark(points, listen=series.follow)
    series.finish()
    rates = [float(one.split(b",")[3]) for one in parts if b",flow_Gbps," in one]
    assert len(rates) > 1
    assert 0 < max(rates) <= 100, every


def test_pauses_are_seen_while_they_last() -> None:
    lines, found = incast(overrides=SMALL)
    assert found.counters["pause_frames"] > 0
    seen = {where: values for (what, where), values in lines.items() if what == "paused"}
    assert {where.rpartition(" ")[2] for where in seen} == {"0"}
    assert {value for values in seen.values() for _, value in values} == {0, 1}


def test_messages_shorter_than_a_packet_count_as_long_as_they_are() -> None:
    lines, found = looked_at("write_bw", "liu2004", size=500, iters=2000)
    rates = lines["flow_Gbps", "node0.qp1 to node1"]
    begins = [EVERY_US * (ceil(time / EVERY_US) - 1) for time, _ in rates]
    whole = max(time for values in lines.values() for time, _ in values)
    spans = [after - begin for begin, after in pairwise([*begins, whole])]
    sent = sum(value * span for (_, value), span in zip(rates, spans, strict=True))
    assert sent * 1000 / 8 == pytest.approx(found.counters["port_xmit_data"], rel=0.02)


def test_priorities_that_nothing_uses_are_not_paused() -> None:
    # An adapter that is behind pauses all eight.
    usual: dict[str, Any] = {"switch": "spectrum-lossless", "size": 2**18, "iters": 8}
    lines, _ = looked_at("write_bw", "hux", **usual)
    paused = [where for what, where in lines if what == "paused"]
    assert paused
    assert {where.rpartition(" ")[2] for where in paused} == {"0"}


@pytest.mark.parametrize("testbed", ["ideal-100g", "liu2004"])
def test_looking_changes_nothing_and_takes_an_event_for_each_look(testbed: str) -> None:
    size, nodes = 2**18, 3
    lines, found = looked_at("incast", testbed, size=size, nodes=nodes)
    points = Experiment.of("incast", testbed, size=size, nodes=nodes).benchmark()
    plain = run_benchmark(points, profile=True)
    assert found.rows == plain.rows
    times = {time for values in lines.values() for time, _ in values}
    (cost,) = found.costs
    assert cost.calls["Series"] <= max(times) / EVERY_US + 3
