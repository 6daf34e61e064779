"""An experiment says what is asked of the simulator, and can be changed, varied and told apart."""

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError, resolve

ASKED = hc.Experiment.of("write_lat", "liu2004", size=[8, 64], iters=10)


def test_its_points_are_each_value_with_each_other() -> None:
    varied = ASKED.with_(qps=[1, 2])
    assert [(one.options.size, one.options.qps) for one in varied.benchmark()] == [
        (8, 1),
        (8, 2),
        (64, 1),
        (64, 2),
    ]
    assert [one.workload for one in ASKED.points()] == ["write_lat", "write_lat"]


def test_it_is_varied_by_names_and_by_paths() -> None:
    every = [*ASKED.vary(mtu=[256, 1024], **{"adapter.send.latency": ["500 ns", "1 us"]})]
    assert len(every) == len(set(every)) == 4
    assert [one.machine().mtu for one in every] == [256, 256, 1024, 1024]
    assert every[-1].overrides == {"adapter.send.latency": "1 us"}


def test_what_was_set_goes_before_what_is_put_under_it() -> None:
    asked = ASKED.with_(overrides={"adapter.send.latency": "1 us"})
    under = asked.under({"adapter.send.latency": "2 us", "link.cable_length": "3 m"})
    assert under.overrides == {"adapter.send.latency": "1 us", "link.cable_length": "3 m"}


def test_equal_experiments_have_one_digest() -> None:
    assert hc.Experiment.of("write_lat", "liu2004", size=[8, 64], iters=10, mtu=None) == ASKED
    assert ASKED.digest != ASKED.with_(iters=11).digest
    assert ASKED.digest != hc.Experiment("write_lat", resolve("liu2004"), ASKED.settings).digest


def test_bench_runs_one_and_changes_it() -> None:
    found = hc.bench(ASKED, "sur2005", jobs=1, size=8)
    assert (found.machine.id, [row["size"] for row in found.rows]) == ("sur2005", [8])


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(CatalogError) as caught:
        hc.Experiment.of("write_lta", None, size="x").benchmark()
    first, second, third = caught.value.faults
    assert "did you mean 'write_lat'?" in first
    assert second.startswith("size: found 'x'; allowed: ")
    assert third == "testbed: found none; allowed: an id or a file"
