"""What real programs see of the simulated adapters."""

import re
import subprocess
from pathlib import Path

import pytest

from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.launch.test_time import compiled
from tests.programs import header, program

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


@pytest.mark.parametrize(
    ("testbed", "said"), [("lx-10g", "1 0 256 0"), ("liu2004", "0 0 0 0"), ("rashti2007", "0 95")]
)
def test_an_adapter_has_none_of_the_features_of_mlx5(
    testbed: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Newer versions of perftest ask all adapters of Mellanox for them."""
    source = """
        #include <infiniband/mlx5dv.h>
        int main(void)
        {
            struct ibv_device *device = *ibv_get_device_list(NULL);
            struct mlx5dv_context found = {.comp_mask = -1};
            int error = mlx5dv_query_device(ibv_open_device(device), &found);
            printf("%d %d", mlx5dv_is_supported(device), error);
            if (!error) printf(" %ld %ld", found.flags, found.comp_mask);
        }
        """
    header("infiniband/mlx5dv.h", "libibverbs-dev")
    made = compiled(tmp_path, source, "-libverbs", "-lmlx5")
    assert launch(find_machine(testbed, {}, mpi=False), [[made]]).codes == (0,)
    assert capfd.readouterr().out == said


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
