"""UCX and MPI over it, unmodified, run on simulated adapters."""

import re
import subprocess
from pathlib import Path

import pytest

from hcasim import bench
from tests.launch.test_programs import launched
from tests.programs import program

UTILS = "ucx-utils"


def test_the_adapter_is_found(capfd: pytest.CaptureFixture[str]) -> None:
    program("ucx_info", UTILS)
    assert launched("ucx-hdr", "ucx_info -d").codes == (0,)
    said = capfd.readouterr().out
    assert re.findall(r"Transport: (\w+_verbs)\n#\s+Device: (\S+)", said) == [
        ("rc_verbs", "mlx5_0:1"),
        ("ud_verbs", "mlx5_0:1"),
    ]


@pytest.mark.parametrize("testbed", ["ucx-hdr", "roce-100g"])
def test_a_message_takes_as_long_as_a_send(
    testbed: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """UCX polls two queues and posts receives in bulk, where perftest polls one.

    It takes no node for its own, of which it would share the memory.
    """
    program("ucx_perftest", UTILS)
    monkeypatch.setenv("UCX_LOG_LEVEL", "info")
    command = "ucx_perftest server -t tag_lat -n 100 -w 10"
    assert launched(testbed, "ucx_perftest", command).codes == (0, 0)
    said = capfd.readouterr().out
    assert said.count("tag(rc_verbs/mlx5_0:1)") == 2
    [typical] = re.findall(r"^Final: +\d+ +([\d.]+)", said, re.MULTILINE)
    [row] = bench("send_lat", testbed, size=8).rows
    assert float(typical) == pytest.approx(row["latency_us"], rel=0.1)


PINGPONG = r"""
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words)
{
	char data[8] = {0}, name[MPI_MAX_PROCESSOR_NAME];
	double began = 0;
	int rank;

	MPI_Init(&count, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Get_processor_name(name, &count);
	for (int i = 0; i < 60; i++) {
		if (i == 10)
			began = MPI_Wtime();
		if (rank)
			MPI_Recv(data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(data, 8, MPI_BYTE, !rank, 1, MPI_COMM_WORLD);
		if (!rank)
			MPI_Recv(data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	printf("rank %d on %s: %.3f us\n", rank, name, (MPI_Wtime() - began) / 100 * 1e6);
	return MPI_Finalize();
}
"""


@pytest.mark.check
@pytest.mark.parametrize(
    ("library", "package", "words"),
    [("mpich", "mpich", ""), ("openmpi", "openmpi-bin", "--allow-run-as-root --mca pml ucx")],
)
def test_mpi_starts_ranks_on_nodes(
    library: str, package: str, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, made = tmp_path / "pingpong.c", tmp_path / "pingpong"
    source.write_text(PINGPONG)
    subprocess.run(
        [program(f"mpicc.{library}", f"lib{library}-dev"), "-o", made, source], check=True
    )
    run = program(f"mpirun.{library}", package)
    command = f"{run} {words} --host node0,node1 -n 2 {made}"
    assert launched("ucx-hdr", command).codes == (0,)
    found = sorted(re.findall(r"rank (\d) on (\w+): ([\d.]+) us", capfd.readouterr().out))
    assert [one[:2] for one in found] == [("0", "node0"), ("1", "node1")]
    [row] = bench("send_lat", "ucx-hdr", size=8).rows
    assert float(found[0][2]) == pytest.approx(row["latency_us"], rel=0.1)
