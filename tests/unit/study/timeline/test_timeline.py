"""A timeline shows each block's work, and requests whose stages add up to what is measured."""

import json
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.runs.benchmark import Benchmark, run_benchmark
from hcasim.runs.experiment import Experiment
from hcasim.study.timeline.recording import timeline
from hcasim.study.timeline.tracks import Choice
from hcasim.study.timeline.watching import Timeline
from tests.rig import WRITE, Rig
from tests.trace_processor import queried

SERIAL = ("port1 link", "bus upstream", "bus downstream", "bus bus", "memory", "port1")

Slice = tuple[int, int, str, dict[str, Any]]


def traced(
    workload: str, testbed: str, choice: Choice | None = None, **options: Any
) -> tuple[bytes, Benchmark]:
    """The timeline of a run, and what it measures."""
    parts: list[bytes] = []
    shown = Timeline(parts.append, choice)
    found = run_benchmark(
        Experiment.of(workload, testbed, **options).benchmark(), listen=shown.follow
    )
    shown.finish()
    return b"".join(parts), found


def slices(trace: bytes) -> dict[tuple[str, str], list[Slice]]:
    """Begin and end in ps, name and arguments of the slices, by part of the machine and track."""
    events = json.loads(trace)["traceEvents"]
    names = {
        (one["name"], one["pid"], one.get("tid")): one["args"]["name"]
        for one in events
        if one["ph"] == "M" and one["name"] in ("process_name", "thread_name")
    }
    found = defaultdict(list)
    for one in events:
        if one["ph"] == "X":
            part = names["process_name", one["pid"], None]
            track = names["thread_name", one["pid"], one["tid"]]
            args = one["args"]
            start = args["start_ps"]
            found[part, track].append((start, start + args["dur_ps"], one["name"], args))
    return found


def ways(trace: bytes) -> dict[int, list[Slice]]:
    """Of each operation the whole, and its stages in order."""
    found = defaultdict(list)
    for (_, track), some in slices(trace).items():
        if track.startswith("qp "):
            for one in some:
                found[one[3]["operation"]].append(one)
    return {number: [some[0], *sorted(some[1:])] for number, some in found.items()}


def followed(whole: Slice, steps: list[Slice]) -> int:
    """Return how long a path takes, whose steps follow each other from its begin to its end."""
    now = whole[0]
    for start, end, _, _ in steps:
        assert start == now < end
        now = end
    assert now == whole[1]
    return now - whole[0]


@pytest.mark.parametrize(
    ("workload", "testbed", "more", "size"),
    [
        ("write_lat", "liu2004", {}, "64K"),
        ("write_lat", "liu2004", {"adapter": "mt23108"}, "1"),
        ("write_lat", "rashti2007", {}, "64K"),
        ("send_lat", "liu2004", {}, "256K"),
        ("write_lat", "qdr-containers", {}, "1"),
        ("write_lat", "pair", {}, "1"),
        ("write_lat", "pair-roce", {}, "64K"),
    ],
)
def test_the_stages_of_a_round_trip_add_up_to_what_is_measured(
    workload: str, testbed: str, more: dict[str, Any], size: str
) -> None:
    trace, found = traced(workload, testbed, size=size, iters=20, warmup=5, **more)
    # The last round trip is like all that are reported.
    last = sorted(ways(trace).items())[-2:]
    whole_ps = sum(followed(whole, stages) for _, (whole, *stages) in last)
    assert whole_ps == round(found.curve.rows[0]["latency_us"] * 2e6)


@pytest.mark.parametrize("workload", ["write_lat", "send_lat", "read_lat"])
def test_the_stages_of_a_request_are_those_that_are_explained(workload: str) -> None:
    options: dict[str, Any] = {"size": "64K", "iters": 20, "warmup": 5}
    trace, _ = traced(workload, "liu2004", **options)
    explained = run_benchmark(
        Experiment.of(workload, "liu2004", explain=True, **options).benchmark(), jobs=1
    )
    # That of the last message, which the adapter has not done with when the run ends, has no name.
    whole, *stages = [*ways(trace).values()][-2]
    assert whole[2].endswith(" 65536 B")
    assert [(name, (end - start) / 1e6) for start, end, name, _ in stages] == [
        (one["stage"], one["us"]) for one in explained.breakdowns[0]["stages"]
    ]


@pytest.mark.parametrize("workload", ["read_lat", "atomic_lat"])
def test_the_stages_of_a_read_add_up_to_what_is_measured(workload: str) -> None:
    options = {"size": "64K"} if workload == "read_lat" else {}
    trace, found = traced(workload, "liu2004", iters=20, warmup=5, **options)
    whole, *stages = ways(trace)[max(ways(trace))]
    assert followed(whole, stages) == round(found.curve.rows[0]["latency_us"] * 1e6)


@pytest.mark.parametrize("adapter", ["mt25208", "mt23108"])
def test_slices_of_a_track_follow_each_other(adapter: str) -> None:
    trace, _ = traced("write_bw", "liu2004", adapter=adapter, size="64K", iters=20, exact=True)
    found = slices(trace)
    assert not any(track.startswith(f"{one} (") for _, track in found for one in SERIAL)
    for (_, track), some in found.items():
        if track.startswith("qp "):
            continue
        before = 0
        for start, end, name, _ in sorted(some, key=lambda one: one[:2]):
            assert before <= start <= end, (track, name)
            before = end


