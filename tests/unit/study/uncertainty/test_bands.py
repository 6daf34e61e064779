"""Bands: what a result is over values that nobody has published."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.study.uncertainty.bands import banded
from hcasim.study.uncertainty.draws import draw


def build(settings: Any) -> None:
    hc.machine("liu2004", adapter="mt23108", overrides=settings)


@pytest.mark.check
def test_only_what_nobody_has_published_is_drawn_and_within_its_ends() -> None:
    machine = hc.machine("liu2004", adapter="mt23108")
    draws = draw([(machine, build)], 4)
    known = {one.path: one for one in machine.parameters}
    assert known["adapter.bus.clock"].evidence == "spec"
    for settings in draws.settings(machine):
        assert "adapter.bus.clock" not in settings
        assert {known[path].evidence for path in settings} <= {"fitted", "chosen", "assumed"}
        build(settings)
    for path, one in draws.factors.items():
        values = {sample[path] for sample in draws.samples}
        assert len(values) > 1
        assert all(one.low <= value <= one.high for value in values)


@pytest.mark.check
def test_the_same_seed_draws_the_same() -> None:
    machine = hc.machine("liu2004", adapter="mt23108")
    once, again, other = (draw([(machine, build)], 3, seed) for seed in (1, 1, 2))
    assert once.samples == again.samples != other.samples


def test_an_end_that_the_machine_cannot_have_is_left_out() -> None:
    machine = hc.machine("liu2004", adapter="mt23108")

    def impatient(settings: Any) -> None:
        if settings.get("adapter.bus.outstanding_splits") == "4":
            raise CatalogError(["no"])

    path = "adapters.mt23108.bus.outstanding_splits"
    assert draw([(machine, build)], 2).factors[path].high == 4
    assert draw([(machine, impatient)], 2).factors[path].high == 2


def test_a_sample_that_one_machine_cannot_be_is_left_out_of_all() -> None:
    machine = hc.machine("liu2004", adapter="mt23108")
    draws = draw([(machine, build)], 6)
    path = "adapter.bus.outstanding_splits"
    patient = [one for one in draws.settings(machine) if int(one[path]) > 1]

    def impatient(settings: Any) -> str:
        if int(settings[path]) > 1:
            raise CatalogError(["no"])
        return str(settings[path])

    assert 0 < len(patient) < 5
    built = draws.built([(machine, dict), (machine, impatient)])
    assert len(built) == 6 - len(patient)
    assert all(settings[path] == splits == "1" for settings, splits in built)


def test_bands_of_fewer_than_two_machines_are_refused() -> None:
    machine = hc.machine("liu2004", adapter="mt23108")
    draws = draw([(machine, build)], 3)

    def refused(settings: Any) -> None:
        raise CatalogError(["no"])

    with pytest.raises(CatalogError) as caught:
        draws.built([(machine, refused)])
    fault = "uncertainty: found 3, of which 0 can be machines; allowed: more samples"
    assert caught.value.faults == [fault]


def test_bands_lie_beside_their_number_around_it() -> None:
    row = {"size": 8, "latency_us": 5.0, "error_percent": 0.1}
    samples = [{"latency_us": 4.0}, {"latency_us": 4.5}, {"error": "refused"}]
    found = banded(row, samples)
    assert found == {
        "size": 8,
        "latency_us": 5.0,
        "latency_p5_us": 4.0,
        "latency_p95_us": 5.0,
        "error_percent": 0.1,
    }
    assert [*found][1:4] == ["latency_us", "latency_p5_us", "latency_p95_us"]


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
        assert row["bandwidth_p5_MBps"] <= row["bandwidth_MBps"] <= row["bandwidth_p95_MBps"]
        widths.append(row["bandwidth_p95_MBps"] / row["bandwidth_p5_MBps"])
    # Nobody says what the MTU was, or how many split transactions the adapter on PCI-X may have.
    assert 1.05 < widths[0] < 1.2 < 1.5 < widths[1]
    assert found.samples == found.to_dict()["samples"] == 8
    assert {"testbeds.liu2004.mtu", "adapters.mt23108.bus.outstanding_splits"} < {*found.drawn}
    given = hc.sweep("write_bw", "liu2004", size=65536, mtu=1024, uncertainty=8, jobs=1)
    (row,) = given.rows
    assert "testbeds.liu2004.mtu" not in given.drawn
    assert row["bandwidth_p95_MBps"] < 1.01 * row["bandwidth_p5_MBps"]
    panel = found.plot().axes[0]
    assert len(panel.collections) == 0  # one size has no line
    without = hc.sweep("write_bw", "liu2004", adapter="mt25208", size=65536, jobs=1)
    assert without.drawn == ()
    assert without.samples == 0
    assert "bandwidth_p5_MBps" not in without.columns


def test_a_figure_shows_bands() -> None:
    found = hc.sweep("write_lat", "liu2004", size=[8, 64], uncertainty=2, jobs=1, cache=False)
    (band,) = found.plot().axes[0].collections
    ends = {round(y, 6) for _, y in band.get_paths()[0].vertices}
    for row in found.rows:
        assert {round(row["latency_p5_us"], 6), round(row["latency_p95_us"], 6)} <= ends


@pytest.mark.parametrize("count", [1, 0, -3, 2.5, True, "many"])
def test_bands_of_too_few_samples_are_refused(count: Any) -> None:
    with pytest.raises(CatalogError, match=r"uncertainty: found .*; allowed: 2 to 10000"):
        hc.sweep("write_lat", "liu2004", uncertainty=count)


def test_a_machine_of_python_is_refused() -> None:
    with pytest.raises(CatalogError, match="uncertainty: found with a machine of Python"):
        hc.sweep("write_lat", hc.machine("liu2004"), uncertainty=2)
