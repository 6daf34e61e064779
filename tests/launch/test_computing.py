"""What programs compute between calls takes what their tool's loop takes, nothing, or real time."""

import re
import subprocess
from pathlib import Path

import pytest

from hcasim import bench
from hcasim.launch import launch
from hcasim.launch.computing import Computing, read_computing
from hcasim.runs.machine import find_machine
from tests.programs import program

WORKS = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The system's own clock of the processor time of this thread. */
static double worked_ms(void)
{
	struct timespec t;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main(void)
{
	struct timespec from, to;
	double began = worked_ms();
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (worked_ms() < began + 50)
		;
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%f\n", (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) * 1e-6);
}
"""


def rate(word: str | None, capfd: pytest.CaptureFixture[str]) -> float:
    """Millions of writes a second that ib_write_bw prints of lists of them."""
    program("cc", "gcc")
    program("ib_write_bw", "perftest")
    machine = find_machine("pair", {"adapter": "connectx6"}, mpi=False)
    command = ["ib_write_bw", "-s", "2", "-q", "8", "-l", "16", "-n", "1600"]
    computing = Computing() if word is None else read_computing(word)
    launch(machine, [command, [*command, "server"]], computing=computing)
    table = re.findall(
        r"^ ?2 +\d+ +[\d.]+ +[\d.]+\s+([\d.]+)$", capfd.readouterr().out, re.MULTILINE
    )
    return float(table[-1])


def test_a_program_of_perftest_has_the_loop_of_its_benchmark(
    capfd: pytest.CaptureFixture[str],
) -> None:
    how = {"size": 2, "qps": 8, "post_list": 16, "iters": 1600, "adapter": "connectx6"}
    [row] = bench("write_bw", "pair", **how).rows
    by_name = rate(None, capfd)
    assert by_name == pytest.approx(row["rate_Mps"], rel=0.02)
    assert rate("perftest", capfd) == by_name
    assert rate("0", capfd) > 2 * by_name


def test_names_say_whose_loop_a_program_has() -> None:
    names = ("ib_write_bw", "ib_send_lat", "ib_of_mine", "write_bw")
    assert [Computing().cycles(one) for one in names] == [150, 0, 0, 0]
    assert [read_computing("perftest").cycles(one) for one in names] == [150] * 4
    assert [read_computing("0").cycles(one) for one in names] == [0] * 4


@pytest.mark.parametrize(
    ("word", "least", "most"), [("0", 0, 0.001), ("1.0", 25, 51), ("2", 52, 102)]
)
def test_processor_time_by_a_factor(
    word: str, least: float, most: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    compiler, source, made = program("cc", "gcc"), tmp_path / "a.c", tmp_path / "a"
    source.write_text(WORKS)
    subprocess.run([compiler, "-O1", "-o", made, source], check=True)
    machine = find_machine("liu2004", {}, mpi=False)
    assert launch(machine, [[str(made)]], computing=read_computing(word)).codes == (0,)
    assert least <= float(capfd.readouterr().out) <= most
