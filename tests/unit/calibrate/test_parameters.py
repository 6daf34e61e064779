"""The free parameters of a fit have bounds, and take those along that are tied to them."""

from typing import Any

import pytest

from hcasim.calibrate.parameters import free_parameters
from hcasim.catalog import CatalogError, Fit, FittedValue, list_ids, load_fit
from tests.unit.calibrate.toys import RECEIVE, SEND, MakeFit


def faults(fit: Fit) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        free_parameters(fit)
    return caught.value.faults


def test_a_parameter_sets_what_is_tied_to_it(make_fit: MakeFit) -> None:
    (one,) = free_parameters(make_fit({RECEIVE: SEND, SEND: (100, 2000)}))
    assert one.path == SEND
    assert one.paths == (SEND, RECEIVE)
    assert (one.low, one.high) == (100_000, 2_000_000)


def test_the_search_sets_out_from_the_middle_or_from_where_it_is_told(make_fit: MakeFit) -> None:
    (one,) = free_parameters(make_fit({SEND: (0, 3)}))
    assert one.start == 1500
    told = FittedValue(value="0 ns", bounds=("0 ns", "1 us"), start="600 ns")
    (one,) = free_parameters(make_fit({SEND: told}))
    assert one.start == 600_000


def test_times_are_rounded_to_nanoseconds_and_kept_within_the_bounds(make_fit: MakeFit) -> None:
    (one,) = free_parameters(
        make_fit({SEND: FittedValue(value="0 ns", bounds=("0 ns", "2000300 ps"))})
    )
    assert one.rounded(499.0) == 0
    assert one.rounded(501.0) == 1000
    assert one.rounded(2_001_000.0) == 2_000_300
    assert one.rounded(-700.0) == 0


@pytest.mark.parametrize(("high", "rounded"), [("1 us", 7000), ("100 ns", 7200), ("9 ns", 7250)])
def test_times_between_narrow_bounds_are_rounded_less(
    make_fit: MakeFit, high: str, rounded: int
) -> None:
    (one,) = free_parameters(make_fit({SEND: FittedValue(value="0 ns", bounds=("0 ns", high))}))
    assert one.rounded(7250.0) == rounded


def test_rates_are_rounded_to_what_their_bounds_make_out(make_fit: MakeFit) -> None:
    path = "hosts.xeon-e7520.memory.bandwidth"
    wide = FittedValue(value="1 GB/s", bounds=("100 MB/s", "10 GB/s"))
    (one,) = free_parameters(make_fit({path: wide}))
    assert one.rounded(1_000_434_565) == 1_000_400_000
    narrow = FittedValue(value="1 GB/s", bounds=("1 GB/s", "1001 MB/s"))
    (one,) = free_parameters(make_fit({path: narrow}))
    assert one.rounded(1_000_434_565) == 1_000_434_600


def test_sizes_stay_multiples_of_what_they_must_be(make_fit: MakeFit) -> None:
    path = "hosts.xeon-e7520.pcix_bridge.completion_burst"
    (one,) = free_parameters(
        make_fit({path: FittedValue(value="128 B", bounds=("128 B", "1024 B"))})
    )
    assert one.start == 512
    assert one.snap(700.0) == 640
    assert one.rounded(700.0) == 640


def test_all_entries_without_bounds_are_named_at_once(make_fit: MakeFit) -> None:
    fit = make_fit({SEND: FittedValue(value="1 ns"), RECEIVE: FittedValue(value="1 ns")})
    found = faults(fit)
    assert [fault.partition(": missing")[0] for fault in found] == [
        f"invented.toml: entries.{SEND}.bounds",
        f"invented.toml: entries.{RECEIVE}.bounds",
    ]
    assert 'allowed: the range to search, such as ["0 ns", "2 us"]' in found[0]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (FittedValue(value="1 ns", bounds=("2 ns", "2 ns")), "bounds: found 2 ns to 2 ns"),
        (
            FittedValue(value="1 ns", bounds=("-1 ns", "2 ns")),
            "bounds: found '-1 ns'; allowed: values",
        ),
        (FittedValue(value="1 ns", bounds=("1 ns", "2 parsecs")), "with the unit 'parsecs'"),
        (FittedValue(value="1 ns", bounds=("1 ns", "3 ns"), start="4 ns"), "start: found '4 ns'"),
        (
            FittedValue(value="1 ns", bounds=("1 ns", "3 ns"), start=2),
            "start: found 2 without a unit",
        ),
    ],
)
def test_bounds_and_start_must_make_sense(
    make_fit: MakeFit, entry: FittedValue, message: str
) -> None:
    (fault,) = faults(make_fit({SEND: entry}))
    assert fault.startswith(f"invented.toml: entries.{SEND}.")
    assert message in fault


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("adaptors.mt25208.send.latency", "did you mean 'adapters'?"),
        ("adapters.mt25209.send.latency", "did you mean 'mt25208'?"),
        ("adapters.mt25208.sent.latency", "did you mean 'send.latency'?"),
        ("adapters.mt25208.firmware_mode", "which cannot be fitted"),
        ("adapters.mt25208.bus.lanes", "which cannot be fitted"),
        ("testbeds.liu2004.nodes", "unknown parameter"),
    ],
)
def test_a_path_must_name_a_quantity(make_fit: MakeFit, path: str, message: str) -> None:
    (fault,) = faults(make_fit({path: (0, 1)}))
    assert fault.startswith(f"invented.toml: entries.{path}: ")
    assert message in fault


def test_what_is_tied_must_have_the_same_unit(make_fit: MakeFit) -> None:
    (fault,) = faults(make_fit({SEND: (0, 1), "adapters.mt25208.sqpc.entry": SEND}))
    assert "which has another unit" in fault


def test_an_empty_fit_is_a_fault(make_fit: MakeFit) -> None:
    assert faults(make_fit({})) == [
        "invented.toml: entries: found none with a value; nothing can be fitted"
    ]


@pytest.mark.parametrize("identifier", list_ids("calibrations"))
def test_no_shipped_fit_lets_a_latency_be_negative(identifier: str) -> None:
    found: list[Any] = list(free_parameters(load_fit(identifier)))
    assert found
    assert all(one.low >= 0 for one in found)
