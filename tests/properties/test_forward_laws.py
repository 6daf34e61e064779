"""What is left out of long messages changes nothing: neither a time nor a count."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Adapter, CatalogError, Machine, list_ids, load, resolve
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads import WORKLOADS, Options, Result
from tests.rig import READ, SEND, WRITE, Peer, Program, Rig

MACHINES = ("liu2004", "sur2005", "benjegerdes2004", "rashti2007", "cib", "apt", "fat-tree-64")
MPI = {"liu2004": "mvapich-0.9.5", "rashti2007": "mpich2-nes"}


@cache
def machine(name: str, stack: str = "") -> Machine:
    return resolve(name, stack=stack) if stack else resolve(name)


def run(workload: str, where: Machine, options: Options, exact: bool) -> tuple[Result, Simulator]:
    sim = Simulator(exact)
    return WORKLOADS[workload].run(sim, where, options), sim


def check(workload: str, where: Machine, options: Options) -> int:
    """Calls that were left out, which nobody may see."""
    whole, all_calls = run(workload, where, options, exact=True)
    short, made = run(workload, where, options, exact=False)
    assert short.row == whole.row
    assert short.counters == whole.counters
    assert made.now == all_calls.now
    return all_calls.calls - made.calls


USUAL = Options(iters=2, warmup=1, tx_depth=4, cq_mod=1, window=4)


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("liu2004", "write_lat"),
        ("sur2005", "read_lat"),
        pytest.param("benjegerdes2004", "send_lat", marks=pytest.mark.check),
        ("cib", "write_bw"),
        ("sur2005", "read_bw"),
        ("benjegerdes2004", "write_bw"),
        ("cib", "read_lat"),
    ],
)
def test_most_of_a_long_message_is_left_out(workload: str, name: str) -> None:
    where = machine(name)
    packets = (1 << 22) // where.mtu
    saved = check(workload, where, replace(USUAL, size=1 << 22))
    assert saved > 2 * 2 * packets


@pytest.mark.parametrize(
    ("testbed", "adapter"),
    [("pair", "connectx6"), ("pair-roce", "connectx5"), ("pair", "connectx4-x8")],
)
def test_most_is_left_out_where_it_takes_long_to_be_steady(testbed: str, adapter: str) -> None:
    where = resolve(testbed, adapter=adapter)
    saved = check("write_bw", where, Options(size=1 << 24, iters=3, tx_depth=2))
    packets = 3 * (1 << 24) // where.mtu
    assert saved > 5 * packets


@settings(max_examples=6, deadline=None)
@given(
    name=st.sampled_from(sorted(MACHINES)),
    workload=st.sampled_from(
        ["write_lat", "send_lat", "read_lat", "window_bw", "window_bibw", "write_bw", "send_bibw"]
    ),
    size=st.integers(150_000, 3_000_000),
    qps=st.integers(1, 3),
    page_size=st.sampled_from([4096, 65536, 1 << 21]),
)
def test_no_time_and_no_count_differs(
    name: str, workload: str, size: int, qps: int, page_size: int
) -> None:
    options = replace(USUAL, size=size, qps=qps, page_size=page_size)
    check(workload, machine(name), options)


@pytest.mark.check
@pytest.mark.parametrize("workload", ["osu_latency", "osu_bw", "osu_bibw"])
@pytest.mark.parametrize("name", sorted(MPI))
def test_no_time_and_no_count_of_mpi_differs(workload: str, name: str) -> None:
    options = replace(WORKLOADS[workload].defaults, size=1 << 20, iters=2, warmup=1, window=4)
    check(workload, machine(name, MPI[name]), options)


def counted(where: Machine, opcode: WROpcode, size: int, exact: bool) -> tuple[dict[str, int], int]:
    """All counts and busy times of two nodes and the fabric, with the end, and all calls."""
    rig = Rig(where, size=size, exact=exact)
    a, b, qp, _ = rig.joined()
    rig.exchange(qp, a, a.request(opcode, b, size), a.request(opcode, b, size // 3))
    found = rig.cluster.counters() | rig.sim.resources.busy_ps() | {"now": rig.sim.now}
    for number, peer in enumerate(rig.peers):
        counters = peer.adapter.counters()
        found |= {f"{number} {name}": count for name, count in counters.items()}
    for one in rig.cluster.fabric.transmitters():
        found[f"{one.name} sent"] = one.flow_control_packets
    return found, rig.sim.calls


ALL = tuple(one for one in list_ids("adapters") if isinstance(load(one, "adapters").model, Adapter))


@pytest.mark.parametrize(
    ("adapters", "least"),
    [(("mt25208",), 2), pytest.param(ALL, 7, marks=pytest.mark.check)],
    ids=["one", "each"],
)
def test_no_count_and_no_busy_time_of_an_adapter_differs(
    adapters: Sequence[str], least: int
) -> None:
    cases = {}
    for adapter, opcode in product(adapters, (WRITE, READ)):
        # Some need what a switch writes into packets.
        with suppress(CatalogError):
            where = resolve("pair", adapter=adapter)
            cases[f"{adapter} {opcode.name}"] = where, opcode, 1 << 21
    assert len(cases) > len(adapters)
    for update, size in ((3000, 1 << 23), (1500, 1 << 23)):
        odd = resolve("liu2004", overrides={"link.credit_update": f"{update} B"})
        cases[f"an update for each {update} B"] = odd, WRITE, size
    cases["fat tree"] = machine("fat-tree-64"), WRITE, 1 << 21
    faults, jumps = [], 0
    for name, (where, opcode, size) in cases.items():
        (whole, calls), (short, made) = (
            counted(where, opcode, size, exact) for exact in (True, False)
        )
        faults += [
            f"{name}: {key} {whole[key]}, {short[key]}" for key in whole if whole[key] != short[key]
        ]
        jumps += made < calls // 2
    assert faults == []
    assert jumps >= least


def ends_beside(where: Machine, sizes: Sequence[int], exact: bool) -> tuple[list[int], int]:
    """When a message between two nodes ends, and others of one node to another; and all calls."""
    rig = Rig(where, nodes=4, exact=exact)
    a, b, c, d = rig.peers

    def one(sender: Peer, to: Peer, size: int) -> Program:
        qp, _ = rig.connect(sender, to)
        yield from sender.post(qp, sender.request(WRITE, to, size))
        yield from sender.collect(1)
        return rig.sim.now

    ends = rig.run(one(a, b, sizes[0]), *(one(c, d, size) for size in sizes[1:]))
    return ends, rig.sim.calls


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("liu2004", (1 << 20, 1 << 20, 1 << 20)),
        ("fat-tree-64", (4 << 20, 1 << 20, 1 << 20)),
        pytest.param("cib", (4 << 20, 2 << 20, 3 << 20), marks=pytest.mark.check),
    ],
)
def test_no_turn_of_queue_pairs_elsewhere_is_left_out(name: str, sizes: Sequence[int]) -> None:
    whole, calls = ends_beside(machine(name), sizes, exact=True)
    short, made = ends_beside(machine(name), sizes, exact=False)
    assert short == whole
    # Where the two that share a port take turns all the time, nothing repeats itself.
    assert sizes[0] == sizes[1] or made < calls * 9 // 10


def seen_at(opcode: WROpcode, place: int, exact: bool) -> list[int]:
    """When a byte that is watched is written by a message of 1 MiB."""
    rig = Rig(machine("liu2004"), exact=exact)
    a, b, qp, other = rig.joined()
    times: list[int] = []
    region = (a if opcode is READ else b).mr.region
    region.watch(region.address + place, lambda: times.append(rig.sim.now))
    if opcode is SEND:
        rig.run(b.post_receives(other, b.receive(1 << 20)))
    rig.exchange(qp, a, a.request(opcode, b, 1 << 20))
    return times


@pytest.mark.parametrize("place", [0, 1, 300_001, (1 << 20) - 1])
@pytest.mark.parametrize("opcode", [WRITE, SEND, READ])
def test_a_byte_that_is_watched_is_seen_when_it_is_written(opcode: WROpcode, place: int) -> None:
    whole = seen_at(opcode, place, exact=True)
    assert len(whole) == 1
    assert seen_at(opcode, place, exact=False) == whole
