"""Completions that were held back come all at once: that is not how fast data move."""

import pytest

import hcasim

PCIX = 8 * 133.333
"""MB/s of a bus of 64 bit."""


def bandwidth(splits: int, exact: bool = False, workload: str = "write_bw") -> float:
    """MB/s of messages of 64 KiB whose data are read over PCI-X."""
    found = hcasim.bench(
        workload,
        "liu2004",
        adapter="mt23108",
        size=65536,
        iters=60 if exact else None,
        exact=exact,
        jobs=1,
        overrides={"adapter.bus.outstanding_splits": splits},
    )
    return float(found.curve.rows[0]["bandwidth_MBps"])


@pytest.mark.parametrize("splits", [3, 8])
@pytest.mark.parametrize("workload", ["write_bw", "send_bw"])
def test_reads_that_always_wait_do_not_hold_completions_back(splits: int, workload: str) -> None:
    short = bandwidth(splits, workload=workload)
    assert short == pytest.approx(bandwidth(splits, exact=True, workload=workload), rel=0.02)
    assert bandwidth(2) < short < PCIX
