"""Settings that make no sense, or contradict each other, are refused in a sentence."""

from typing import Any

import numpy as np
import pytest

from hcasim.catalog import CatalogError, resolve
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from hcasim.workloads import WORKLOADS


def points(workload: str, testbed: Any, **request: Any) -> list[Point]:
    return Experiment.of(workload, testbed, **request).benchmark()


def faults_of(workload: str = "window_bw", testbed: Any = "liu2004", **request: Any) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        points(workload, testbed, **request)
    return caught.value.faults


def test_a_point_is_refused_alone_and_among_others() -> None:
    allowed = "window_bytes: found 1024 with size 4096; allowed: from the size, or 0"
    among = {"size": "64,4K", "window_bytes": "1K,8K"}
    for given in ({"size": "4K", "window_bytes": "1K"}, among):
        assert faults_of("bw_rd", "pcie-bench-haswell", **given) == [allowed]


def test_what_is_wrong_with_several_points_is_told_once() -> None:
    (fault,) = faults_of("send_bw", "pair", connection="UD", size="64..1M")
    found = "size: found 8192, 16384, 32768, 65536, 131072 and 3 more with connection UD; allowed:"
    assert fault == f"{found} up to the MTU, 4096"
    many = ",".join(str(one) for one in range(101, 141))
    with pytest.raises(CatalogError) as caught:
        points("write_bw", "pair", region="100", size=many)
    lines = caught.value.lines
    assert len(lines) == 21
    assert lines[-1] == "and 20 more"


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"mode": "striping", "ports": 1}, "ports: found 1 with mode striping, which needs 2"),
        ({"mode": "binding", "ports": 1}, "ports: found 1 with mode binding, which needs 2"),
        ({"ports": 2}, "ports: found 2 with mode single, which uses 1; choose mode"),
        ({"mode": "striping", "ports": 3}, "ports: found 3; allowed: up to 2, as mt25208 has"),
        ({"mode": "stripping"}, "mode: found 'stripping'; allowed: single, striping or binding"),
        ({"mode": "stripping"}, "did you mean 'striping'?"),
        ({"processes": 3}, "processes: found 3; allowed: up to 2, one for each processor"),
        ({"qps": 0}, "qps: found 0; allowed: 1 to 2147483647"),
        (
            {"qps": 10**6},
            "in all 1000001 queue pairs of a node; allowed: up to 65536, as mt25208 has",
        ),
        ({"window": -1}, "window: found -1; allowed: 1 to 2147483647"),
        ({"window": 10**6}, "window: found 1000000; allowed: up to 65535"),
        ({"iters": 0}, "iters: found 0; allowed: 1 to 2147483647"),
        ({"warmup": -1}, "warmup: found -1; allowed: 0 to 2147483647"),
        ({"op": "fetch_add"}, "op: window_bw has no such option; it has "),
        ({"widnow": 1}, "did you mean 'window'?"),
        ({"widnow": False}, "did you mean 'window'?"),
        ({"reuse": 101}, "reuse: found 101; allowed: 0 to 100"),
        ({"reuse": "-1"}, "reuse: found -1; allowed: 0 to 100"),
        (
            {"qps": [1, 65537]},
            "qps: found 65537, in all 65538 queue pairs of a node; allowed: up to 65536",
        ),
        ({"page_size": 2048}, "page_size: found 2048; allowed: powers of two from 4096 B"),
        ({"page_size": 12288}, "page_size: found 12288; allowed: powers of two from 4096 B"),
        ({"size": 8.5}, "size: found 8.5; allowed: a size such as 8, 4K or 1M"),
        ({"size": [8, None]}, "size: found None; allowed: a size such as 8"),
        ({"size": []}, "size: found []; allowed: a size such as 8"),
        ({"qps": True}, "qps: found True; allowed: a whole number"),
        ({"window": 1.5}, "window: found 1.5; allowed: a whole number"),
        ({"window": [1]}, "window: found [1]; allowed: a whole number"),
        ({"explain": "yes"}, "explain: found 'yes'; allowed: true or false"),
        ({"mode": 3}, "mode: found 3; allowed: single, striping, binding"),
        ({"client": 3}, "client: found 3; allowed: a group of nodes"),
        ({"depth": 64}, "depth: window_bw has no such option; it has "),
    ],
)
def test_an_option_out_of_range_or_in_contradiction_is_named(
    options: dict[str, Any], fault: str
) -> None:
    (found,) = faults_of(**options)
    assert fault in found


