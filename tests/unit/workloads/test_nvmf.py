"""Blocks of NVMe over Fabrics are registered, written and answered for."""

from typing import Any

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.workloads import Result
from hcasim.workloads.nvmf import CAPSULE, RESPONSE
from hcasim.workloads.rdma_bench import meter
from tests.rig import run

FEW: dict[str, Any] = {"size": 512, "qps": 4, "window": 4, "iters": 100, "warmup": 10}
"""Of four queues with four commands each."""


def machine(**overrides: str) -> Machine:
    changes = {name.replace("__", "."): value for name, value in overrides.items()}
    return resolve("nvmf", overrides=changes)


def read(on: Machine | None = None, **options: Any) -> Result:
    return run("nvmf_read", on or machine(), **FEW | options)


def test_a_block_costs_a_capsule_its_data_and_a_response() -> None:
    found = read(size=3000, exact=True)
    received = found.counters["port_rcv_data"]
    blocks = received / (CAPSULE + 3000 + RESPONSE)
    assert blocks == pytest.approx(4 * 110, rel=0.05)
    assert found.row["bandwidth_MBps"] == pytest.approx(3000 * found.row["rate_Mps"])
    assert found.counters["naks"] == found.counters["retransmissions"] == 0


def test_a_block_that_is_written_is_fetched_before_it_is_answered_for() -> None:
    how = FEW | {"qps": 1, "window": 1, "size": 3000, "iters": 20, "exact": True}
    read, written = (run(f"nvmf_{way}", machine(), **how) for way in ("read", "write"))
    # One at a time takes what one takes; the read of the target goes there and back once more.
    for found in (read, written):
        assert found.row["latency_p50_us"] == pytest.approx(1 / found.row["rate_Mps"], rel=0.05)
        assert found.row["latency_p50_us"] <= found.row["latency_p99_us"]
    assert written.row["latency_p50_us"] > read.row["latency_p50_us"] + 1
    blocks = written.counters["port_rcv_data"] / (CAPSULE + 3000 + RESPONSE)
    assert blocks == pytest.approx(30, abs=2)
    assert written.counters["naks"] == 0


def test_one_command_at_a_time_takes_a_registration_and_both_ways() -> None:
    """The rate of one is the reciprocal of its latency, in which the registration is whole."""
    one = {"qps": 1, "window": 1}
    quick, slow = (
        1 / read(machine(adapter__umr__service=service), **one).row["rate_Mps"]
        for service in ("0 ns", "700 ns")
    )
    assert slow - quick == pytest.approx(0.7, rel=0.01)
    assert 2 < quick < 6


def test_registrations_bind_where_they_are_slow() -> None:
    slow = machine(adapter__umr__service="2 us")
    found = [read(slow, size=size, explain=True) for size in (512, 2048)]
    assert [one.breakdown["binds"] for one in found] == ["node0.hca.registrations"] * 2
    few, many = (1 / one.row["rate_Mps"] for one in found)
    assert 2 < few < many < 2.5


def test_a_registration_and_the_data_of_a_block_add_up() -> None:
    full = {"size": 8192, "qps": 8, "window": 8}
    quick, slow = (
        1 / read(machine(adapter__umr__service=service), **full).row["rate_Mps"]
        for service in ("0 ns", "500 ns")
    )
    assert quick > 1
    assert slow - quick == pytest.approx(0.5, rel=0.05)


def test_lists_that_are_fetched_bind_earlier_and_the_adapter_reads_them() -> None:
    many = {"qps": 8, "window": 8}
    inline, fetched = (
        read(resolve("nvmf", stack=stack), **many) for stack in ("linux-verbs", "linux-verbs-lists")
    )
    assert fetched.row["rate_Mps"] < 0.6 * inline.row["rate_Mps"]
    read_bytes = [
        one.counters["bus_read_bytes"] / one.counters["doorbells"] for one in (inline, fetched)
    ]
    assert read_bytes[1] > read_bytes[0]


def test_slow_commands_are_those_of_the_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # Their rate is known long before the end.
    monkeypatch.setattr(meter, "FEWEST", 0)
    options: dict[str, Any] = {"size": 1, "qps": 3, "window": 4, "iters": 300, "warmup": 3}
    short, whole = (
        run("nvmf_read", machine(), exact=exact, **options).row for exact in (False, True)
    )
    assert short == whole
