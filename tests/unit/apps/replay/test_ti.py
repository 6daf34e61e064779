"""Time-independent traces: what is read, what is refused, and how they run."""

import os
from pathlib import Path
from typing import Any

import pytest

import hcasim as hc
from hcasim.apps.replay import Trace, read_schedule
from hcasim.ground.errors import CatalogError
from hcasim.mpi import MPIError
from tests.limits import promptly
from tests.mpi_jobs import job
from tests.unit.apps.replay.conftest import Read, fault

RING = """# every rank to the next
0 init
1 init
2 init
0 compute 5e3
0 isend 1 7 100 1
1 irecv 0 7 100 1
2 compute 1000
1 wait 0 1 7
0 waitall
1 send 2 8 2e3
2 recv 1 8 -1
2 sendRecv 10 0 20 0 0 1
0 sendRecv 20 2 80 2 1 6
0 barrier
1 barrier
2 barrier
0 finalize
1 finalize
2 finalize
"""


def trace(*ranks: str, init: str = "") -> str:
    """A trace of the actions of each rank, with ; between them."""
    return "".join(
        f"{rank} {action.strip()}\n"
        for rank, body in enumerate(ranks)
        for action in (f"init{init}", *filter(str.strip, body.split(";")), "finalize")
    )


def run(found: Trace, **options: Any) -> Any:
    outcome = hc.app(found.name, "liu2004", found.ranks, **options)
    assert outcome.ranks == found.ranks
    return outcome


