"""GOAL schedules: what is read, what is refused, and how it runs."""

import random

import pytest

from hcasim.apps.replay import Trace
from hcasim.mpi import DeadlockError, Job, MPIError
from tests.mpi_jobs import job
from tests.unit.apps.replay.conftest import Read, fault


def schedule(*ranks: str) -> str:
    """A schedule of the statements of each rank."""
    blocks = [f"rank {rank} {{\n{body}\n}}" for rank, body in enumerate(ranks)]
    return f"num_ranks {len(ranks)}\n\n" + "\n\n".join(blocks) + "\n"


def elapsed(trace: Trace, one: Job) -> int:
    one.run(trace.program())
    return one.sim.now


def test_what_is_computed_is_in_nanoseconds(read: Read) -> None:
    one = job()
    one.run(read(schedule("calc 1500", "calc 7")).program())
    assert [process.computed_ps for process in one.processes] == [1_500_000, 7_000]


def test_statements_may_have_comments_spaces_and_any_labels(read: Read) -> None:
    text = (
        "// first\n# collected\n/* two\nlines */ num_ranks 2\r\n"
        "rank 1 { recv 8b from -1 tag -1 cpu 0 nic 1 // who\n}\n"
        "rank 0 {\n  A_1:calc 5 cpu 1\n\tsend 8 b to 1 nic 1\n b : calc 0\n b irequires A_1\n}"
    )
    trace = read(text)
    assert trace.actions == 4
    elapsed(trace, job())


def test_an_operation_waits_for_what_it_requires(read: Read) -> None:
    free = read(schedule("a: calc 50000\nsend 8b to 1", "recv 8b from 0\ncalc 50000"))
    bound = read(
        schedule(
            "a: calc 50000\nb: send 8b to 1\nb requires a",
            "r: recv 8b from 0\nc: calc 50000\nc requires r",
        )
    )
    both = elapsed(bound, job())
    assert both > 100_000_000 > elapsed(free, job()) > 50_000_000


def test_what_requires_only_the_begin_does_not_wait_for_the_end(read: Read) -> None:
    one = "a: recv 8b from 1\nb: send 8b to 1\nb {} a"
    other = "a: recv 8b from 0\nb: send 8b to 0\nb requires a"
    elapsed(read(schedule(one.format("irequires"), other)), job())
    with pytest.raises(DeadlockError):
        elapsed(read(schedule(one.format("requires"), other)), job())


def test_threads_compute_at_the_same_time(read: Read) -> None:
    body = "a: calc 3000 cpu 0\nb: calc 2000 cpu 1\nc: calc 2000 cpu 1\nc requires b"
    assert elapsed(read(schedule(body, "")), job()) == 4_000_000


SIZES = [8, 100_000, 1, 2_000_000, 0, 5000]


@pytest.mark.parametrize(
    ("sender", "receiver"),
    [
        (
            "\n".join(f"send {size}b to 1 tag {tag}" for tag, size in enumerate(SIZES)),
            "\n".join(f"recv {SIZES[tag]}b from 0 tag {tag}" for tag in (5, 4, 3, 2, 1, 0)),
        ),
        ("a: send 8b to 1\nb: send 4b to 1\na requires b", "recv 8b from 0\nrecv 4b from 0"),
        ("send 8b to 1 tag 4294967294", "recv 8b from 0 tag 4294967294"),
    ],
    ids=["many at once", "overtaking", "tags beyond those of MPI"],
)
def test_messages_find_their_receives(read: Read, sender: str, receiver: str) -> None:
    trace = read(schedule(sender, receiver))
    one = job()
    one.run(trace.program())
    assert sum(c.messages for p in one.processes for c in p.connections.values()) >= (
        trace.actions // 2
    )


