"""`hcasim app` runs programs and says what they do with their time."""

import json
import os
from pathlib import Path

import pytest

from tests.chakra_traces import BARRIER, COLLECTIVE, COMPUTE, node, write_trace
from tests.otf2_archives import write_archive
from tests.unit.cli.conftest import Hcasim

PROGRAM = """
def main(comm, steps="2"):
    print("this is no data")
    for step in range(int(steps)):
        yield from comm.compute(1e-6)
        yield from comm.allreduce(8, 8)
        comm.progress(step + 1, int(steps))
    return {"rank": comm.rank, "of": [comm.size]}
"""
MACHINE = ("--testbed", "liu2004")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "steps.py"
    file.write_text(PROGRAM)
    return file


def test_a_program_of_the_users_own_is_run(hcasim_: Hcasim, program: Path) -> None:
    done = hcasim_("app", str(program), "3", *MACHINE, "-n", "4", "--ppn", "2", "--json")
    found = json.loads(done.output)
    assert found["options"]["ranks"] == 4
    assert [one["returned"] for one in found["ranks"]] == [
        {"rank": rank, "of": [4]} for rank in range(4)
    ]
    assert found["calls"][0]["calls"] == 12
    assert sum(part["seconds"] for part in found["critical_path"]["parts"]) == pytest.approx(
        found["run_s"]
    )


def test_tables_say_where_the_time_went(hcasim_: Hcasim, program: Path) -> None:
    output = hcasim_("app", str(program), *MACHINE, "-n", "2", "--profile").output
    for words in ("steps on liu2004", "run time", "allreduce", "Critical path", "Processes"):
        assert words in output


def test_what_happens_when_and_what_is_on_the_wire_are_written(
    hcasim_: Hcasim, program: Path, tmp_path: Path
) -> None:
    shown, wire, lines = tmp_path / "run.json", tmp_path / "wire.pcap", tmp_path / "lines.tsv"
    words = ("app", str(program), *MACHINE, "-n", "2", "--no-timing", "--json")
    found = hcasim_(*words, "--trace", str(shown), "--pcap", str(wire))
    assert found.output == hcasim_(*words).output
    names = {one["name"] for one in json.loads(shown.read_text())["traceEvents"]}
    assert {"compute", "call send", "post_send", "packet", "poll memory"} <= names
    packets = found.json["counters"]["port_xmit_packets"]
    assert f"Wrote {packets} packets to {wire}" in found.messages
    hcasim_(*words, "--trace", str(lines))
    assert lines.read_text().startswith("time_ps\tblock\tevent\toperation\tdetails\n")


def test_kernels_need_a_rate_of_computing(hcasim_: Hcasim) -> None:
    rate = ("--set", "host.computing.nas_cg=200 Mop/s")
    found = hcasim_("app", "cg.S", *MACHINE, "-n", "2", *rate, "--json").json
    assert found["ranks"][0]["returned"]["timed_s"] < found["run_s"]
    refused = hcasim_("app", "cg.S", *MACHINE, "-n", "3")
    assert refused.code == 2
    assert "a power of two" in refused.messages


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def main(comm):\n    yield from comm.send(1, 9)\n", "dest is 9; allowed: 0 to 1"),
        ("def main(comm):\n    yield from comm.recv(1, 0)\n", "no process can go on"),
        ("def main(comm):\n    comm.barrier()\n", "steps.py:1: found a function 'main' that is no"),
        ("def mein(comm):\n    yield\n", "did you mean 'mein'?"),
        ("def main(comm):\n    yield from comm.barrier()\n    1 / 0\n", "steps.py:3: ZeroDivision"),
        ("def main(comm:\n", "steps.py:1: SyntaxError"),
        ("raise SystemExit(3)\n", "it has ended itself (3)"),
        (
            "class A(Exception):\n    def __str__(self): 1 / 0\nraise A\n",
            "steps.py:3: A\n",
        ),
    ],
)
def test_what_a_program_does_wrong_is_told_by_its_line(
    hcasim_: Hcasim, program: Path, text: str, said: str
) -> None:
    program.write_text(text)
    for name in (program, os.path.relpath(program)):
        done = hcasim_("app", str(name), *MACHINE, "-n", "2")
        assert done.code == 2
        assert said in done.messages
    assert "Traceback" not in done.messages


SCHEDULE = """num_ranks 2
rank 0 {
l1: calc 1000
l2: send 8b to 1 tag 0
l2 requires l1
}
rank 1 {
l1: recv 8b from 0 tag 0
}
"""


def test_a_schedule_is_replayed_with_as_many_processes_as_it_has(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    file = tmp_path / "one.goal"
    file.write_text(SCHEDULE)
    found = hcasim_("app", str(file), *MACHINE, "-n", "2", "--json").json
    assert found["ranks"][0]["compute_s"] == 1e-6
    assert found["traffic"] == [{"source": 0, "dest": 1, "messages": 1, "sent_bytes": 8}]
    (fault,) = hcasim_("app", str(file), *MACHINE, "-n", "3").faults
    assert fault == "ranks: found 3; allowed: 2, as one.goal was recorded with"
    file.write_text(SCHEDULE[:50])
    faults = hcasim_("app", str(file), *MACHINE, "-n", "2").faults
    assert all(fault.startswith(f"{file}:") for fault in faults)


def test_a_trace_that_counts_operations_has_a_rate(hcasim_: Hcasim, tmp_path: Path) -> None:
    nodes = [node(1, COMPUTE, num_ops=10**6), node(2, COLLECTIVE, [1], comm_type=BARRIER)]
    file = write_trace(tmp_path, nodes, nodes)
    words = ("app", str(file), *MACHINE, "-n", "2", "--json")
    assert hcasim_(*words).json["ranks"][0]["compute_s"] == 1e-3
    found = hcasim_(*words, "--rate", "2 Gop/s").json
    assert found["ranks"][0]["compute_s"] == 5e-4
    assert found["options"]["rate"] == 2e9
    assert found["calls"][0]["call"] == "barrier"
    (fault,) = hcasim_(*words, "--rate", "2").faults
    assert "rate: found '2' with no unit" in fault
    (fault,) = hcasim_(*words, "--rate", "0 op/s").faults
    assert "rate: found '0 op/s'; allowed: 1 op/s to 1000000 Top/s" in fault


def test_a_rate_is_refused_where_nothing_is_counted(hcasim_: Hcasim, program: Path) -> None:
    (program.parent / "one.goal").write_text(SCHEDULE)
    for name in ("is.S", str(program.parent / "one.goal"), str(program), "allreduce"):
        done = hcasim_("app", name, *MACHINE, "-n", "2", "--rate", "1 Gop/s")
        assert done.code == 2
        assert f"rate: has no meaning for {Path(name).name}; allowed: with a" in done.messages


def test_what_is_replayed_is_not_imported(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "one"
    file.write_text(SCHEDULE)
    done = hcasim_("import", str(file))
    assert done.code == 2
    assert "traces of what a program did are for `hcasim app`" in done.messages


def test_traces_of_otf2_and_chakra_are_replayed(hcasim_: Hcasim, tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a", *[lambda one: one.collective("BARRIER")] * 2)
    nodes = [node(1, COLLECTIVE, comm_type=BARRIER)]
    for file in (archive, write_trace(tmp_path, nodes, nodes)):
        found = hcasim_("app", str(file), *MACHINE, "-n", "2", "--json").json
        assert found["calls"][0]["call"] == "barrier"
        assert "allowed: 2, as" in hcasim_("app", str(file), *MACHINE, "-n", "3").messages