class Calls:
    """A communicator that notes calls instead of making them."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.made: list[tuple[Any, ...]] = []

    def subgroup(self, members: Any, number: int) -> "Calls":
        return self

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self.made.append((name, *arguments, *named.values()))
            return (name, *arguments)
            yield

        return call


def calls(found: Trace, rank: int, rate: float = 1e9) -> list[tuple[Any, ...]]:
    comm = Calls(rank, found.ranks)
    for _ in found.program(rate=rate)(comm):
        pass
    return comm.made


def test_messages_and_requests_run_to_their_end(read: Read) -> None:
    found = read(RING)
    assert (found.ranks, found.actions, found.form, found.counted) == (3, 15, "ti", True)
    told: list[tuple[int, int]] = []
    one = job(nodes=3)
    one.run(found.program(lambda done, total: told.append((done, total))))
    assert told[-1] == (15, 15)
    assert one.processes[0].computed_ps == 5_000_000
    sent = [sum(c.sent_bytes for c in p.connections.values()) for p in one.processes]
    assert sent == [400 + 80, 2000, 80]


@pytest.mark.parametrize(
    ("action", "made"),
    [
        ("bcast 10", ("bcast", 10, 0)),
        ("bcast 10 1 3", ("bcast", 20, 1)),
        ("allreduce 5e1 0 1", ("allreduce", 200, 200)),
        ("reduce 4 0 1 0", ("reduce", 32, 32, None, 1)),
        ("alltoall 6 6", ("alltoall", 12, 12)),
        ("alltoall 6 3 6 10", ("alltoall", 12, 12)),
        ("allgather 6 6 6 6", ("allgather", 6, 12)),
        ("gather 6 6 1", ("gather", 6, 12, 1)),
        ("gather 6 6 0 6 6", ("gather", 6, 12, 0)),
        ("scatter 6 6 0 5 5", ("scatter", 48, 24, 0)),
        ("reducescatter 3 4 0 6", ("reduce_scatter", 8, 4)),
        ("alltoallv 50 3 3 50 3 3", ("alltoallv", 6, [3, 3], 6, [3, 3])),
        ("alltoallv 50 3 3 50 3 3 1 1", ("alltoallv", 24, [12, 12], 24, [12, 12])),
        ("gatherv 3 3 3 0 6 6", ("gatherv", 3, 6, [3, 3], 0)),
        ("scatterv 3 3 3 0 6 6", ("scatterv", 6, [3, 3], 3, 0)),
        ("allgatherv 3 3 3", ("allgatherv", 3, 6, [3, 3])),
        ("allgatherv 3 3 3 1 1 0 3", ("allgatherv", 12, 24, [12, 12])),
    ],
)
def test_collectives_are_those_of_the_library(
    read: Read, action: str, made: tuple[Any, ...]
) -> None:
    found = read(trace(action, action))
    assert calls(found, 0) == [made]
    run(found)


def test_parts_that_differ_are_those_of_each_rank(read: Read) -> None:
    text = "gatherv {0} 5 0 9000 1; scatterv 5 0 9000 {0} 1; allgatherv {0} 5 0 9000"
    found = read(trace(*(text.format(size) for size in (5, 0, 9000))))
    assert calls(found, 1)[0] == ("gatherv", 0, 9005, [5, 0, 9000], 1)
    assert calls(found, 2) == [
        ("gatherv", 9000, 9005, [5, 0, 9000], 1),
        ("scatterv", 9005, [5, 0, 9000], 9000, 1),
        ("allgatherv", 9000, 9005, [5, 0, 9000]),
    ]
    run(found)


def test_what_only_the_root_uses_may_be_anything_elsewhere(read: Read) -> None:
    here = "gather 0 8 0 6 6; gatherv 0 4 4 0 6 6; scatterv 4 4 0 0 6 6"
    found = read(trace(here, "gather 8 77 0 6 -1; gatherv 4 0 0 0 6 6; scatterv 0 0 4 0 6 6"))
    assert calls(found, 0)[0] == ("gather", 8, 16, 0)
    run(found)


def test_without_a_type_init_tells_the_size_of_an_element(read: Read) -> None:
    assert calls(read(trace("bcast 3", "bcast 3", init=" 1")), 0) == [("bcast", 24, 0)]


def test_operations_are_computed_at_the_rate(read: Read) -> None:
    body = "compute 1e6; allreduce 1 3e6; sleep 2e-3"
    found = read(trace(body, body))
    times = [call[1] for call in calls(found, 0, 1e8) if call[0] == "compute"]
    assert times == pytest.approx([1e-2, 3e-2, 2e-3], rel=1e-12)
    assert run(found, rate="100 Mop/s").compute_seconds == pytest.approx(4.2e-2, rel=1e-9)
    with pytest.raises(CatalogError, match=r"rate: found 1 op/s; allowed: at least 3 op/s.*:3"):
        run(found, rate=1)


def test_a_test_may_end_a_request_and_others_follow_it(read: Read) -> None:
    receiver = "irecv 0 1 8; compute 1e6; test 0 1 1; test 0 1 1; test 0 1 1; wait 0 1 1"
    run(read(trace("send 1 1 8", receiver)))
    run(read(trace("compute 1e7; send 1 1 8", receiver)))
    run(read(trace("send 1 1 8; wait 0 1 1", f"{receiver}; wait 0 1 1")))


def test_any_sender_and_any_tag_and_any_size_are_received(read: Read) -> None:
    taker = "recv -555 3 -1; irecv 2 -444 -1; wait 2 0 9"
    run(read(trace(taker, "send 0 3 5000", "send 0 9 80")))


def test_a_list_names_the_file_of_each_rank(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank, action in enumerate(("send 1 0 8", "recv 0 0 8")):
        text = f"{rank} init\n{rank} {action}\n{rank} finalize\n"
        (folder / f"rank-{rank}.txt").write_text(text)
    whole = tmp_path / "smpi.txt"
    whole.write_text("traces/rank-0.txt\n\ntraces/rank-1.txt\n")
    assert (read_schedule(whole).ranks, read_schedule(whole).form) == (2, "ti")
    one = tmp_path / "one.txt"
    one.write_text("both.txt\n")
    (tmp_path / "both.txt").write_text(trace("barrier", "barrier"))
    assert read_schedule(one).actions == 2
    for listed, said in (
        ("traces/rank-0.txt\ntraces/rank-0.txt\n", r":2: found 'traces/rank-0.txt' again"),
        ("traces/rank-0.txt\ntraces/rank-2.txt\n", r":2: .*rank-2.txt: cannot be read: no such"),
        ("traces/rank-0.txt\ntraces\n", r":2: .*found a folder; allowed: a regular file"),
        ("traces/rank-1.txt\ntraces/rank-0.txt\n", r"1.txt:1: rank: found '1'; allowed: 0, whose"),
    ):
        whole.write_text(listed)
        with pytest.raises(CatalogError, match=said):
            read_schedule(whole)


def test_files_of_a_list_may_be_named_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "list").write_text("traces/0.txt\ntraces/1.txt\n")
    for rank in range(2):
        (folder / f"{rank}.txt").write_text(f"{rank} barrier\n")
    monkeypatch.chdir(tmp_path)
    assert read_schedule("traces/list").ranks == 2


def test_a_pipe_in_a_list_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "list.txt").write_text("pipe.txt\nother.txt")
    with pytest.raises(CatalogError, match="found a pipe"), promptly():
        read_schedule(tmp_path / "list.txt")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 init\n2 init\n", "found 2 ranks of 3; missing: 1"),
        ("1 init\n", "is it a file of one rank? then name the list"),
        ("9999999 init\n", "allowed: 0 to 1048575"),
        (b"0 init\n\0", ":2: found binary data"),
        (trace("sned 1 0 8", ""), ":2: found 'sned'; allowed: compute"),
        (trace("scan 1 0", ""), "found 'scan'; allowed: compute"),
        (trace("send 1 0", ""), "found 2 words behind it; allowed: 3 to 4: RANK TAG COUNT [TYPE]"),
        (trace("send 2 0 8", ""), ":2: rank: found '2'; allowed: 0 to 1"),
        (trace("send 1 0 8 77", ""), "type: found '77'; allowed: the number of a type of SMPI"),
        (trace("send 1 0 -8", ""), "count: found '-8'; allowed: 0 to 2147483648"),
        (trace("send 1 0 1e30", ""), "count: found '1e30'"),
        (trace("send 1 0 3e8 0", ""), "count: 300000000 elements of 8 B: found 2400000000"),
        (trace("send 1 0 1_0", ""), "count: found '1_0'"),
        (trace("send 1 -1 8", ""), ":2: tag: found '-1'; allowed: 0 to 1073741824"),
        (trace("compute -1", ""), "operations: found '-1'"),
        (trace("compute " + "9" * 5000, ""), "characters of the line: found 5011; allowed: 0 to"),
        ("0 barrier\n1 barrier\nx barrier\n", ":3: rank: found 'x'; allowed: 0 to 1"),
        ("0 barrier\n1 barrier\n0\n", ":3: found ''; allowed: compute"),
        (trace("compute nan", ""), "operations: found 'nan'"),
        (trace("bcast 8 2", ""), "root: found '2'; allowed: 0 to 1"),
        (trace("gatherv 1 2", ""), "COUNT COUNTS [ROOT [TYPE [TYPE]]] with 2 counts"),
        (trace("alltoall 4 5", ""), "found 4 B and 5 B of one part; allowed: as many"),
        (trace("allgatherv 4 5 5", ""), "allgatherv: found 4 B and 5 B of one part"),
        (trace("wait 1 1 0", ""), "allowed: one of them is rank 0"),
        (trace("send 1 0 8", ""), ":2: send without a recv: 1 from rank 0 to rank 1, tag 0"),
        (trace("", "recv 0 0 8"), ":4: recv without a send: 1 from rank 0 to rank 1, tag 0"),
        (trace("send 1 0 9", "recv 0 0 8"), ":2: send of 9 B"),
        (trace("recv -555 0 9", ""), "rank 0 receives 1 messages; 0 are sent to it"),
        (
            trace("barrier", ""),
            ":2: rank 0 calls barrier of all processes, its collective number 1 there; rank 1",
        ),
        (
            trace("barrier", "bcast 8"),
            ":5: rank 1 calls bcast with root 0 of all processes; rank 0 calls barrier in",
        ),
        (
            trace("bcast 9", "bcast 8"),
            ":5: rank 1: bcast: found 8 B; allowed: 9 B, and the same counts",
        ),
        (trace("bcast 8 0", "bcast 8 1"), "rank 1 calls bcast with root 1"),
        (trace("gatherv 1 1 2", "gatherv 3 1 2"), ":5: rank 1: gatherv: found 3 B; allowed: 2 B"),
        (trace("allgatherv 5 5 1", "allgatherv 1 6 1"), "the same counts, as others have"),
        (trace("reducescatter 3 3 0", "reducescatter 2 4 0"), "the same counts, as others have"),
        (trace("barrier", "barrier")[:-11], ":5: found no finalize of rank 1"),
    ],
)
def test_what_cannot_be_replayed_is_refused(read: Read, text: str | bytes, said: str) -> None:
    assert said in fault(read, text)


def test_who_needs_nothing_of_a_collective_does_not_wait_in_it(read: Read) -> None:
    run(read(trace("bcast 8; send 1 0 8", "bcast 8; recv 0 0 8")))
    read(trace("bcast 8; send 1 0 8", "recv 0 0 8; bcast 8"))
    read(trace("recv 1 0 8; reduce 8 0", "reduce 8 0; send 0 0 8"))


def test_ranks_that_wait_for_each_other_are_told_when_they_run(read: Read) -> None:
    with pytest.raises(CatalogError, match="no process can go on: rank 0 waits for a message"):
        run(read(trace("recv 1 0 8; send 1 0 8", "recv 0 0 8; send 0 0 8")))


def test_a_trace_needs_its_processes(read: Read) -> None:
    found = read(trace("barrier", "barrier", "barrier"))
    with pytest.raises(MPIError, match=r"2 processes; needed: 3"):
        job().run(found.program())
    assert read(trace("", "")).ranks == 2


@pytest.mark.parametrize(
    "text",
    [
        "0 send 1 0 8" + "x" * 10_000_000,
        "0 compute " + "9" * 10_000_000,
        "0 gatherv " + "1 " * 3_000_000,
        "0 %\n" * 100_000,
        " " * 10_000_000,
        "0 send 1 0 8\n" * 200_000,
        "".join(f"0 send 1 {tag} 8\n" for tag in range(50_000)),
        "0 wait 1 0 0\n" * 100_000,
        "a.b\n" * 300_000,
    ],
    ids=["word", "digits", "words", "actions", "blanks", "sends", "tags", "waits", "names"],
)
def test_hostile_text_is_refused_in_time(read: Read, text: str) -> None:
    assert len(fault(read, f"0 init\n1 init\n{text}\n1 recv 0 0 9999")) < 400


def test_hostile_lists_are_refused_in_time(read: Read) -> None:
    found = fault(read, "".join(f"{number}.txt\n" for number in range(100_000)))
    assert found.startswith(":1: ")
