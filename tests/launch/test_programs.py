"""Real programs, unmodified, measure on simulated adapters what benchmarks say of them."""

import re
import subprocess
import sys

import pytest

from hcasim import bench
from hcasim.launch import Launched, launch
from hcasim.runs.machine import find_machine
from tests.programs import program

PERFTEST, UTILS = "perftest", "ibverbs-utils"
MIB = 2**20 / 1e6


def launched(testbed: str, *commands: str, **how: int) -> Launched:
    program("cc", "gcc")
    programs = [one.split() for one in commands]
    return launch(find_machine(testbed, {}, mpi=False), programs, **how)


def measured(command: str, testbed: str, capfd: pytest.CaptureFixture[str]) -> list[float]:
    """The last line of perftest's table, without its size and iterations."""
    program(command.split()[0], PERFTEST)
    assert launched(testbed, command, f"{command} server").codes == (0, 0)
    said = capfd.readouterr().out
    table = re.findall(r"^ ?\d+ +\d+ +([\d. \t]+)$", said, re.MULTILINE)
    return [float(one) for one in table[-1].split()]


@pytest.mark.parametrize(
    ("command", "workload", "size"),
    [
        ("ib_write_bw -s 65536 -n 200", "write_bw", "64K"),
        ("ib_write_bw -s 65536 -n 100 -q 8", "write_bw", "64K"),
        ("ib_read_bw -s 65536 -n 200", "read_bw", "64K"),
        ("ib_send_bw -s 4096 -n 500", "send_bw", "4K"),
    ],
)
def test_bandwidth(
    command: str, workload: str, size: str, capfd: pytest.CaptureFixture[str]
) -> None:
    average = measured(command, "liu2004", capfd)[1]
    [row] = bench(workload, "liu2004", size=size).rows
    assert average * MIB == pytest.approx(row["bandwidth_MBps"], rel=0.01)


@pytest.mark.parametrize(
    ("command", "workload"),
    [("ib_write_lat -s 8 -n 100", "write_lat"), ("ib_read_lat -s 8 -n 100", "read_lat")],
)
@pytest.mark.parametrize("testbed", ["liu2004", "cloud-hdr"])
def test_latency(
    command: str, workload: str, testbed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    typical = measured(command, testbed, capfd)[2]
    [row] = bench(workload, testbed, size=8).rows
    assert typical == pytest.approx(row["latency_us"], rel=0.02)


def test_a_send_takes_longer_while_receives_are_posted(capfd: pytest.CaptureFixture[str]) -> None:
    """perftest posts them only while there are more iterations than entries."""
    with_posts = measured("ib_send_lat -s 8 -n 400 -r 16", "liu2004", capfd)[2]
    without = measured("ib_send_lat -s 8 -n 100 -r 128", "liu2004", capfd)[2]
    [row] = bench("send_lat", "liu2004", size=8).rows
    assert with_posts == pytest.approx(row["latency_us"], rel=0.02)
    assert without < 0.96 * with_posts


@pytest.mark.parametrize("kind", ["rc", "uc", "ud", "srq"])
def test_pingpong(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    name = f"ibv_{kind}_pingpong"
    program(name, UTILS)
    assert launched("liu2004", f"{name} -n 50 -c", f"{name} -n 50 -c server").codes == (0, 0)
    assert capfd.readouterr().out.count("usec/iter") == 2


def test_events_cost_an_interrupt(capfd: pytest.CaptureFixture[str]) -> None:
    polled = measured("ib_send_lat -s 8 -n 50", "liu2004", capfd)[2]
    slept = measured("ib_send_lat -s 8 -n 50 -e", "liu2004", capfd)[2]
    assert 3.5 < slept - polled < 5


COMMAND = "launch --testbed liu2004 -- ib_write_lat -n 20 : ib_write_lat -n 20 server"


@pytest.mark.check
def test_the_same_each_time_whatever_the_machine_does() -> None:
    program("ib_write_lat", PERFTEST)
    program("cc", "gcc")
    command = [sys.executable, "-m", "hcasim", *COMMAND.split()]
    first = subprocess.run(command, capture_output=True, check=True).stdout
    with (
        subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy,
        subprocess.Popen(["sh", "-c", "while :; do :; done"]) as more,
    ):
        second = subprocess.run(["nice", *command], capture_output=True, check=True).stdout
        busy.kill()
        more.kill()
    assert first == second


def test_exit_codes_are_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    assert launched("liu2004", "true", "false", "sh -c 'exit 3'").codes[:2] == (0, 1)


def test_who_waits_for_nothing_is_ended_and_named(capfd: pytest.CaptureFixture[str]) -> None:
    program("ib_write_bw", PERFTEST)
    found = launched("liu2004", "ib_write_bw")
    assert found.ended
    assert (
        "ib_write_bw on node0 waits to read descriptor 5, which is node0:18515"
        in capfd.readouterr().err
    )


def test_what_is_not_described_is_refused_by_name(capfd: pytest.CaptureFixture[str]) -> None:
    program("ib_send_bw", PERFTEST)
    found = launched("liu2004", "ib_send_bw -c XRC -n 10", "ib_send_bw -c XRC -n 10 server")
    assert found.codes[0] != 0
    assert "open_xrcd is not supported" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("server", "code"),
    [
        ("while :; do sleep 1; done", 0),
        ("trap '' TERM; while :; do sleep 1; done", 0),
        ("exit 3", 3),
    ],
)
def test_a_server_ends_when_the_others_have(server: str, code: int) -> None:
    """Its exit code counts if it has ended before."""
    programs = [["sh", "-c", server], ["sleep", "2"]]
    found = launch(find_machine("liu2004", {}, mpi=False), programs, servers=[0])
    assert (found.codes, found.ended) == ((code, 0), False)
    assert found.seconds < 4