def test_the_slices_of_the_wire_are_the_time_that_it_was_busy() -> None:
    parts: list[bytes] = []
    shown = Timeline(parts.append)
    rig = Rig()
    shown.follow(rig.sim)
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    rig.exchange(qp, a, a.request(WRITE, b, 3000))
    shown.finish()
    found = slices(b"".join(parts))
    busy = rig.cluster.sim.resources.busy_ps()
    for name in ("node0.bus.downstream", "node0.bus.upstream", "node0.memory"):
        part, _, track = name.partition(".")
        some = found[part, track.replace(".", " ")]
        assert sum(end - start for start, end, _, _ in some) == busy[name] > 0


def test_the_trace_processor_follows_a_message_from_post_to_poll() -> None:
    trace, found = traced("write_lat", "liu2004", size="64K")
    spans = (
        "select sum(extract_arg(arg_set_id, 'args.dur_ps')) from slice where depth = {} "
        "and extract_arg(arg_set_id, 'args.operation') in (7, 8) and track_id in (select "
        "thread_track.id from thread_track join thread using (utid) where thread.name = 'qp 1')"
    )
    lost, arrows, ends, whole, stages, counters = queried(
        trace,
        "select name, value from stats where severity != 'info' and value > 0",
        "select distinct i.name, o.name from flow f join slice i on i.id = f.slice_out "
        "join slice o on o.id = f.slice_in",
        "select distinct s.name from slice s where s.id in (select slice_in from flow) "
        "and s.id not in (select slice_out from flow)",
        spans.format(0),
        spans.format(1),
        "select distinct name from process_counter_track order by name",
    )
    assert lost == []
    followed = dict(arrows)
    assert followed["post_send"] == "doorbell"
    assert followed["send pipeline"] == "packet"
    assert followed["data write"] == "poll memory"
    assert ends == [("poll memory",)]
    (latency_ps,) = whole[0]
    assert latency_ps == stages[0][0] == round(found.curve.rows[0]["latency_us"] * 2e6)
    assert ("bus read tags free",) in counters


def test_a_part_of_a_run_is_what_lies_in_it() -> None:
    options: dict[str, Any] = {"size": "64K", "iters": 20, "exact": True}
    _, whole = traced("write_bw", "liu2004", **options)
    choice = Choice(100_000_000, 200_000_000, {0})
    trace, found = traced("write_bw", "liu2004", choice, **options)
    shown = slices(trace)
    assert {part for part, _ in shown} == {"node0"}
    every = [one for some in shown.values() for one in some]
    assert all(start <= choice.end_ps and end >= choice.begin_ps for start, end, _, _ in every)
    assert len(every) > 300
    assert found.curve.rows == whole.curve.rows


def test_all_that_is_wrong_with_a_timeline_is_said(tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as caught:
        timeline("write_lat", "liu2004", tmp_path / "x.txt", time="9us..1us", nodes="0,9", size=8)
    ending, time, node = caught.value.faults
    assert "allowed endings: .json and .json.gz" in ending
    assert time.startswith("time: found 9 us..1 us, which ends before it begins")
    assert "found '9'; allowed: numbers of nodes from 0 to 3" in node
    assert list(tmp_path.iterdir()) == []


@pytest.mark.check
def test_a_run_ten_times_as_long_needs_no_more_memory() -> None:
    def peak(iters: int) -> int:
        shown = Timeline(len)
        job = Experiment.of("write_bw", "liu2004", size="4K", iters=iters, exact=True).benchmark()
        tracemalloc.start()
        run_benchmark(job, listen=shown.follow)
        shown.finish()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(1)
    assert peak(1500) < 1.2 * peak(150)


def test_values_alone_are_written_as_they_come() -> None:
    written: list[bytes] = []
    shown = Timeline(written.append)
    for number in range(10_000):
        shown.level("node0.bus.tags", number, number % 7)
    assert b"".join(written).count(b'"ph":"C"') >= 8_000
    shown.finish()
    assert b"".join(written).count(b'"ph":"C"') == 10_000


def test_pauses_have_a_track_and_marks_a_counter() -> None:
    small = {"switch.memory.marking.kmin": "5000 B", "switch.memory.marking.kmax": "10000 B"}
    small |= {"switch.memory.size": "1500000 B", "switch.memory.alpha": "1 %"}
    how = {"adapter": "connectx6", "switch": "spectrum-lossless", "overrides": small}
    trace, found = traced("incast", "ideal-100g", size=2**16, nodes=3, **how)
    paused = {key: some for key, some in slices(trace).items() if key[1] == "port1 link paused"}
    assert paused.keys() <= {("node1", "port1 link paused"), ("node2", "port1 link paused")}
    assert 0 < sum(map(len, paused.values())) <= found.counters["pause_frames"]
    assert {name for some in paused.values() for _, _, name, _ in some} == {"priority 0"}
    assert all(begin < end for some in paused.values() for begin, end, _, _ in some)
    counters = [one for one in json.loads(trace)["traceEvents"] if one["ph"] == "C"]
    marks = [one["args"]["marks"] for one in counters if "marks" in one["args"]]
    assert marks == [*range(1, found.counters["switch_marks"] + 1)]


def test_marks_of_a_subnet_have_a_counter() -> None:
    switch = {"switch": "quantum-congestion-control"}
    switch |= {"overrides": {"switch.congestion_control.marking_rate": "0"}}
    trace, found = traced("incast", "apt", size=2**15, nodes=4, iters=2, **switch)
    counters = [one for one in json.loads(trace)["traceEvents"] if one["ph"] == "C"]
    marks = [one["args"]["marks"] for one in counters if "marks" in one["args"]]
    assert 0 < max(marks) == found.counters["switch_marks"]
