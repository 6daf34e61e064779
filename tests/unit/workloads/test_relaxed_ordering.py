"""What writes of one host reach by relaxed ordering where its root complex orders the others."""

from functools import cache
from typing import Any

import pytest

from hcasim.catalog import Machine, resolve
from tests.rig import extended, run

LINE = 64


@cache
def pair() -> Machine:
    """200 Gbit/s adapters in EPYC hosts, of which it was published that relaxed ordering counts."""
    return resolve("pair", adapter="connectx6", host="epyc-rome")


def bandwidth(ordered: int | None, relaxed: bool) -> dict[str, Any]:
    machine = extended(
        pair(),
        host={"root_port": {"ordered_writes": ordered}},
        adapter={"bus": {"relaxed_ordering": relaxed}},
    )
    options = {"size": 65536, "qps": 2, "iters": 200, "explain": True}
    found = run("write_bw", machine, **options)
    return {**found.row, "binds": found.breakdown["binds"]}


@pytest.mark.check
def test_ordered_writes_bind_by_their_number_and_relaxed_ones_do_not() -> None:
    """Each line holds its place until memory has it (Little's law)."""
    free = bandwidth(None, relaxed=False)
    slow, quick = (bandwidth(ordered, relaxed=False) for ordered in (12, 24))
    assert quick["bandwidth_MBps"] < 0.9 * free["bandwidth_MBps"]
    assert quick["bandwidth_MBps"] == pytest.approx(2 * slow["bandwidth_MBps"], rel=0.05)
    most = 24 * LINE / pair().host.memory.write_latency * 1e6
    assert quick["bandwidth_MBps"] == pytest.approx(most, rel=0.03)
    assert quick["binds"].endswith(".ordered_writes")
    for ordered in (12, 24):
        relaxed = bandwidth(ordered, relaxed=True)
        assert relaxed["bandwidth_MBps"] == pytest.approx(free["bandwidth_MBps"], rel=1e-9)
