"""The probes measure a software adapter, in a virtual machine, and their traces hold together.

No time is asserted: the guest is emulated and the adapter is software.
"""

import hashlib
import json
import math
import re
import subprocess
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest

from hcasim.traces import Measured, Trace
from tests.probes.guest import BY_HAND, EVERY

pytestmark = pytest.mark.check


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


def test_the_sanitizers_have_found_nothing(results: Path, codes: dict[str, int]) -> None:
    for name in ("stderr.txt", "serve.txt"):
        text = (results / name).read_text()
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
    for workload in ("read_lat", "atomic_lat", "scatter", "post_cost", "window_bw", "window_bibw"):
        assert quantum(found[workload]) % step == 0, workload


def test_bandwidths_follow_from_their_windows(trace: Callable[[str], Trace]) -> None:
    streams = [one for one in trace("every").points if one.workload.endswith("bw")]
    assert {(one.workload, one.options["verb"]) for one in streams} == {
        *(("window_bw", verb) for verb in ("write", "send", "read")),
        *(("window_bibw", verb) for verb in ("write", "send")),
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


def test_the_slot_is_read_from_sysfs(results: Path, codes: dict[str, int]) -> None:
    header = json.loads((results / "header.jsonl").read_text())
    assert codes["header"] == 0
    assert header["device"]["driver"] == "mlx5_core"
    assert header["pci"] == {
        "generation": 3,
        "lanes": 8,
        "max_payload": 256,
        "max_read_request": 512,
    }


def test_a_full_disk_is_noticed(results: Path, codes: dict[str, int]) -> None:
    assert (codes["full_header"], codes["full_run"]) == (2, 1)
    said = (results / "full.txt").read_text().splitlines()
    fault = "standard output: cannot be written: No space left on device"
    assert (said[0], said[-1], said.count(fault)) == (fault, fault, 2)