@pytest.mark.parametrize("size", [8, "8", [8], ["8"], np.int64(8), np.array([8]), (8, "8")])
def test_a_number_may_be_of_any_whole_kind(size: Any) -> None:
    (job,) = points("window_bw", "liu2004", size=size)
    assert (job.options.size, type(job.options.size)) == (8, int)


@pytest.mark.parametrize("lanes", [4, "4", np.int32(4)])
def test_a_setting_may_be_a_value_or_text(lanes: Any) -> None:
    (job,) = points("write_lat", "liu2004", overrides={"adapter.bus.lanes": lanes})
    assert job.machine == resolve("liu2004", overrides={"adapter.bus.lanes": "4"})
    (fault,) = faults_of(overrides={"adapter.bus.lanes": 4.5})
    assert "adapter.bus.lanes: found '4.5'; allowed: " in fault
    machine = resolve("liu2004", overrides={"adapter.limits.atomics": False})
    assert machine.overrides == {"adapter.limits.atomics": "false"}


def test_a_machine_may_stand_for_a_testbed_and_leaves_no_choice() -> None:
    machine = resolve("liu2004", adapter="mt23108", mtu=512)
    (job,) = points("write_lat", machine, size=8, overrides={})
    assert job.machine is machine
    faults = faults_of("write_lat", machine, adapter="x", mtu=512, switch=False, iters=0)
    assert [fault.partition(":")[0] for fault in faults] == ["adapter", "mtu", "switch", "iters"]
    assert faults[0] == (
        "adapter: found beside a machine, which has its own; "
        "allowed: as an argument of hcasim.machine"
    )


@pytest.mark.parametrize("options", [{"qps": 65535}, {"window": 65535}, {"warmup": 0}])
@pytest.mark.parametrize("size", [1, 2**31])
def test_the_limits_themselves_are_allowed(options: dict[str, Any], size: int) -> None:
    assert points("window_bw", "liu2004", size=size, **options)


def test_as_much_inline_data_as_stack_and_adapter_take_is_allowed() -> None:
    machine = resolve("liu2004")
    limit = min(machine.stack.max_inline, machine.adapter.limits.max_inline)
    assert points("write_lat", "liu2004", size=limit, inline=True)
    (fault,) = faults_of("write_lat", size=[8, limit + 1], inline=True)
    assert fault.startswith(f"inline: found with size {limit + 1}; allowed: up to ")


@pytest.mark.parametrize("size", [0, -1, 2**31 + 1])
def test_a_size_that_no_message_can_have_is_refused(size: int) -> None:
    assert faults_of(size=size) == [f"size: found {size}; allowed: 1 B to 2 GiB"]


def test_several_ports_need_a_mode_that_the_benchmark_has() -> None:
    given = {"adapter": "connect_ib", "ports": 2}
    (swarm,), (window,) = (faults_of(name, "pair", **given) for name in ("rc_swarm", "window_bw"))
    assert swarm.endswith("choose mode binding")
    assert window.endswith("choose mode striping or binding")


def test_a_host_without_an_iommu_is_refused_with_those_that_have_one() -> None:
    (fault,) = faults_of("write_bw", "pair", iommu="on")
    assert "allowed: host or off; on with --host broadwell-e5-2630v4, " in fault
    assert points("write_bw", "pair", iommu="on", host="broadwell-e5-2630v4")


def test_all_faults_of_a_request_are_said_at_once() -> None:
    faults = faults_of(
        "windwo_bw", "liu204", size="-1,x", adapter="mt2520", overrides={"adapter.bus.lanez": "4"}
    )
    assert "did you mean 'window_bw'?" in faults[0]
    assert [line.partition(":")[0] for line in faults[1:3]] == ["size", "size"]
    assert "did you mean 'liu2004'?" in faults[3]
    assert "did you mean 'mt25208'?" in faults[4]


@pytest.mark.parametrize(
    "wrong", [{"overrides": {"adapter.bus.lanez": "4"}}, {"firmware_mode": "memfre"}]
)
def test_a_wrong_machine_does_not_hide_a_wrong_option(wrong: dict[str, Any]) -> None:
    first, second = faults_of(**wrong, processes=9)
    assert "did you mean" in first
    assert second.startswith("processes: ")


