"""What real programs see of the simulated adapters."""

import re
import subprocess

import pytest

from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.programs import program

LIBRARY = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
WITHOUT_OBJECTS = re.compile(
    "__|ibv_cmd_|verbs_|_verbs|execute_ioctl|ibv_register_driver|ibv_read_ibdev_sysfs_file"
    "|ibv_copy_|ibv_.*_str$|ibv_get_sysfs_path|ibv_rate_to|mult_to|mbps_to|IBVERBS"
)
"""Of strings and rates, and what only libraries of providers call."""


@pytest.mark.parametrize(
    ("testbed", "told"),
    [
        (
            "liu2004",
            {
                "hca_id": "mthca0",
                "vendor_part_id": "25208",
                "phys_port_cnt": "2",
                "active_mtu": "1024 (3)",
                "link_layer": "InfiniBand",
                "active_width": "4X (2)",
                "GID[  0]": "fe80:0000:0000:0000:0002:c903:0000:0001",
            },
        ),
        (
            "lx-10g",
            {
                "hca_id": "mlx5_0",
                "fw_ver": "14.31.2006",
                "link_layer": "Ethernet",
                "port_lid": "0",
                "GID[  0]": "fe80::ff:fe00:1, RoCE v2",
            },
        ),
        ("rashti2007", {"hca_id": "nes0", "transport": "iWARP (1)"}),
    ],
)
def test_ibv_devinfo_tells_what_the_description_says(
    testbed: str, told: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    command = program("ibv_devinfo", "ibverbs-utils"), "-v"
    program("cc", "gcc")
    assert launch(find_machine(testbed, {}, mpi=False), [command]).codes == (0,)
    lines = [one.split(":\t", 1) for one in capfd.readouterr().out.splitlines() if ":\t" in one]
    found: dict[str, str] = {}
    for name, value in lines:
        found.setdefault(name.strip(), value.strip())
    assert {name: found.get(name) for name in told} == told


def test_every_function_that_takes_an_object_is_overridden() -> None:
    from hcasim.launch.library import library

    program("nm", "binutils")
    program("cc", "gcc")
    program("ibv_devinfo", "ibverbs-utils")
    missing = _exported(LIBRARY) - _exported(str(library()))
    assert {one for one in missing if not WITHOUT_OBJECTS.match(one)} == set()


def _exported(file: str) -> set[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True)
    return {line.split()[2].partition("@")[0] for line in done.stdout.splitlines()}
