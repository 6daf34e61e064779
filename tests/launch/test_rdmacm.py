"""Real programs connect through the connection manager's device."""

import re
from pathlib import Path

import pytest

from hcasim import bench
from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.launch.test_time import compiled
from tests.programs import header, program

RDMACM, PERFTEST = "rdmacm-utils", "perftest"
RPING, PONG = ("rping -s -C 2 -v", "rping -c -C 2 -a server"), "server ping data: rdma-ping-1"


def ended(testbed: str, *commands: str) -> tuple[int, ...]:
    return launch(find_machine(testbed, {}, mpi=False), [one.split() for one in commands]).codes


@pytest.mark.parametrize("testbed", ["liu2004", "pair-roce"])
@pytest.mark.parametrize(
    ("server", "client", "said"),
    [
        ("ucmatose -c 2 -C 3", "ucmatose -c 2 -C 3 -s server", "test complete"),
        ("udaddy -C 3", "udaddy -C 3 -s server", "data transfers complete"),
        ("rdma_server", "rdma_client -s server", "rdma_server: end 0"),
        (*RPING, PONG),
    ],
)
def test_programs_connect(
    testbed: str, server: str, client: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    program(server.split()[0], RDMACM)
    program("cc", "gcc")
    assert ended(testbed, server, client) == (0, 0)
    assert said in capfd.readouterr().out


def test_a_queue_pair_of_iwarp_ends_with_its_connection(capfd: pytest.CaptureFixture[str]) -> None:
    program("rping", RDMACM)
    program("cc", "gcc")
    assert ended("rashti2007", *RPING) == (0, 0)
    assert PONG in capfd.readouterr().out


def test_datagrams_of_sockets_are_waited_for_by_a_long_loop(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Without -b its server hears the loop only; it goes on until it is ended."""
    server, client = "udpong -b node0 -C 10 -S 64", "udpong -s server -C 10 -S 64"
    program("udpong", RDMACM)
    program("cc", "gcc")
    machine = find_machine("liu2004", {}, mpi=False)
    found = launch(machine, [server.split(), client.split()], until_ps=10**10)
    assert found.codes[1] == 0
    took = re.search(r"custom +64 +10 .* ([\d.]+)$", capfd.readouterr().out, re.MULTILINE)
    assert took is not None
    assert 2 < float(took[1]) < 5


def test_who_joins_a_group_gets_its_datagrams(capfd: pytest.CaptureFixture[str]) -> None:
    program("mckey", RDMACM)
    program("cc", "gcc")
    common = "mckey -m 224.0.0.7 -C 3 -b"
    assert ended("pair-roce", f"{common} node0", f"{common} node1 -s") == (0, 0)
    assert "receiving data transfers\ndata transfers complete" in capfd.readouterr().out


def test_nobody_listens(capfd: pytest.CaptureFixture[str]) -> None:
    program("ucmatose", RDMACM)
    program("cc", "gcc")
    assert ended("liu2004", "true", "ucmatose -s server")[1] != 0
    assert "RDMA_CM_EVENT_REJECTED, error: 8" in capfd.readouterr().out


def test_perftest_measures_the_same_over_it(capfd: pytest.CaptureFixture[str]) -> None:
    command = f"{program('ib_write_bw', PERFTEST)} -R -s 65536 -n 100"
    program("cc", "gcc")
    assert ended("liu2004", command, f"{command} server") == (0, 0)
    table = re.search(r"65536\s+100\s+[\d.]+\s+([\d.]+)", capfd.readouterr().out)
    assert table is not None
    [row] = bench("write_bw", "liu2004", size="64K").rows
    assert float(table[1]) * 2**20 / 1e6 == pytest.approx(row["bandwidth_MBps"], rel=0.01)


def test_who_is_killed_disconnects(capfd: pytest.CaptureFixture[str]) -> None:
    program("rping", RDMACM)
    program("cc", "gcc")
    killed = "rping -c -a server -C 100000 & sleep 0.003; kill -9 $!"
    machine = find_machine("liu2004", {}, mpi=False)
    assert launch(machine, [["rping", "-s"], ["sh", "-c", killed]]).codes == (0, 0)
    assert "DISCONNECT EVENT" in capfd.readouterr().err


def test_a_child_has_nothing_of_the_channels_of_its_parent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It may close their descriptors, as daemons do, which go on in the parent."""
    source = """
        #include <rdma/rdma_cma.h>
        #define MAKE() rdma_create_id(channel, &made, NULL, RDMA_PS_TCP)
        int main(void)
        {
            struct rdma_event_channel *channel = rdma_create_event_channel();
            struct rdma_cm_id *made;
            if (!fork()) {
                printf("%d ", MAKE()), printf("%d ", close(channel->fd));
                channel = rdma_create_event_channel();
            }
            wait(NULL);
            printf("%d ", MAKE());
        }
        """
    header("rdma/rdma_cma.h", "librdmacm-dev")
    made = compiled(tmp_path, source, "-lrdmacm", "-libverbs")
    assert ended("liu2004", made) == (0,)
    assert capfd.readouterr().out == "-1 0 0 0 "
