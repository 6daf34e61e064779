"""Several programs on a node share its adapter, and are told apart by port, key and rank."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from hcasim import bench
from hcasim.cli.main import app
from hcasim.launch import launch
from hcasim.launch.placing import filled, listed
from hcasim.runs.machine import find_machine
from tests.programs import program

MIB = 2**20 / 1e6
HALF = pytest.approx(0.5, abs=0.02)


def averages(
    places: list[int], commands: list[str], capfd: pytest.CaptureFixture[str]
) -> list[float]:
    """The average bandwidths that programs of perftest print, in MB/s."""
    program("cc", "gcc")
    program("ib_write_bw", "perftest")
    machine = find_machine("liu2004", {}, mpi=False)
    found = launch(machine, [one.split() for one in commands], places=places)
    assert set(found.codes) == {0}
    table = re.findall(r"^ ?65536 +\d+ +[\d.]+ +([\d.]+)", capfd.readouterr().out, re.MULTILINE)
    assert len(table) == len(commands)
    return [float(one) * MIB for one in table]


@pytest.mark.parametrize("places", [[0, 0, 1, 1], [0, 0, 1, 2]])
def test_pairs_share_the_link_of_a_node(
    places: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = "ib_write_bw -n 200", "ib_write_bw -n 200 -p 18600"
    commands = [first, second, f"{first} server", f"{second} server"]
    alone = averages([0, 1], commands[::2], capfd)[0]
    assert [one / alone for one in averages(places, commands, capfd)] == [HALF] * 4


def test_both_ends_on_a_node(capfd: pytest.CaptureFixture[str]) -> None:
    average = averages([0, 0], ["ib_write_bw -n 200", "ib_write_bw -n 200 localhost"], capfd)[0]
    [row] = bench("write_bw", "liu2004", loopback=True).rows
    assert average == pytest.approx(row["bandwidth_MBps"], rel=0.01)


def test_a_hostfile_gives_ranks_their_nodes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program("cc", "gcc")
    file = tmp_path / "hosts"
    file.write_text("node2 slots=2  # both\n\nserver\n")
    told = "echo $HCASIM_RANK of $HCASIM_SIZE on $(uname -n)"
    words = ["launch", "--testbed", "liu2004", "--hostfile", str(file), "--", "sh", "-c", told]
    assert CliRunner().invoke(app, words).exit_code == 0
    said = capfd.readouterr().out.splitlines()
    assert sorted(said) == ["0 of 3 on node2", "1 of 3 on node2", "2 of 3 on node0"]


def test_nodes_are_filled_in_order() -> None:
    faults: list[str] = []
    machine = find_machine("liu2004", {}, mpi=False)
    assert filled(machine, 5, 2, faults) == [0, 0, 1, 1, 2]
    assert not faults
    filled(machine, 9, 2, faults)
    filled(machine, 2, 3, faults)
    assert faults == [
        "ranks: found 9; allowed: 1 to 8, as liu2004 has 4 nodes with 2 on each",
        "ppn: found 3; allowed: 1 to 2, the processors of a node",
    ]


def test_all_that_is_wrong_with_a_hostfile_is_told(tmp_path: Path) -> None:
    file, faults = tmp_path / "hosts", list[str]()
    file.write_text("node1 slots=0\nnodo1\nnode2 slots=2\nnode2\nnode3 max=1\n")
    machine = find_machine("liu2004", {}, mpi=False)
    listed(machine, str(file), faults)
    cpus, nodes = (
        "1 to 2 on a node, which are its processors",
        "node0 to node3, the nodes of liu2004",
    )
    assert [one.partition(", ")[2] for one in faults] == [
        f"line 1: found 'node1 slots=0'; allowed: {cpus}",
        f"line 2: found 'nodo1'; allowed: {nodes}; did you mean 'node1'?",
        f"line 4: found 'node2'; allowed: {cpus}",
        "line 5: found 'node3 max=1'; allowed: NODE, or NODE slots=N",
    ]


def test_what_contradicts_itself_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("node0\n")
    words = ["launch", "--testbed", "liu2004", "--hostfile", str(file), "--ppn", "2"]
    done = CliRunner().invoke(app, [*words, "--compute", "perftst", "--", "true", ":", "true"])
    told = str(done.exception)
    assert "--ppn: found beside --hostfile" in told
    assert f"ranks: found 2; allowed: 1 to 1, the slots of {file}" in told
    assert "did you mean 'perftest'?" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["-n", "2", "--", "server:", "true"],
            "none but behind server:; needed: one that it serves",
        ),
        ([], "none beside a colon; needed: PROGRAM : PROGRAM"),
        (
            ["--", "sever:", "true", ":", "true"],
            "'sever:'; allowed: server:, or a program; did you mean 'server:'?",
        ),
        (["--", "server:", ":", "true"], "none beside a colon; needed: PROGRAM : PROGRAM"),
    ],
)
def test_there_is_a_program_on_each_side(words: list[str], told: str) -> None:
    done = CliRunner().invoke(app, ["launch", "--testbed", "liu2004", *words])
    assert str(done.exception).endswith(f"programs: found {told}")
