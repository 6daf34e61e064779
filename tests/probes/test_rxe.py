"""The probes measure a software adapter, in a virtual machine, and their traces hold together.

No time is asserted: the guest is emulated and the adapter is software.
"""

import hashlib
import json
import math
import re
import struct
import subprocess
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest

from hcasim.traces import Measured, Point, Trace, read_trace
from tests.probes.machine import ADDRESSES, Machine, Outcome, Unavailable, give_up

pytestmark = pytest.mark.slow

EVERY = """
write_lat size=1,4K inline=no qps=1,2 iters=40 warmup=2
write_lat size=8 inline=yes iters=20 warmup=2
send_lat size=8 iters=20 warmup=2
send_lat size=4K qps=3 pattern=zipf iters=20 warmup=2
read_lat size=8 qps=2 pattern=random iters=40 warmup=2
atomic_lat op=fetch_add,cmp_swap iters=40 warmup=2
qp_lat qps=1,4 iters=4 warmup=1
scatter qps=1,8 size=1K iters=20 warmup=1
loopback_lat size=8 qps=2 iters=1500 warmup=2
write_bw size=1 window=8 iters=5 warmup=1
write_bw size=64K window=8 qps=3 iters=5 warmup=1
write_bw size=4K window=16 reuse=50 buffers=5 iters=5 warmup=1
write_bw size=64K window=8 ports=2 mode=striping iters=5 warmup=1
write_bibw size=4K window=8 iters=5 warmup=1
write_bibw size=4K,64K window=8 ports=2 mode=striping,binding iters=5 warmup=1
send_bw size=4K window=8 qps=2 iters=5 warmup=1
send_bw size=4K window=8 reuse=0 buffers=3 iters=5 warmup=1
send_bibw size=4K window=8 iters=5 warmup=1
read_bw size=4K window=8 qps=2 iters=5 warmup=1
reg_mr size=4K iters=100 warmup=1
reg_mr size=4M page_size=2M iters=5 warmup=1
post_cost size=8 window=1,8 iters=20 warmup=2
"""

BY_HAND = """
write_lat size=4K mtu=512 iters=20 warmup=2
send_bibw size=4K window=8 iters=5 warmup=1
read_lat size=4K iters=20 warmup=2
loopback_lat size=8 iters=1500 warmup=0
write_bw size=64K window=8 ports=2 mode=striping iters=5 warmup=1
"""

LOCAL = "IBV_WC_LOC_(PROT|QP_OP|LEN)_ERR: "
REMOTE = "IBV_WC_REM_ACCESS_ERR: remote access error"
LOST = "IBV_WC_RETRY_EXC_ERR: transport retry counter exceeded"
FAULTS = (
    ("write_lat", "rkey", REMOTE),
    ("write_lat", "lkey", LOCAL),
    ("write_lat", "size", LOCAL),
    ("write_lat", "qp", LOST),
    ("send_lat", "size", LOCAL),
    ("send_lat", "qp", LOST),
    ("read_lat", "rkey", REMOTE),
    ("read_lat", "size", REMOTE),
    ("atomic_lat", "rkey", REMOTE),
    ("qp_lat", "lkey", LOCAL),
    ("scatter", "size", LOCAL),
    ("write_bw", "rkey", REMOTE),
    ("write_bibw", "rkey", REMOTE),
    ("write_bibw", "size", REMOTE),
    ("send_bw", "size", LOCAL),
    ("read_bw", "rkey", REMOTE),
)

