"""What perftest printed of a real adapter: a trace and claims have the same numbers."""

from pathlib import Path

import pytest

from hcasim.papers.loader import load_scenario
from hcasim.traces import read_trace

TRACES = Path(__file__).resolve().parents[2] / "calibration/traces"
CLAIMS = {
    "write_lat": "modern/connectx3-write-lat",
    "write_bw": "modern/connectx3-write-bw",
    "read_bw": "modern/connectx3-read-bw",
}


@pytest.mark.parametrize("workload", CLAIMS)
def test_a_trace_has_the_numbers_of_the_claims(workload: str) -> None:
    traces = [read_trace(file) for file in sorted(TRACES.glob("connectx3-*.jsonl"))]
    measured = {
        one.options["size"]: one.measured[0].printed
        for trace in traces
        for one in trace.points
        if one.workload == workload
    }
    claimed = {
        claim.measures[0].at: f"{claim.published} {claim.unit}"
        for claim in load_scenario(CLAIMS[workload]).claims
        if claim.quantity in ("latency", "bandwidth")
    }
    assert _numbers(measured) == _numbers(claimed)


def _numbers(told: dict[int, str]) -> dict[int, tuple[float, str]]:
    return {size: (float(one.split()[0]), one.split()[1]) for size, one in told.items()}
