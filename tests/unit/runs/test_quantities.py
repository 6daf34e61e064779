"""What a row of results says, and what follows from it."""

import pytest

from hcasim.runs.quantities import derivable, result


def test_a_latency_says_what_one_message_after_the_other_carries() -> None:
    assert derivable(["latency_us"]) == ("latency_us", "bandwidth_MBps")
    row = {"size": 4096, "latency_us": 8.0}
    assert result(row, "bandwidth_MBps") == pytest.approx(512.0)
    assert result(row, "latency_us") == pytest.approx(8.0)


def test_a_measured_bandwidth_is_not_derived() -> None:
    assert derivable(["bandwidth_MBps", "rate_Mps"]) == ("bandwidth_MBps", "rate_Mps")
    row = {"size": 4096, "latency_us": 8.0, "bandwidth_MBps": 900.0}
    assert result(row, "bandwidth_MBps") == pytest.approx(900.0)
