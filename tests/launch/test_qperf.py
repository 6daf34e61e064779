"""qperf, unmodified, measures for a second of simulated time; its server forks for each test."""

import re

import pytest

from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.programs import program

TESTS = {"rc_lat": 1, "rc_rdma_read_lat": 2, "uc_rdma_write_poll_lat": 1}
"""How often the switch is passed in what a test calls its latency."""


def test_latencies(capfd: pytest.CaptureFixture[str]) -> None:
    """A slow switch makes few messages of the second."""
    program("qperf", "qperf")
    program("cc", "gcc")
    machine = find_machine("liu2004", {"overrides": {"switch.latency": "5 ms"}}, mpi=False)
    client = ["qperf", "server", "-mt", "1024", "-t", "1", *TESTS, "quit"]
    assert launch(machine, [["qperf"], client]).codes[1] == 0
    found = re.findall(r"^(\w+):\n +latency += +([\d.]+) ms", capfd.readouterr().out, re.MULTILINE)
    assert {name: float(latency) for name, latency in found} == pytest.approx(
        {name: 5 * passes for name, passes in TESTS.items()}, rel=0.02
    )
