"""Chakra execution traces: what is read, what is refused, and how they run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hcasim.apps.replay import Trace, read_schedule, text
from hcasim.ground.errors import CatalogError
from tests.chakra_traces import (
    ALL_REDUCE,
    BARRIER,
    BROADCAST,
    COLLECTIVE,
    COMPUTE,
    LOAD,
    METADATA,
    RECV,
    SEND,
    encode,
    node,
    write_trace,
)
from tests.limits import promptly
from tests.mpi_jobs import job
from tests.unit.apps.replay.conftest import Read, fault

Nodes = Sequence[Any]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(*ranks: Nodes) -> Trace:
        return read_schedule(write_trace(tmp_path, *ranks))

    return read


def elapsed(trace: Trace, **more: Any) -> int:
    one = job(nodes=trace.ranks)
    one.run(trace.program(**more))
    return one.sim.now


def test_nodes_wait_for_data_and_control(read: Read) -> None:
    first = [
        node(1, COMPUTE, micros=30),
        node(9, LOAD, [1], tensor_size=1 << 30),
        node(4, SEND, ctrl=[9], comm_dst=1, comm_size=100, comm_tag=3),
    ]
    second = [
        node(7, COMPUTE, [8], micros=40),
        node(8, RECV, comm_src=0, comm_dst=1, comm_size=100, comm_tag=3),
    ]
    trace = read(first, second)
    assert (trace.ranks, trace.actions, trace.form) == (2, 5, "chakra")
    assert 70_000_000 < elapsed(trace) < 100_000_000


def test_processors_and_accelerators_compute_at_the_same_time(read: Read) -> None:
    nodes = [
        node(1, COMPUTE, micros=3, is_cpu_op=True),
        node(2, COMPUTE, micros=2, is_cpu_op=False),
        node(3, COMPUTE, [2], micros=2, is_cpu_op=False),
    ]
    assert elapsed(read(nodes)) == 4_000_000


def test_operations_take_as_long_as_the_rate_says(read: Read) -> None:
    nodes = [node(1, COMPUTE, num_ops=1000), node(2, COMPUTE, [1], num_ops=7, runtime=5)]
    assert elapsed(read(nodes), rate=1e9) == 6_000_000
    assert elapsed(read(nodes), rate=2e9) == 5_500_000
    with pytest.raises(CatalogError, match=r"rate: found 1e-09 op/s; allowed: at least .*: node 1"):
        elapsed(read(nodes), rate=1e-9)


KINDS = {0: "allreduce", 2: "allgather", 5: "bcast", 6: "alltoall", 7: "reduce_scatter"}


@pytest.mark.parametrize(("kind", "name"), [*KINDS.items(), (9, "barrier")])
def test_collectives_are_those_of_the_simulator(read: Read, kind: int, name: str) -> None:
    trace = read(*[[node(1, COLLECTIVE, comm_type=kind, comm_size=4096)]] * 4)
    one = job(nodes=4)
    one.run(trace.program())
    assert {process.collective for process in one.processes} == {name}


def test_collectives_are_of_the_process_group(read: Read) -> None:
    groups = """['[{"pg_name": "1", "ranks": [0, 2]}, {"pg_name": "2", "ranks": [3, 1]}]']"""

    def nodes(group: str) -> Nodes:
        return [
            node(1, METADATA, inputs=groups),
            node(2, COLLECTIVE, comm_type=ALL_REDUCE, comm_size=64, pg_name=group),
            node(3, COLLECTIVE, [2], comm_type=ALL_REDUCE, comm_size=64, pg_name=group),
        ]

    one = job(nodes=4)
    one.run(read(*map(nodes, "1212")).program())
    assert sorted(one.processes[0].connections) == [2]
    assert "pg_name: rank 0 is not in '2'" in fault(read, *map(nodes, "2222"))
    assert "pg_name: found 'x'; allowed: one that a node of" in fault(read, *map(nodes, "1x1x"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (node(5, SEND, comm_dst=9, comm_size=8), "comm_dst: found '9'; allowed: 0 to 0"),
        (node(5, SEND, comm_dst=0), "comm_size: missing; allowed: 0 to 2147483648"),
        (node(1, COMPUTE), "found again"),
        (node(5, COMPUTE, [77]), "depends on node 77, which is not in its file"),
        (node(5, 12), "type: found 12; allowed: 0 to 7"),
        (node(5, COLLECTIVE, comm_type=44), "comm_type: found '44'; allowed: 0 to 9"),
        (node(5, COMPUTE, micros=2**63), "duration_micros: found 9223372036854775808"),
        (node(5, RECV, comm_src=0, comm_dst=3, comm_size=8), "comm_dst: found '3'; allowed: 0"),
        (
            node(5, METADATA, inputs='[\'[{"pg_name": "1", "ranks": [0, 5]}]\']'),
            "group '1': found '(0, 5)'; allowed: 0 to 0, each once",
        ),
        (node(5, COLLECTIVE, comm_type=0, comm_size=-1), "comm_size: found '-1'"),
    ],
)
def test_a_node_that_is_wrong_is_told(read: Read, wrong: Any, said: str) -> None:
    found = fault(read, [node(1, COMPUTE), wrong])
    assert f"t.0.et: node {wrong.id}: {said}" in found


def test_what_never_ends_is_refused(read: Read) -> None:
    circle = [node(1, COMPUTE, [2]), node(2, COMPUTE, [3]), node(3, COMPUTE, [1])]
    assert "t.0.et: node 1: rank 0: found a cycle" in fault(read, circle)
    alone = [node(3, SEND, comm_dst=1, comm_size=8)]
    assert "t.0.et: node 3: send without a recv" in fault(read, alone, [])
    other = [node(4, COLLECTIVE, comm_type=BROADCAST, comm_size=8)]
    assert "t.1.et: node 4: rank 1 calls bcast with root 0" in fault(
        read, [node(1, COLLECTIVE, comm_type=BARRIER)], other
    )


def test_missing_files_and_libraries_are_named(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trace(tmp_path, [], [], [])
    (tmp_path / "t.1.et").unlink()
    with pytest.raises(CatalogError, match=r"found 2 files of 3; missing: those of rank 1"):
        read_schedule(tmp_path / "t.0.et")
    monkeypatch.setattr(text, "find_spec", lambda name: None)
    assert "pip install 'hcasim[chakra]'" in fault(read, [])


def test_hostile_files_are_refused_in_time(read: Read, tmp_path: Path) -> None:
    nested = "['" + "[" * 100_000 + "pg_name']"
    assert "allowed: a list of objects" in fault(read, [node(1, METADATA, inputs=nested)])
    file = tmp_path / "t.0.et"
    for data in (b"\xff" * 1_000_000, encode([]) + b"\xff\xff\xff\x7f", encode([node(1, 4)])[:-1]):
        file.write_bytes(data)
        with pytest.raises(CatalogError) as error, promptly():
            read_schedule(file)
        assert all(len(one) < 300 for one in error.value.faults)