def test_what_is_not_given_is_the_workload_s_own_default() -> None:
    (job,) = points("window_bw", "liu2004", window=3)
    assert (job.options.window, job.options.iters, job.options.size) == (3, 100, 65536)


REPLY = "request_reply"


@pytest.mark.parametrize(
    ("workload", "testbed", "options", "fault"),
    [
        ("write_lat", "sur2005", {"pattern": "cyclc"}, "did you mean 'cyclic'?"),
        ("loopback_lat", "sur2005", {"memory": "adaptor"}, "did you mean 'adapter'?"),
        ("netpipe", "sur2005", {"buffers": 0}, "buffers: found 0; allowed: 1 to 2147483647"),
        ("host_memory", "sur2005", {"depth": 65536}, "depth: found 65536; allowed: up to 65535"),
        ("host_memory", "sur2005", {"reuse": 0}, "reuse: host_memory has no such option"),
        ("host_memory", "sur2005", {"size": 8}, "size: host_memory has no such option; it has "),
        ("atomic_lat", "liu2004", {"size": "8,16"}, "size: found 16"),
        (REPLY, "cib", {"size": 4097}, "size: found 4097, in a reply by datagram; allowed: up to "),
        (REPLY, "cib", {"reply_size": "8K"}, "reply_size: found 8192, in a reply by datagram; "),
        (REPLY, "rashti2007", {}, f"{REPLY}: found with ne010e, which speaks iWARP; allowed: with"),
        (REPLY, "cib", {"post_list": 66}, "post_list: found 66; allowed: up to 65, what compl"),
        (REPLY, "cib", {"cq_mod": 65}, "cq_mod: found 65; allowed: up to 64, half of those of a"),
        (REPLY, "cib", {"mode": "striping"}, f"mode: found 'striping' with {REPLY}; allowed: "),
        (REPLY, "cib", {"window": 16385}, "window: found 16385, with as many receives again "),
        (REPLY, "cib", {"client_processes": 29}, "client_processes: found 29; allowed: up to 28,"),
        (REPLY, "cib", {"clients": 6}, "clients: found 6; allowed: up to 5, as cib has beside "),
        (REPLY, "cib", {"qps": 262144}, "qps: found 262144, in all 262145 queue pairs of a node; "),
        ("write_bw", "pair", {"locks": False}, "locks: write_bw has no such option; it has "),
        (
            REPLY,
            "liu2004",
            {"counter": True, "size": 8},
            "counter: found with the stack vapi, whose ",
        ),
        ("read_lat", "pair", {"access": "sequential"}, "access: found without region, of which it"),
        ("permutation", "fat-tree-64", {"shift": 1, "seed": 3}, "seed: found with shift, which"),
        ("rc_swarm", "cib", {"rounds": True}, "rounds: found with cq_mod 1, with which each"),
        ("rc_swarm", "cib", {"rounds": True, "cq_mod": 8, "window": 8}, "window: found with round"),
        ("send_lat", "h20", {"memory": "gpu", "inline": True}, "inline: found with memory 'gpu', "),
        ("osu_bcast", "pair", {"size": 8, "nodes": 4}, "nodes: found 4; allowed: up to 2, as pair"),
        ("write_lat", "rashti2007", {"firmware_mode": "mem"}, "but ne010e has no modes"),
    ],
)
def test_an_option_is_checked_where_it_is_understood(
    workload: str, testbed: str, options: dict[str, Any], fault: str
) -> None:
    (found,) = faults_of(workload, testbed, **options)
    assert fault in found


