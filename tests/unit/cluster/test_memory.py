"""What a node, a queue pair and a switch take while nobody uses them, and that little is made then.

The figures that the page on many nodes states, with as much again to spare.
"""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.mpi import Job
from hcasim.verbs import CQ, PD, QP, Context, RecvWR

NODE, QUEUE_PAIR, MPI = 48 << 10, 8 << 10, 12 << 10
"""Bytes of an idle node, of a connected queue pair, and of one end of a connection of MPI."""
MANY = 128


@pytest.fixture(scope="module")
def machine() -> Machine:
    return resolve("fat-tree-1024", mpi=True)


def taken(make: Callable[[], Any]) -> int:
    """Bytes that something takes as long as it is held."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = make()
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    del kept
    return size


def test_an_idle_node_with_its_part_of_the_switches(machine: Machine) -> None:
    machine.wiring.route(0, 1)
    # The second build finds what both have in common.
    Cluster(Simulator(), machine, 2)
    assert NODE / 2 < taken(lambda: Cluster(Simulator(), machine, MANY)) / MANY < 2 * NODE


def test_a_connected_queue_pair(machine: Machine) -> None:
    sim = Simulator()
    ends = []
    for node in Cluster(sim, machine, 2).nodes:
        context = Context(sim, node)
        ends.append((PD(context), CQ(context, 4096)))

    def connected() -> list[QP]:
        found = []
        for _ in range(MANY):
            a, b = (QP(pd, cq, cq) for pd, cq in ends)
            a.connect(b)
            b.connect(a)
            found += [a, b]
        return found

    assert QUEUE_PAIR / 2 < taken(connected) / (2 * MANY) < 2 * QUEUE_PAIR


def test_an_end_of_a_connection_of_mpi(machine: Machine) -> None:
    sim = Simulator()
    job = Job(sim, Cluster(sim, machine, MANY + 1))
    first, *others = job.processes

    def connected() -> None:
        for one in others:
            job.connect(first, one.rank)

    assert MPI / 2 < taken(connected) / (2 * MANY) < 2 * MPI


def test_a_thousand_nodes_build_only_the_switches_that_they_are_on(machine: Machine) -> None:
    cluster = Cluster(Simulator(), machine)
    assert len(cluster.nodes) == 1024
    assert len(cluster.fabric.switches) == 32
    assert len(cluster.fabric.transmitters()) == 1024


def test_processes_are_connected_when_they_have_something_to_say(machine: Machine) -> None:
    sim = Simulator()
    job = Job(sim, Cluster(sim, machine, 16), 2)

    def barrier(comm: Any) -> Any:
        yield from comm.barrier()

    job.run(barrier)
    # Dissemination: to those 1, 2, 4, 8 and 16 behind, and from as many before; 16 is both.
    assert {len(process.connections) for process in job.processes} == {9}


def test_receives_that_were_posted_long_ago_are_made_when_they_are_taken(machine: Machine) -> None:
    context = Context(sim := Simulator(), Cluster(sim, machine, 2).nodes[0])
    pd, cq = PD(context), CQ(context, 16)
    qp = QP(pd, cq, cq, max_recv_wr=8192)
    assert taken(lambda: qp.fill_recv(8192, lambda number: RecvWR(wr_id=number))) < 8192
