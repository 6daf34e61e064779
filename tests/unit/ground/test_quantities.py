"""What a row of results says, and what follows from it."""

from typing import get_args

import pytest

from hcasim.ground.quantities import (
    QUANTITIES,
    derivable,
    heading,
    measured,
    number,
    result,
    title,
    traced,
    written,
)
from hcasim.papers import claim
from hcasim.traces import Measured


def test_a_latency_says_what_one_message_after_the_other_carries() -> None:
    assert derivable(["latency_us"]) == ("latency_us", "bandwidth_MBps")
    row = {"size": 4096, "latency_us": 8.0}
    assert result(row, "bandwidth_MBps") == pytest.approx(512.0)
    assert result(row, "latency_us") == pytest.approx(8.0)
    assert derivable(["bandwidth_MBps"]) == ("bandwidth_MBps",)
    assert result({**row, "bandwidth_MBps": 900.0}, "bandwidth_MBps") == pytest.approx(900.0)


def test_a_share_of_time_is_no_trace_s_but_a_claim_s() -> None:
    keys = ["size", "qps", "communication_us", "buffers", "total_KiB", "overlap_percent"]
    assert measured(keys) == ("communication_us", "total_KiB", "overlap_percent")
    assert traced("overlap_percent") is None
    assert QUANTITIES["bandwidth"].factor("GB/s") * 1876.2 == pytest.approx(1.8762)


def test_a_result_is_written_with_significant_digits() -> None:
    times = {972.3591: "972.36", 0.95612: "0.9561", 0.00123456: "0.001235", 0.0: "0"}
    assert {value: written(value, "latency_us") for value in times} == times
    rates = {1.2712: "1.27 M/s", 0.5: "0.5000 M/s", 0.0779: "77.90 k/s", 0.0009277: "0.9277 k/s"}
    assert {value: written(value, "rate_Mps") for value in rates} == rates


def test_each_quantity_can_be_claimed_in_the_unit_of_its_row() -> None:
    for quantity in QUANTITIES.values():
        assert quantity.factor(quantity.unit) == 1.0
    bandwidth, memory = QUANTITIES["bandwidth"], QUANTITIES["memory"]
    assert bandwidth.factor("MiB/s") * 2**20 == pytest.approx(1e6)
    assert bandwidth.factor("Gbit/s") * 125 == 1
    assert memory.factor("MiB") * 1024 == 1


def test_a_claim_and_a_trace_know_the_quantities_of_the_table() -> None:
    assert set(get_args(claim.Quantity)) <= {n for n, one in QUANTITIES.items() if one.units}
    named = {name for name, one in QUANTITIES.items() if one.trace}
    assert set(get_args(Measured.model_fields["quantity"].annotation)) == named


def test_a_trace_holds_times_bandwidths_and_rates() -> None:
    held = {"latency_us": ("latency", ""), "registration_us": ("time", "registration")}
    held |= {"rate_Mps": ("rate", ""), "throughput_Mbps": None, "pinned_KiB": None}
    assert {key: traced(key) for key in held} == held


def test_titles_have_the_unit_and_numbers_of_sentences_four_digits() -> None:
    titles = {"latency_us": "Latency (us)", "work_queues_KiB": "Work queues (KiB)"}
    titles |= {"overlap_percent": "Overlap (%)", "rate_Mps": "Rate (M/s)"}
    assert {field: title(field) for field in titles} == titles
    assert (heading("rate_Mps"), heading("latency_us")) == ("Rate", "Latency (us)")
    numbers = [number(3.80012, "us"), number(-0.123456), number(12345.6, "MB/s"), number(0, "%")]
    assert numbers == ["3.8 us", "-0.1235", "12346 MB/s", "0 %"]