def test_further_processes_have_nothing_to_do_and_none_may_lack(read: Read) -> None:
    elapsed(read(schedule("send 8b to 1", "recv 8b from 0")), job(nodes=4))
    with pytest.raises(MPIError, match=r"2 processes; needed: 3"):
        elapsed(read(schedule("", "", "")), job())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sned 8b to 1", "found 'sned 8b to 1'; allowed: `send 8b to RANK`, `recv"),
        ("send 8 to 1", "found 'send 8 to 1'; allowed"),
        ("send 8b from 1", "found from behind send"),
        ("recv 8b from -1 tag -1 cpu 900", "cpu: found 900; allowed: 0 to 255"),
        ("l: calc 5 tag 3", "found tag 3 of calc"),
        ("l reqires x", "`LABEL requires LABEL` or `}`"),
        ("recv 8b from -2", "found 'recv 8b from -2'"),
        ("send 8b to -1", "rank: found -1; allowed: 0 to 1"),
        ("send 8b to 1 tag 1 tag 2", "found tag 2 of send; allowed: once"),
        ("send 9999999999b to 1", "bytes: found 9999999999; allowed: 0 to 2147483648"),
    ],
)
def test_a_statement_that_is_wrong_is_told_with_its_line(read: Read, line: str, said: str) -> None:
    found = fault(read, schedule(f"calc 1\n{line}\ncalc x", ""))
    assert found.startswith(":5: ")
    assert said in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty file"),
        ("hello", "no trace of a known form"),
        (b"\0\1" * 100, "binary data"),
        (b"num_ranks 2\n\xff", ":2: found binary data"),
        ("num_ranks 2", "missing: 0, 1; the file may be cut"),
        ("num_ranks 0\nrank 0 {\n}", "allowed: 1 to"),
        ("rank 0 {\n}", "num_ranks: missing"),
        ("num_ranks 1\nrank 0 {\ncalc 5", "within rank 0; it may be cut"),
        ("num_ranks 1\nrank 0", "within rank 0; it may be cut"),
        (
            "num_ranks 1\nnum_ranks 1\nrank 0 {\n}",
            ":2: found 'num_ranks 1'; allowed: `num_ranks N` or `rank N {`, each once",
        ),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}", "found rank 0 again; allowed: once"),
        ("num_ranks 1\nrank 0 {\n}\nrank 1 {\n}", ":4: rank: found 1; allowed: 0 to 0"),
        (schedule("a: calc 1\na: calc 2"), ":5: found label 'a' again; it is in line 4"),
        (
            schedule("abc: calc 1\nabc requires abd"),
            "label: found 'abd'; allowed: one of this rank",
        ),
        (schedule("a: calc 1\na requires a"), ":4: rank 0: found a cycle"),
        (schedule("send 8b to 7", ""), ":4: rank: found 7; allowed: 0 to 1"),
        (schedule("send 9b to 1", "recv 8b from 0"), ":4: send of 9 B"),
        (schedule("", "recv 8b from 0"), "recv without a send: 1 from rank 0 to rank 1, tag 0"),
        (schedule("send 8b to 1", ""), "send without a recv: 1 from rank 0 to rank 1, tag 0"),
        (schedule("send 8b to 1 tag 1", "recv 8b from 0"), "recv without a send"),
        (schedule("send 8b to 1\nsend 8b to 1", "recv 8b from -1"), "receives 1 messages; 2"),
    ],
)
def test_what_cannot_be_replayed_is_refused(read: Read, text: str | bytes, said: str) -> None:
    assert said in fault(read, text)


def test_a_cycle_is_told_by_its_lines(read: Read) -> None:
    body = "a: calc 1\nb: calc 1\nc: calc 1\na requires b\nb irequires c\nc requires a\n"
    said = "in which each requires the next and the last the first: 4, 5, 6"
    assert fault(read, schedule(body)) == f":4: rank 0: found a cycle, {said}"


@pytest.mark.parametrize(
    "text",
    [
        "send 8b to 1 " + "x" * 10_000_000,
        "calc " + "9" * 10_000_000,
        "tag 1 " * 1_000_000,
        "/* x\n*/ /*" * 300_000,
        "{" * 1_000_000,
        "%\n" * 100_000,
        "send 8b to 1 tag " + "-1" * 1_000_000,
        "".join(f"l{n}: calc 1\nl{n} requires l{(n + 1) % 9999}\n" for n in range(9999)),
    ],
    ids=["word", "digits", "words", "comments", "braces", "lines", "signs", "circle"],
)
def test_hostile_text_is_refused_in_time(read: Read, text: str) -> None:
    assert len(fault(read, schedule(text, "recv 8b from 0"))) < 300


@pytest.mark.parametrize("seed", range(5))
def test_any_schedule_without_cycles_runs_to_its_end(read: Read, seed: int) -> None:
    trace = read(random_schedule(random.Random(seed), 4, 40))
    told: list[int] = []
    one = job(nodes=4)
    one.run(trace.program(lambda done, total: told.append(done)))
    assert told[-1] == trace.actions


def random_schedule(dice: random.Random, ranks: int, steps: int) -> str:
    """Operations that require some of those that were made before them."""
    bodies: list[list[str]] = [[] for _ in range(ranks)]
    counts = [0] * ranks

    def add(rank: int, what: str) -> None:
        body, number = bodies[rank], counts[rank]
        counts[rank] += 1
        body.append(f"l{number}: {what}")
        for _ in range(dice.randint(0, 2) if number else 0):
            how = dice.choice(["requires", "requires", "irequires"])
            body.append(f"l{number} {how} l{dice.randrange(number)}")

    for step in range(steps):
        source, dest = dice.sample(range(ranks), 2)
        size = dice.choice([0, 1, 8, 3000, 20_000, 300_000])
        if dice.random() < 0.3:
            add(source, f"calc {dice.choice([0, 10, 5000])} cpu {dice.randrange(2)}")
        else:
            # A tag of its own keeps messages from taking each other's places.
            add(source, f"send {size}b to {dest} tag {step}")
            add(dest, f"recv {size}b from {source} tag {step}")
    return schedule(*("\n".join(body) for body in bodies))
