"""Points of traces become observations, or are left out with the reason."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.calibrate.gathering import Observations, gather
from hcasim.calibrate.request import find_base
from hcasim.runs.experiment import Experiment
from hcasim.traces import Header, Measured, Point, Port, Tool, Trace

Gather = Callable[..., Observations]


def point(workload: str, samples: tuple[float, ...] = (5000.0,), **options: Any) -> Point:
    one = Measured(quantity="latency", unit="ns", samples=samples)
    return Point(workload=workload, options=options, measured=(one,))


@pytest.fixture
def gathered() -> Gather:
    """Return what some points are to liu2004, or to another testbed."""

    def make(*points: Point, port: Port | None = None, **base: Any) -> Observations:
        header = Header(tool=Tool(name="perftest"), port=port or Port())
        asked = Experiment.of("", base.pop("testbed", "liu2004"), mtu=base.get("mtu"))
        found = find_base(asked, base.get("mpi", False))
        return gather({"a": Trace(header, points)}, *found, 0.02)

    return make


def test_a_point_is_simulated_as_it_was_measured(gathered: Gather) -> None:
    found = gathered(
        point("write_lat", (4000.0, 5000.0, 6000.0), size=64, qps=4, iters=500, mtu=2048)
    )
    (one,) = found.observations
    (asked,) = one.experiments
    assert (asked.workload, asked.testbed) == ("write_lat", "liu2004")
    assert asked.settings == {"adapter": "mt25208", "size": 64, "qps": 4, "iters": 500, "mtu": 2048}
    assert (one.field, float(one.published), one.unit) == ("latency_us", 5.0, "us")
    assert one.error == pytest.approx(one.tolerance * 5.0)
    assert one.error is not None
    assert one.error > 0.1
    assert one.curve == "write_lat, qps 4"


def test_no_more_iterations_are_run_than_usual(gathered: Gather) -> None:
    (one,) = gathered(point("write_lat", size=8, iters=10**9, warmup=10**8)).observations
    (point_,) = one.experiments[0].benchmark()
    assert (point_.options.iters, point_.options.warmup) == (10_000, 1000)


@pytest.mark.parametrize(
    ("left", "note"),
    [
        (point("osu_put_bw", size=8), "left out 1 point of osu_put_bw: this workload is not"),
        (
            point("write_lat", size=8, completion="event"),
            "left out 1 point of write_lat: completion 'event' is not simulated",
        ),
        (
            point("window_bw", size=8, tx_depth=64),
            "left out 1 point of window_bw: tx_depth 64 is not simulated",
        ),
        (point("read_lat", size=8, inline=True), "inline True is not simulated"),
        (point("write_lat", size="8"), "write_lat: size: found '8'; allowed: such as 8"),
        (point("write_lat"), "left out 1 point of write_lat: size: missing"),
        (point("write_lat", size=0), "size: found 0; allowed: 1 B to"),
        (point("imb_bcast", size=0), "imb_bcast: a collective without data sends nothing"),
        (point("write_lat", size=8, mtu=4096), "mtu: found 4096; allowed: 256, 512, 1024 or 2048"),
        (point("write_lat", (0.0,), size=8), "write_lat: found no number above 0"),
        (point("atomic_lat", size=64), "size: found 64; allowed: 8"),
    ],
)
def test_what_is_not_simulated_is_left_out_by_name(
    gathered: Gather, left: Point, note: str
) -> None:
    found = gathered(left, point("write_lat", size=8))
    assert len(found.observations) == 1
    assert note in found.notes[0]


def test_an_empty_message_has_a_latency_and_no_bandwidth(gathered: Gather) -> None:
    (alone,) = gathered(point("osu_latency", size=0), mpi=True).observations
    assert (alone.field, alone.size) == ("latency_us", 0)
    rate = Measured(quantity="bandwidth", unit="MB/s", samples=(0.0,))
    found = gathered(
        Point(workload="imb_sendrecv", options={"size": 0}, measured=(rate,)), mpi=True
    )
    assert found.observations == ()
    assert "left out 1 point of imb_sendrecv: found no number above 0" in found.notes


def test_of_what_follows_from_each_other_one_counts(gathered: Gather) -> None:
    both = Point(
        workload="window_bw",
        options={"size": 65536},
        measured=(
            Measured(quantity="rate", unit="M/s", samples=(0.0148,)),
            Measured(quantity="bandwidth", unit="MB/s", samples=(970.0,)),
        ),
    )
    (one,) = gathered(both).observations
    assert one.field == "bandwidth_MBps"


def test_the_times_of_a_registration_count_each(gathered: Gather) -> None:
    names = ("registration", "deregistration")
    times = tuple(Measured(quantity="time", unit="ns", name=n, samples=(9000.0,)) for n in names)
    found = gathered(Point(workload="reg_mr", options={"size": 4096}, measured=times))
    assert [one.field for one in found.observations] == [f"{name}_us" for name in names]


def test_repeats_of_a_point_are_pooled_and_the_floor_enters_once(gathered: Gather) -> None:
    runs = [point("write_lat", (4900.0, 5000.0, 5100.0), size=8) for _ in range(100)]
    (single,) = gathered(runs[0]).observations
    found = gathered(*runs, point("write_lat", size=64))
    pool, other = found.observations
    assert [pool.id, other.id] == ["write_lat 8", "write_lat 64"]
    assert single.error is not None
    assert pool.error is not None
    # The floor is 2 % of 5 us; what the samples add to it is a tenth.
    assert pool.error**2 - 0.1**2 == pytest.approx((single.error**2 - 0.1**2) / 100)
    assert "100 measurements are repeats: pooled, they count as 1" in found.notes


def test_other_options_are_no_repeats(gathered: Gather) -> None:
    found = gathered(point("write_lat", size=8), point("write_lat", size=8, mtu=256))
    assert [one.id for one in found.observations] == ["write_lat 8", "write_lat 8 #2"]


def test_the_mtu_of_the_port_counts_unless_one_is_chosen(gathered: Gather) -> None:
    port = Port(layer="infiniband", mtu=256)
    (seen,) = gathered(point("write_lat", size=8), port=port).observations
    (chosen,) = gathered(point("write_lat", size=8), port=port, mtu=512).observations
    assert [one.experiments[0].settings["mtu"] for one in (seen, chosen)] == [256, 512]


@pytest.mark.parametrize("mtu", [1024, 4096, 1500, 9000])
def test_a_path_mtu_says_nothing_of_ethernet(mtu: int, gathered: Gather) -> None:
    """That of verbs is not the one of its frames, which stays that of the testbed."""
    port = Port(layer="ethernet", mtu=mtu)
    found = gathered(
        point("write_lat", size=8),
        point("write_lat", size=16, mtu=mtu),
        port=port,
        testbed="rashti2007",
    )
    assert all("mtu" not in one.experiments[0].settings for one in found.observations)
    (chosen,) = gathered(
        point("write_lat", size=8), port=port, testbed="rashti2007", mtu=9000
    ).observations
    assert chosen.experiments[0].settings["mtu"] == 9000


def test_an_interrupted_trace_is_said_to_be_one(gathered: Gather) -> None:
    found = gathered(point("write_lat", size=8))
    assert found.notes == ("a: was interrupted; what it holds counts",)
