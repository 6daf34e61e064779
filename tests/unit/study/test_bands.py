"""Bands: what a result is over values that nobody has published."""

from collections.abc import Callable
from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.runs.experiment import Experiment
from hcasim.study.bands import banded, draw

ASKED = Experiment.of("write_lat", "liu2004", adapter="mt23108")
SPLITS = "adapter.bus.outstanding_splits"


@pytest.mark.check
def test_only_what_nobody_has_published_is_drawn_and_within_its_ends() -> None:
    drawn = draw([ASKED], 4)
    known = {one.path: one for one in ASKED.machine().parameters}
    assert known["adapter.bus.clock"].evidence == "spec"
    for (points,) in drawn.points:
        settings = points[0].machine.overrides
        assert "adapter.bus.clock" not in settings
        assert {known[path].evidence for path in settings} <= {"fitted", "chosen", "assumed"}
    for path, one in drawn.factors.items():
        values = {sample[path] for sample in drawn.values}
        assert len(values) > 1
        assert all(one.low <= value <= one.high for value in values)


Refused = Callable[[Callable[[int, bool], bool]], None]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Refuse machines of a benchmark by their split transactions, and whether else is drawn."""
    plain = Experiment.points

    def refuse(which: Callable[[int, bool], bool]) -> None:
        def points(self: Experiment) -> list[Any]:
            splits, drawn = int(self.overrides.get(SPLITS, 0)), len(self.overrides) > 1
            if self.workload == "read_lat" and which(splits, drawn):
                raise CatalogError(["no"])
            return plain(self)

        monkeypatch.setattr(Experiment, "points", points)

    return refuse


OTHER = Experiment.of("read_lat", "liu2004", adapter="mt23108")


def test_an_end_that_the_machine_cannot_have_is_left_out(refused: Refused) -> None:
    refused(lambda splits, drawn: splits == 4)
    path = "adapters.mt23108.bus.outstanding_splits"
    assert draw([ASKED], 2).factors[path].high == 4
    assert draw([OTHER], 2).factors[path].high == 2


def test_a_sample_that_one_machine_cannot_be_is_left_out_of_all(refused: Refused) -> None:
    every = draw([ASKED, OTHER], 6).points
    patient = [one for one in every if one[0][0].machine.overrides[SPLITS] == "1"]
    assert 2 <= len(patient) < 5
    refused(lambda splits, drawn: splits > 1 and drawn)
    assert draw([ASKED, OTHER], 6).points == tuple(patient)


def test_bands_of_fewer_than_two_machines_are_refused(refused: Refused) -> None:
    refused(lambda splits, drawn: drawn)
    with pytest.raises(CatalogError) as caught:
        draw([OTHER], 3)
    fault = "uncertainty: found 3, of which 0 can be machines; allowed: more samples"
    assert caught.value.faults == [fault]


def test_bands_lie_beside_their_number_around_it() -> None:
    row = {"size": 8, "latency_us": 5.0, "error_percent": 0.1}
    samples = [{"latency_us": 4.0}, {"latency_us": 4.5}, {"error": "refused"}]
    found = banded(row, samples)
    assert found == {
        "size": 8,
        "latency_us": 5.0,
        "latency_us_low": 4.0,
        "latency_us_high": 5.0,
        "error_percent": 0.1,
    }
    assert [*found][1:4] == ["latency_us", "latency_us_low", "latency_us_high"]


@pytest.mark.check
def test_a_sweep_has_bands_that_are_wide_where_much_is_unknown() -> None:
    found = hc.sweep(
        "write_bw",
        "liu2004",
        adapter=["mt25208", "mt23108"],
        size=65536,
        uncertainty=8,
        jobs=1,
        cache=False,
    )
    widths = []
    for row in found.rows:
        assert row["bandwidth_MBps_low"] <= row["bandwidth_MBps"] <= row["bandwidth_MBps_high"]
        widths.append(row["bandwidth_MBps_high"] / row["bandwidth_MBps_low"])
    # Nobody says what the MTU was, or how many split transactions the adapter on PCI-X may have.
    assert 1.05 < widths[0] < 1.2 < 1.5 < widths[1]
    assert found.samples == found.to_dict()["samples"] == 8
    assert {"testbeds.liu2004.mtu", "adapters.mt23108.bus.outstanding_splits"} < {*found.drawn}
    given = hc.sweep("write_bw", "liu2004", size=65536, mtu=1024, uncertainty=8, jobs=1)
    (row,) = given.rows
    assert "testbeds.liu2004.mtu" not in given.drawn
    assert row["bandwidth_MBps_high"] < 1.01 * row["bandwidth_MBps_low"]


def test_a_figure_shows_bands() -> None:
    found = hc.sweep("write_lat", "liu2004", size=[8, 64], uncertainty=2, jobs=1, cache=False)
    (band,) = found.plot().axes[0].collections
    ends = {round(y, 6) for _, y in band.get_paths()[0].vertices}
    for row in found.rows:
        assert {round(row["latency_us_low"], 6), round(row["latency_us_high"], 6)} <= ends


@pytest.mark.parametrize("count", [1, 0, -3, 2.5, True, "many"])
def test_bands_of_too_few_samples_are_refused(count: Any) -> None:
    with pytest.raises(CatalogError, match=r"uncertainty: found .*; allowed: 2 to 10000"):
        hc.sweep("write_lat", "liu2004", uncertainty=count)