@pytest.mark.parametrize(
    ("options", "faults"),
    [
        ({"verb": "send"}, ["verb: found 'send'; allowed: write or read"]),
        (
            {"window": 256, "cq_mod": 65},
            [
                "window: found 256; allowed: up to 128, the entries of a queue (--tx-depth)",
                "cq_mod: found 65; allowed: up to 64, half of those of a queue (--tx-depth)",
            ],
        ),
        (
            {"verb": "read", "connection": "UC"},
            ["connection: found 'UC' with verb read, which needs answers; allowed: RC or DC"],
        ),
        ({"post_list": 17}, ["post_list: found 17; allowed: up to 16, the window"]),
        (
            {"post_list": 8, "cq_mod": 4},
            ["post_list: found 8; allowed: up to 4, the requests for one completion (--cq-mod)"],
        ),
        ({"region": "31"}, ["region: found 31; allowed: at least 32, the message"]),
        ({"qps": 65536}, ["qps: found 65536, in all 262144 queue pairs of a node; allowed: "]),
    ],
)
def test_threads_with_windows_need_queues_that_hold_them(
    options: dict[str, Any], faults: list[str]
) -> None:
    found = faults_of("rc_swarm", "sur2005", **options)
    assert len(found) == len(faults)
    for line, expected in zip(found, faults, strict=True):
        assert line.startswith(expected)


def test_a_window_of_requests_with_replies_may_be_longer_than_a_queue() -> None:
    assert points("request_reply", "cib", window=1000, size=4096, post_list=64)


def test_an_adapter_without_memory_of_its_own_holds_no_buffers() -> None:
    place = {"memory": "adapter"}
    assert points("loopback_lat", "sur2005", **place)
    (fault,) = faults_of("loopback_lat", "sur2005", firmware_mode="memfree", **place)
    assert fault == (
        "memory: found 'adapter', but mt25218 has none in use in firmware mode memfree; "
        "allowed: host"
    )


def test_what_is_not_described_of_a_machine_is_not_offered() -> None:
    stack, adapter = faults_of("host_memory", "rashti2007")
    assert stack == (
        "host_memory: found with nes, which has no section driver; "
        "allowed: with one that says what takes host memory"
    )
    assert "ne010e, which has no section tables" in adapter


def test_faults_of_numbers_and_of_lists_are_said_together() -> None:
    wrong: dict[str, Any] = {"size": "x", "qps": "y,0", "reuse": [101], "page_size": 3, "mode": "z"}
    faults = faults_of("window_bw", "sur2005", **wrong)
    places = [line.partition(":")[0] for line in faults]
    assert places == ["size", "qps", "qps", "reuse", "page_size", "mode"]


@pytest.mark.parametrize(
    ("workload", "given", "warmup"),
    [
        ("write_lat", {"qps": 4096}, 4096),
        ("write_lat", {"qps": 4}, 1000),
        ("write_lat", {"qps": 4096, "warmup": 7}, 7),
        ("write_lat", {"qps": 4096, "warmup": 0}, 0),
        ("window_bw", {"qps": 1000, "window": 10}, 100),
        ("netpipe", {"buffers": 16}, 16),
        ("qp_lat", {"qps": 4096}, 10),
        ("scatter", {"qps": 4096}, 10),
    ],
)
def test_the_first_use_of_everything_is_warm_up_unless_that_is_given(
    workload: str, given: dict[str, Any], warmup: int
) -> None:
    assert WORKLOADS[workload].build(given).warmup == warmup


@pytest.mark.parametrize(
    ("workload", "testbed", "nodes"),
    [
        ("osu_alltoall", "pair", 2),
        ("osu_bcast", "pair", 2),
        ("all_to_all", "pair", 2),
        ("rc_swarm", "pair", 2),
        ("rc_swarm", "liu2004", 4),
        ("osu_mbw_mr", "liu2004", 2),
    ],
)
def test_without_a_number_no_more_nodes_take_part_than_there_are(
    workload: str, testbed: str, nodes: int
) -> None:
    assert [point.options.nodes for point in points(workload, testbed, size=8)] == [nodes]


def test_processes_in_pairs_take_as_many_nodes_as_go_up() -> None:
    machine = resolve("liu2004", mpi=True)
    (group,) = machine.groups
    three = machine.model_copy(update={"groups": (group.model_copy(update={"count": 3}),)})
    (point,) = points("imb_pingping", three, size=8)
    assert point.options.nodes == 2
    (point,) = points("imb_pingping", three, size=8, processes=2)
    assert point.options.nodes == 3


def test_one_that_needs_more_than_two_says_what_else_it_may_have() -> None:
    (fault,) = faults_of("hotspot_both", "pair", size=8)
    assert fault.endswith("found 2, with one peer; allowed: more nodes, or more processes on each")
    (point,) = points("hotspot_both", "pair", size=8, processes=2)
    assert point.options.nodes == 2
