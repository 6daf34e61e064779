"""How far a result may be off follows from what is known of what binds it."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hcasim as hc
from hcasim.catalog import Machine, Parameter, Value
from hcasim.catalog.plausible import Doubts, Plausible, plausible
from hcasim.ground.quantities import band_fields, quantity_of
from hcasim.runs.certainty import MODEL, Bound, bound_of
from hcasim.runs.point import Point
from hcasim.workloads.result import Result

PAIR: Mapping[str, Any] = {"adapter": "connectx5", "jobs": 1, "cache": False}
QUICK: Mapping[str, Any] = {**PAIR, "iters": 200}
MACHINE = hc.machine("pair", adapter="connectx5")
NAMES = ("node0.cpu0", "node0.hca.port1.link", "node0.hca.send_engine", "node0.bus.upstream")
SHARES = st.dictionaries(st.sampled_from(NAMES), st.floats(0.01, 1), min_size=1)
BINDS = st.sampled_from(("", *NAMES))
STAGES = ("post_send", "doorbell", "gather data", "link", "switch", "poll CQ", "nobody knows")
STEPS = st.lists(st.tuples(st.sampled_from(STAGES), st.floats(1e-3, 10)), min_size=1)


def of_rate(machine: Machine, busy: Mapping[str, float], binds: str, rate: float) -> Bound:
    told = {"binds": binds, "resources": [{"name": n, "busy": one} for n, one in busy.items()]}
    found = bound_of(machine, {"size": 8, "rate_Mps": rate}, told)
    assert found is not None
    return found


def of_steps(machine: Machine, steps: list[tuple[str, float]]) -> Bound:
    told = {"stages": [{"stage": stage, "us": us} for stage, us in steps]}
    found = bound_of(machine, {"size": 8, "latency_us": sum(us for _, us in steps)}, told)
    assert found is not None
    return found


def with_ranges(times: float) -> Machine:
    """The machine with ranges that are so many times as wide."""

    def wider(one: Parameter[Value]) -> Plausible | None:
        found = plausible(one)
        if found is None:
            return None
        return found._replace(low=found.low / times, high=found.high * times)

    machine = MACHINE.model_copy()
    machine.__dict__["doubts"] = Doubts(machine.parameters, wider)
    return machine


WIDER = with_ranges(1.2)


@given(SHARES, BINDS, st.floats(0.01, 200), st.floats(0, 0.1))
def test_a_rate_lies_between_its_ends(
    busy: Mapping[str, float], binds: str, rate: float, error: float
) -> None:
    found = of_rate(MACHINE, busy, binds, rate)
    low, high = found.ends("rate_Mps", rate, error)
    assert 0 < low <= rate <= high
    without = found.ends("rate_Mps", rate)
    assert low <= without[0] <= without[1] <= high


@given(STEPS)
def test_a_latency_lies_between_its_ends(steps: list[tuple[str, float]]) -> None:
    found = of_steps(MACHINE, steps)
    low, high = found.ends("latency_us", 1.0)
    assert 0 < low <= 1 <= high < 3
    assert found.ends("bandwidth_MBps", 1.0) == (1 / found.high, 1 / found.low)


@given(SHARES, BINDS, st.floats(0.01, 200), STEPS)
def test_what_is_known_worse_lies_between_ends_farther_apart(
    busy: Mapping[str, float], binds: str, rate: float, steps: list[tuple[str, float]]
) -> None:
    pairs = [(of_rate(one, busy, binds, rate), of_steps(one, steps)) for one in (MACHINE, WIDER)]
    for near, far in zip(*pairs, strict=True):
        assert far.low <= near.low * (1 + 1e-9)
        assert far.high >= near.high * (1 - 1e-9)
    assert (
        of_steps(WIDER, [("gather data", 1.0)]).high
        > of_steps(MACHINE, [("gather data", 1.0)]).high
    )


def width(row: Mapping[str, Any], field: str = "rate_Mps") -> float:
    low, high = (row[name] for name in band_fields(field))
    assert low <= row[field] <= high
    return float(high / low)


def test_what_the_user_sets_is_known() -> None:
    (assumed,) = hc.bench("write_bw", "pair", size=8, **QUICK).rows
    assert (assumed["bound_by"], assumed["evidence"]) == ("node0.cpu0", "chosen")
    assert 2 < width(assumed) < 4
    one = {"stack.cycles.post_send": "140 cycles"}
    (less,) = hc.bench("write_bw", "pair", size=8, overrides=one, **QUICK).rows
    assert less["rate_Mps"] == assumed["rate_Mps"]
    assert width(less) < width(assumed)
    every = {
        one.path: one.text
        for one in MACHINE.parameters
        if one.path.startswith(("stack.cycles.", "stack.po", "host.core.", "host.cache."))
        and isinstance(one.value, int)
    }
    (known,) = hc.bench("write_bw", "pair", size=8, overrides=every, **QUICK).rows
    assert known["rate_Mps"] == assumed["rate_Mps"]
    assert width(known) < 0.75 * width(assumed)
    assert known["evidence"] == "published"


def test_what_specifications_bind_is_known_and_all_quantities_have_the_same_ends() -> None:
    found = hc.bench("write_bw", "liu2004", size="8,1M", qps=1, iters=50, jobs=1, cache=False)
    small, large = found.rows
    assert width(large) == pytest.approx((1 + MODEL) / (1 - MODEL), rel=0.01)
    assert large["evidence"] == "published"
    assert large["bound_by"].endswith("port1.link")
    for row in found.rows:
        assert width(row, "bandwidth_MBps") == pytest.approx(width(row))
    assert found.shown == (
        *("bandwidth_MBps", "bandwidth_MBps_low", "bandwidth_MBps_high"),
        *("rate_Mps", "rate_Mps_low", "rate_Mps_high", "bound_by", "evidence"),
    )
    assert found.fields == ("bandwidth_MBps", "rate_Mps")
    assert {*found.shown} <= {*found.to_csv().splitlines()[0].split(",")}
    assert "| Low | High | Bound by | Evidence |" in found.to_markdown()
    assert {*map(quantity_of, found.shown)} == {*found.fields, "bound_by", "evidence"}
    assert small["size"] == 8


@pytest.mark.parametrize(
    ("workload", "options"),
    [("write_bw", {"size": 64, "iters": 100}), ("read_lat", {"size": 8, "iters": 2000})],
)
def test_ends_are_those_of_a_run_that_leaves_nothing_out_and_of_one_that_explains(
    workload: str, options: Mapping[str, Any]
) -> None:
    runs = [
        hc.bench(workload, "pair", **PAIR, **options, **more)
        for more in ({}, {"exact": True}, {"explain": True})
    ]
    rows = [one.rows[0] for one in runs]
    field = runs[0].fields[0]
    for row in rows[1:]:
        assert row["bound_by"] == rows[0]["bound_by"]
        for name in (field, *band_fields(field)):
            assert row[name] == pytest.approx(rows[0][name], rel=5e-3)
    (told,) = runs[2].breakdowns
    names = [told["binds"], *(one["stage"] for one in told.get("stages", ()))]
    assert rows[2]["bound_by"] in names


def test_what_nothing_tells_of_is_said_to_be_unknown() -> None:
    (row,) = hc.bench("host_memory", "liu2004", jobs=1, cache=False).rows
    assert (row["bound_by"], row["evidence"]) == ("", "unknown")
    assert not [name for name in row if quantity_of(name) != name]
    (point,) = hc.Experiment("write_lat", "pair", {"size": 8, "iters": 10}).benchmark()
    assert isinstance(point, Point)
    assert point.with_ends(Result({"size": 8, "latency_us": 1.0}))["evidence"] == "unknown"
    recorded = point.run(lambda sim: sim.listeners.append(lambda *_: None))
    assert point.with_ends(recorded) == point.with_ends(point.run())


@pytest.mark.parametrize("field", ["latency_us", "rate_Mps"])
def test_what_simulating_may_be_off_comes_on_top(field: str) -> None:
    known = Bound(1.0, 1.0, "link", "published")
    assert known.ends(field, 2.0) == (2.0, 2.0)
    low, high = known.ends(field, 2.0, 0.1)
    assert (low, high) == (pytest.approx(2 / 1.1), pytest.approx(2.2))


def test_what_is_behind_a_packet_or_once_a_message_hardly_widens_that_of_a_long_one() -> None:
    (row,) = hc.bench("write_bw", "pair", size="1M", iters=50, **PAIR).rows
    assert width(row) < 1.06


def test_a_resource_says_what_is_known_of_its_own_parameters() -> None:
    of_gpu = {"size": "1M", "iters": 20, "memory": "gpu", "jobs": 1, "cache": False}
    (guessed,) = hc.bench("write_bw", "h20", **of_gpu).rows
    given = {"host.gpu.read_bandwidth": "14 GB/s"}
    (known,) = hc.bench("write_bw", "h20", overrides=given, **of_gpu).rows
    assert guessed["bound_by"] == known["bound_by"] == "node0.gpu.reads"
    assert (guessed["evidence"], known["evidence"]) == ("assumed", "published")
    assert width(known) < width(guessed)
    (writes,) = hc.bench("bw_wr", "pcie-bench-broadwell", size=64, jobs=1, cache=False).rows
    assert (writes["bound_by"], writes["evidence"]) == ("dma.writes", "fitted")


def test_a_long_message_is_bound_by_what_is_busy_while_it_is_sent() -> None:
    short, long = hc.bench("write_lat", "pair", size="8,4M", **QUICK).rows
    assert (short["bound_by"], long["bound_by"]) == ("doorbell", "node0.hca.port1.link")
    assert width(long, "latency_us") < 1.1 < width(short, "latency_us")


def test_collectives_are_bound_by_the_stage_that_takes_most_of_their_critical_path() -> None:
    how: Mapping[str, Any] = {"stack": "mvapich-0.9.5", "jobs": 1, "cache": False}
    short, long = hc.bench("osu_allreduce", "liu2004", size="8,1M", **how).rows
    assert (short["bound_by"], long["bound_by"]) == ("receive pipeline", "node0.hca.port1.link")
    assert width(short, "latency_us") < 1.6
