"""What real programs see of the simulated adapters, and of the nodes."""

import re
import subprocess
from pathlib import Path

import pytest

from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.launch.test_time import compiled
from tests.programs import header, program

LIBRARY = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
RANDOM, DBUS = "/proc/sys/kernel/random", "/var/lib/dbus/machine-id"
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


def printed(
    source: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], testbed: str = "liu2004"
) -> str:
    """What a program prints whose main function has a context, named opened."""
    header("infiniband/mlx5dv.h", "libibverbs-dev")
    begin = """
        #include <infiniband/mlx5dv.h>
        #define SAY(value) printf("%ld ", (long)(value))
        int main(void)
        {
            struct ibv_context *opened = ibv_open_device(*ibv_get_device_list(NULL));
        """
    made = compiled(tmp_path, f"{begin}{source}}}", "-libverbs", "-lmlx5")
    assert launch(find_machine(testbed, {}, mpi=False), [[made]]).codes == (0,)
    return capfd.readouterr().out.strip()


@pytest.mark.parametrize(
    ("testbed", "said"), [("lx-10g", "1 0 256 0"), ("liu2004", "0 0 0 0"), ("rashti2007", "0 95")]
)
def test_an_adapter_has_none_of_the_features_of_mlx5(
    testbed: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Newer versions of perftest ask all adapters of Mellanox for them."""
    source = """
        struct mlx5dv_context found = {.comp_mask = -1};
        int error = mlx5dv_query_device(opened, &found);
        SAY(mlx5dv_is_supported(opened->device)); SAY(error);
        if (!error) { SAY(found.flags); SAY(found.comp_mask); }
        """
    assert printed(source, tmp_path, capfd, testbed) == said


def test_objects_in_use_stay_and_queues_may_have_no_entries(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        struct ibv_pd *pd = ibv_alloc_pd(opened);
        struct ibv_cq *cq = ibv_create_cq(opened, 16, NULL, NULL, 0);
        struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 1}};
        struct ibv_mr *mr = ibv_reg_mr(pd, &shared, 64, 0);
        struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD};
        struct ibv_qp *qp = ibv_create_qp(pd, &attr);
        struct ibv_qp_attr to = {.port_num = 1};
        struct ibv_ah_attr there = {.dlid = 1, .port_num = 1};
        struct ibv_send_wr send = {.wr.ud.ah = ibv_create_ah(pd, &there), .opcode = IBV_WR_SEND};
        struct ibv_recv_wr receive = {0};
        void *bad;
        int more[] = {0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN};
        while (++to.qp_state <= IBV_QPS_RTS)
            SAY(ibv_modify_qp(qp, &to, IBV_QP_STATE | more[to.qp_state]));
        SAY(attr.cap.max_send_wr); SAY(ibv_post_send(qp, &send, &bad));
        SAY(attr.cap.max_recv_wr); SAY(ibv_post_recv(qp, &receive, &bad));
        ibv_destroy_qp(qp); ibv_destroy_ah(send.wr.ud.ah);
        attr.srq = ibv_create_srq(pd, &shared);
        qp = ibv_create_qp(pd, &attr);
        SAY(ibv_dealloc_pd(pd)); SAY(ibv_destroy_srq(attr.srq)); SAY(ibv_destroy_cq(cq));
        SAY(ibv_destroy_qp(qp)); SAY(ibv_destroy_cq(cq)); SAY(ibv_dealloc_pd(pd));
        SAY(ibv_destroy_srq(attr.srq)); SAY(ibv_dealloc_pd(pd));
        SAY(ibv_dereg_mr(mr)); SAY(ibv_dealloc_pd(pd));
        """
    modified, posted, destroyed = "0 0 0 ", "0 12 0 12 ", "16 16 16 0 0 16 0 16 0 0"
    assert printed(source, tmp_path, capfd) == modified + posted + destroyed


def test_files_say_which_node_it_is_however_they_are_opened(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        int __open_2(const char *, int), __open64_2(const char *, int);
        int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);
        #define SHOW(file) text[read(file, text, 63)] = 0, printf("%s", text)
        int main(int count, char **path)
        {
            char text[64];
            int at = AT_FDCWD;
            printf("%08x\\n", (unsigned)gethostid());
            while (*++path) {
                SHOW(open(*path, 0)); SHOW(open64(*path, 0));
                SHOW(__open_2(*path, 0)); SHOW(__open64_2(*path, 0));
                SHOW(openat(at, *path, 0)); SHOW(openat64(at, *path, 0));
                SHOW(__openat_2(at, *path, 0)); SHOW(__openat64_2(at, *path, 0));
                SHOW(fileno(fopen(*path, "r"))); SHOW(fileno(fopen64(*path, "r")));
            }
        }
        """
    names, numbers = ["/proc/sys/kernel/hostname", "/etc/hostname"], ["/etc/machine-id", DBUS]
    command = [compiled(tmp_path, source), f"{RANDOM}/boot_id", *names, *numbers]
    assert launch(find_machine("liu2004", {}, mpi=False), [command, command]).codes == (0, 0)
    expected = ["007f0101", "007f0201"]
    for node in range(2):
        one = node + 1
        boot, number = f"{one:08}-{one:04}-4000-8000-{one:012}", f"{one:032}"
        expected += [boot, *[f"node{node}"] * 2, *[number] * 2] * 10
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(expected)


def test_drawn_identifiers_are_the_same_in_each_run(capfd: pytest.CaptureFixture[str]) -> None:
    command, machine = ["cat", *[f"{RANDOM}/uuid"] * 2], find_machine("liu2004", {}, mpi=False)
    launch(machine, [command] * 2)
    first = capfd.readouterr().out
    launch(machine, [command] * 2)
    assert capfd.readouterr().out == first
    assert len(set(first.split())) == 4