SCRIPT = f"""
both="{",".join(ADDRESSES)}"
there="--server {ADDRESSES[0]} --bind $both"
echo 8 > /proc/sys/vm/nr_hugepages

checked serve --bind $both 2> serve.txt &
server=$!
until grep -q listening serve.txt; do usleep 50000; done
checked run /job/every $there -o every.jsonl --clock monotonic --deadline 60
echo every $? >> codes
checked run /job/faults $there --connect hand -o faults.jsonl --seed 0 --deadline 20
echo faults $? >> codes

for signal in INT TERM HUP; do
  checked run /job/endless $there -o ended-$signal.jsonl &
  client=$!
  until grep -q '"record": "point"' ended-$signal.jsonl; do usleep 50000; done
  kill -$signal $client
  wait $client
  echo ended-$signal $? >> codes
done
kill -STOP $server
checked run /job/silent $there -o silent.jsonl --seed 0 --deadline 1
echo silent $? >> codes
kill -CONT $server
checked run /job/after $there -o after.jsonl --deadline 60
echo after $? >> codes
checked run /job/endless $there -o stopped.jsonl --seed 0 --deadline 2 &
client=$!
until grep -q '"record": "point"' stopped.jsonl; do usleep 50000; done
usleep 500000
kill -STOP $server
wait $client
echo stopped $? >> codes
kill -CONT $server
kill -TERM $server
wait $server
echo server $? >> codes
plain run /job/silent $there -o gone.jsonl --seed 0 --deadline 1
echo gone $? >> codes

plain serve --bind $both 2> serve2.txt &
server=$!
until grep -q listening serve2.txt; do usleep 50000; done
plain run /job/by_hand $there --connect hand -o by_hand.jsonl --raw --deadline 60
echo by_hand $? >> codes
plain run /job/endless $there -o left.jsonl --seed 0 &
client=$!
until grep -q '"record": "point"' left.jsonl; do usleep 50000; done
usleep 500000
kill -KILL $server
wait $client
echo left $? >> codes
checked run /job/local --device rxe1 -o local.jsonl
echo local $? >> codes
HCASIM_SYSFS=/job/sys plain header --device rxe1 > header.jsonl
echo header $? >> codes
plain header --device rxe1 > /dev/full 2> full.txt
echo full_header $? >> codes
plain run /job/local --device rxe1 > /dev/full 2>> full.txt
echo full_run $? >> codes
"""


def fake_sysfs(top: Path) -> Path:
    """A PCI Express function with MPS 256 and MRRS 512, behind another capability."""
    device = top / "class" / "infiniband" / "rxe1" / "device"
    device.mkdir(parents=True)
    config = bytearray(256)
    config[0x34] = 0x40
    config[0x40:0x42] = (0x01, 0x60)
    config[0x60:0x62] = (0x10, 0x00)
    struct.pack_into("<H", config, 0x68, 1 << 5 | 2 << 12)
    (device / "config").write_bytes(config)
    (device / "current_link_speed").write_text("8.0 GT/s PCIe\n")
    (device / "current_link_width").write_text("8\n")
    (device / "driver").symlink_to("somewhere/mlx5_core")
    return top


