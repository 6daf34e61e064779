"""perftest, unmodified, prints on simulated adapters what was published of real ones.

Options are those of the sources; iterations are fewer, because time is simulated.
"""

import re

import pytest

from hcasim.launch import launch
from hcasim.papers.loader import load_scenario
from hcasim.runs.machine import find_machine
from tests.programs import program

PRINTED = {"MiB/s": (1, 1.0), "Gbit/s": (1, 2**23 / 1e9), "M/s": (2, 1.0), "us": (2, 1.0)}
"""Of each unit the column behind the size and the iterations, and by what that is multiplied."""

SHORT = [
    ("connectx3-write-bw", "N002", "ib_write_bw -s 2 -n 2000"),
    ("connectx3-read-bw", "N281", "ib_read_bw -s 2048 -n 1000"),
    ("connectx3-atomics", "N298", "ib_atomic_bw -n 1000"),
]
LONG = [
    ("connectx3-write-bw", "N015", "ib_write_bw -s 4096 -n 1000"),
    ("connectx3-write-lat", "N265", "ib_write_lat -s 1024 -n 100"),
    ("mlx5-uc-write-bw", "N480", "ib_write_bw -c UC -q 2 -s 2048 -n 2000"),
    ("mtu-1024-datagram-lat", "N256", "ib_send_lat -c UD -s 1024 -n 200 -I 188 -m 1024"),
    ("mtu-1024-send-lat", "N250", "ib_send_lat -R -s 4096 -n 600 -I 188 -m 1024"),
    ("connectx4-lx-send-bw", "N423", "ib_send_bw -s 512 -n 2000"),
    ("roce-400g-write-bw", "H145", "ib_write_bw -s 131072 -n 300"),
]


@pytest.mark.parametrize(
    ("scenario", "claim", "command"),
    [*SHORT, *(pytest.param(*one, marks=pytest.mark.check) for one in LONG)],
)
def test_published(
    scenario: str, claim: str, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    program("cc", "gcc")
    program(command.split()[0], "perftest")
    described = load_scenario(f"modern/{scenario}")
    [stated] = [one for one in described.claims if one.id == claim]
    assert stated.deviation is None
    [measure] = stated.measure
    adapter = described.series[measure.series[0]].adapter
    machine = find_machine(described.testbed, {"adapter": adapter}, mpi=False)
    words = command.split()
    assert launch(machine, [words, [*words, "server"]]).codes == (0, 0)
    table = re.findall(r"^ ?\d+ +\d+ +([\d. \t]+)$", capfd.readouterr().out, re.MULTILINE)
    column, factor = PRINTED[stated.unit]
    printed = float(table[-1].split()[column]) * factor
    assert printed == pytest.approx(stated.published, rel=stated.allowed_error)