@pytest.fixture(scope="module")
def outcome(
    probes: Path,
    checked_probes: Path,
    machine: Machine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Outcome:
    """Everything that is run in the guest, in one go."""
    folder = tmp_path_factory.mktemp("guest")
    plans = {
        "every": EVERY,
        "by_hand": BY_HAND,
        "faults": "".join(f"{name} fault={what} iters=3 warmup=0\n" for name, what, _ in FAULTS),
        "endless": "reg_mr size=4K iters=5\nwrite_lat iters=10000000\n",
        "silent": "reg_mr size=4K iters=5\nwrite_lat\nread_lat\nscatter\nsend_lat\n",
        "local": "reg_mr iters=5\nloopback_lat qps=2 iters=20\npost_cost iters=20\n",
        "after": "write_lat iters=5 warmup=0\n",
    }
    files = {"plain": probes, "checked": checked_probes, "sys": fake_sysfs(folder / "sys")}
    for name, text in plans.items():
        files[name] = folder / name
        files[name].write_text(text)
    (folder / "out").mkdir()
    try:
        return machine.run(SCRIPT, files, folder / "out")
    except Unavailable as reason:
        give_up(str(reason))


@pytest.fixture(scope="module")
def trace(outcome: Outcome) -> Callable[[str], Trace]:
    return lambda name: read_trace(outcome.folder / f"{name}.jsonl")


@pytest.fixture(scope="module")
def codes(outcome: Outcome) -> dict[str, int]:
    assert outcome.status == 0, (outcome.folder / "stderr.txt").read_text()
    lines = (outcome.folder / "codes").read_text().splitlines()
    return {name: int(code) for name, code in (line.split() for line in lines)}


def planned(probes: Path, plan: str) -> list[tuple[str, dict[str, object]]]:
    """The points of a plan in their order, with options as a trace has them."""
    done = subprocess.run([probes, "check", "-"], input=plan, capture_output=True, text=True)
    points = []
    for line in done.stdout.splitlines():
        workload, *words = line.split()
        options: dict[str, object] = {}
        for key, value in (word.split("=") for word in words):
            flag = {"yes": True, "no": False}.get(value, value)
            options[key] = int(value) if value.isdigit() else flag
        points.append((workload, options))
    return points


def values(measured: Measured) -> list[float]:
    return [*measured.samples] or [one for one, often in measured.histogram for _ in range(often)]


def quantum(numbers: list[float]) -> int:
    """The largest step in half nanoseconds that all numbers are multiples of."""
    return reduce(math.gcd, (round(2 * number) for number in numbers))


@pytest.mark.parametrize(("name", "plan"), [("every", EVERY), ("by_hand", BY_HAND)])
def test_every_point_of_a_plan_is_measured_in_its_order(
    name: str, plan: str, trace: Callable[[str], Trace], codes: dict[str, int], probes: Path
) -> None:
    found = trace(name)
    assert (found.failures, codes[name]) == ((), 0)
    assert [(one.workload, one.options) for one in found.points] == planned(probes, plan)
    assert found.end is not None
    assert (found.end.complete, found.end.reason) == (True, "")
    assert found.header.plan is not None
    assert (found.header.plan.points, found.header.plan.seed) == (len(found.points), 1)
    assert found.header.plan.sha256 == hashlib.sha256(plan.encode()).hexdigest()


def test_the_sanitizers_have_found_nothing(outcome: Outcome, codes: dict[str, int]) -> None:
    for name in ("stderr.txt", "serve.txt"):
        text = (outcome.folder / name).read_text()
        assert "Sanitizer" not in text
        assert "runtime error" not in text
    assert codes["server"] == 0


def test_each_point_has_a_sample_for_each_iteration(trace: Callable[[str], Trace]) -> None:
    for point in (*trace("every").points, *trace("by_hand").points):
        for measured in point.measured:
            if measured.statistics is not None:
                assert measured.statistics.count == point.options["iters"]
            else:
                assert len(values(measured)) == point.options["iters"], point.workload
                assert min(values(measured)) > 0


def test_many_samples_become_a_histogram_unless_raw_ones_are_wanted(
    trace: Callable[[str], Trace],
) -> None:
    def loopback(name: str) -> Measured:
        (point,) = (one for one in trace(name).points if one.workload == "loopback_lat")
        return point.measured[0]

    assert sum(count for _, count in loopback("every").histogram) == 1500
    assert len(loopback("by_hand").samples) == 1500


def test_writes_and_sends_count_half_a_round_trip_and_the_others_a_whole_one(
    trace: Callable[[str], Trace],
) -> None:
    """The clock's step shows it: halves of whole nanoseconds are not always whole steps."""
    found: dict[str, list[float]] = {}
    for point in trace("every").points:
        for measured in point.measured:
            if measured.statistics is None:
                found.setdefault(point.workload, []).extend(values(measured))
    step = quantum(found["reg_mr"])
    assert step > 1
    for workload in ("write_lat", "send_lat", "loopback_lat"):
        assert quantum(found[workload]) < step, workload
    for workload in ("read_lat", "atomic_lat", "scatter", "post_cost", "write_bw", "send_bibw"):
        assert quantum(found[workload]) % step == 0, workload


def test_bandwidths_follow_from_their_windows(trace: Callable[[str], Trace]) -> None:
    streams = [one for one in trace("every").points if one.workload.endswith("bw")]
    assert {one.workload for one in streams} == {
        *("write_bw", "write_bibw", "send_bw", "send_bibw", "read_bw")
    }
    for point in streams:
        bandwidth, rate, window = point.measured
        assert (bandwidth.quantity, rate.quantity, window.name) == ("bandwidth", "rate", "window")
        assert bandwidth.statistics is not None
        assert rate.statistics is not None
        ways = 2 if "bibw" in point.workload else 1
        messages = ways * int(point.options["window"])
        times = sorted(window.samples)
        expected = {
            "minimum": messages / times[-1],
            "median": messages / times[len(times) // 2],
            "mean": messages * len(times) / sum(times),
            "maximum": messages / times[0],
        }
        for name, per_ns in expected.items():
            size = int(point.options["size"])
            assert getattr(rate.statistics, name) == pytest.approx(per_ns * 1e3, rel=1e-6)
            assert getattr(bandwidth.statistics, name) == pytest.approx(
                per_ns * size * 1e3, rel=1e-6
            )


def test_calls_are_told_apart_by_name(trace: Callable[[str], Trace]) -> None:
    names = {
        point.workload: [(one.quantity, one.name) for one in point.measured]
        for point in trace("every").points
    }
    assert names["reg_mr"] == [("time", "registration"), ("time", "deregistration")]
    assert names["post_cost"] == [("time", "post_send"), ("time", "poll_cq")]
    assert names["write_lat"] == [("latency", "")]


def test_the_header_tells_the_adapter_its_link_and_the_clock(
    trace: Callable[[str], Trace],
) -> None:
    header = trace("every").header
    assert header.tool.name == "hcasim-probes"
    assert header.tool.command.startswith("checked run /job/every")
    assert (header.device.name, header.device.driver) == ("rxe0", "rdma_rxe")
    assert (header.device.transport, header.port.layer) == ("roce", "ethernet")
    assert (header.port.mtu, header.pci, header.host.cpus) == (4096, None, 2)
    assert "QEMU" in header.host.cpu
    assert re.match(r"\d+\.\d+\.\d+-", header.host.kernel)
    assert header.clock is not None
    assert header.clock.source == "monotonic"
    assert header.clock.overhead_ns is not None
    assert header.clock.overhead_ns > 0
    assert "the second port is port 1 of rxe1" in header.notes


def test_the_slot_is_read_from_sysfs(outcome: Outcome, codes: dict[str, int]) -> None:
    header = json.loads((outcome.folder / "header.jsonl").read_text())
    assert codes["header"] == 0
    assert header["device"]["driver"] == "mlx5_core"
    assert header["pci"] == {
        "generation": 3,
        "lanes": 8,
        "max_payload": 256,
        "max_read_request": 512,
    }


def test_a_full_disk_is_noticed(outcome: Outcome, codes: dict[str, int]) -> None:
    assert (codes["full_header"], codes["full_run"]) == (2, 1)
    said = (outcome.folder / "full.txt").read_text().splitlines()
    fault = "standard output: cannot be written: No space left on device"
    assert (said[0], said[-1], said.count(fault)) == (fault, fault, 2)


def test_a_wrong_key_size_or_queue_pair_is_reported_by_the_name_of_its_error(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("faults")
    assert (found.points, codes["faults"]) == ((), 1)
    for one, (workload, fault, error) in zip(found.failures, FAULTS, strict=True):
        assert (one.workload, one.options["fault"]) == (workload, fault)
        assert re.match(error, one.error), (workload, fault, one.error)


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
def test_a_run_that_a_signal_ends_leaves_a_valid_trace(
    name: str, code: int, trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace(f"ended-{name}")
    assert codes[f"ended-{name}"] == code
    assert [one.workload for one in found.points] == ["reg_mr"]
    assert found.end is not None
    assert (found.end.complete, found.end.reason) == (False, f"SIG{name}")


def failed(found: Trace) -> list[tuple[str, str]]:
    return [(one.workload, one.error) for one in found.failures]


def measured_workloads(found: Trace) -> list[str]:
    return [one.workload for one in found.points if isinstance(one, Point)]


def test_a_server_that_never_answers_costs_three_deadlines_and_ends_the_run(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("silent")
    silence = "deadline of 1 s: the server is silent"
    assert codes["silent"] == 1
    assert measured_workloads(found) == ["reg_mr"]
    assert failed(found) == [(name, silence) for name in ("write_lat", "read_lat", "scatter")]
    assert found.end is not None
    assert (found.end.complete, found.end.reason) == (False, "the server does not answer")


def test_a_server_goes_on_after_clients_that_have_left(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    assert codes["after"] == 0
    assert measured_workloads(trace("after")) == ["write_lat"]


def test_a_server_that_stops_amid_a_point_costs_its_deadline(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("stopped")
    assert codes["stopped"] == 1
    ((workload, error),) = failed(found)
    # A slow guest may have stopped it before its first word.
    assert (workload, error.removesuffix(": the server is silent")) == (
        "write_lat",
        "deadline of 2 s",
    )


def test_a_server_that_is_killed_is_missed_at_once(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    ((workload, error),) = failed(trace("left"))
    assert (codes["left"], workload) == (1, "write_lat")
    assert error.startswith("the server has left")


def test_what_needs_no_server_runs_on_a_port_without_an_address(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("local")
    assert codes["local"] == 0
    assert found.header.device.name == "rxe1"
    assert sorted(measured_workloads(found)) == ["loopback_lat", "post_cost", "reg_mr"]


def test_without_a_server_each_failure_says_that_there_is_none(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("gone")
    assert codes["gone"] == 1
    errors = {error for _, error in failed(found)}
    assert errors == {f"no connection to {ADDRESSES[0]} port 18590: Connection refused"}
