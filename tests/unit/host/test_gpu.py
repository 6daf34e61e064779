"""Memory of a GPU that adapters read and write."""

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError, Machine
from hcasim.catalog.host import Gpu
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import PD, Context, VerbsError
from tests.rig import extended, machine, run

NS = 1000
GB = 10**9


def with_gpu(read_latency: int = 450 * NS, reads: int = 50 * GB, writes: int = 50 * GB) -> Machine:
    gpu = Gpu.model_construct(
        read_latency=read_latency, read_bandwidth=reads, write_bandwidth=writes
    )
    return extended(machine(), host={"gpu": gpu})


def test_a_message_between_gpus_waits_for_reads_and_writes_of_them() -> None:
    near, far = (
        run("send_lat", with_gpu(latency), size=64, iters=1, warmup=0, memory="gpu")
        for latency in (450 * NS, 1050 * NS)
    )
    # 0.6 us of a read, and as much of the 0.3 us of a write as no completion hides.
    assert 0.6 < far.row["latency_us"] - near.row["latency_us"] < 0.9
    host = run("send_lat", with_gpu(1050 * NS), size=64, iters=1, warmup=0)
    assert host.row["latency_us"] <= near.row["latency_us"]


@pytest.mark.parametrize("slow", ["reads", "writes"])
def test_neither_reads_nor_writes_of_a_gpu_are_quicker_than_its_bandwidth(slow: str) -> None:
    options = {"size": 65536, "iters": 30}
    result = run("write_bw", with_gpu(**{slow: GB // 5}), memory="gpu", **options)
    assert result.row["bandwidth_MBps"] == pytest.approx(200, rel=0.03)
    assert run("write_bw", with_gpu(**{slow: GB // 5}), **options).row["bandwidth_MBps"] > 300


def test_data_of_a_gpu_do_not_travel_in_requests() -> None:
    given = {"size": 16, "iters": 1, "warmup": 0, "memory": "gpu"}
    within, behind = (
        run("send_lat", with_gpu(), inline_size=size, **given).row["latency_us"] for size in (64, 0)
    )
    assert within == behind


def test_a_host_without_a_gpu_is_refused() -> None:
    with pytest.raises(
        CatalogError, match=r"memory: found 'gpu', but \S+ has no GPU; allowed: host"
    ):
        hc.bench("write_bw", "liu2004", size=64, memory="gpu", jobs=1)


@pytest.mark.parametrize(
    ("workload", "why"),
    [
        ("osu_latency", "whose library copies between GPU and host"),
        ("write_lat", "whose processor polls the end of the message"),
        ("rc_swarm", "which does not choose where its buffers are"),
    ],
)
def test_what_cannot_use_memory_of_a_gpu_says_why(workload: str, why: str) -> None:
    said = rf"^memory: found 'gpu' with {workload}, {why}"
    with pytest.raises(CatalogError, match=said) as found:
        hc.bench(workload, "pair", memory="gpu", jobs=1)
    assert "allowed: with send_lat, read_lat," in str(found.value)


def test_work_is_refused_where_times_hold_it() -> None:
    with pytest.raises(CatalogError, match="work: found with the stack vapi, whose times hold"):
        hc.bench("write_bw", "liu2004", size=64, work=500, jobs=1)


def test_nothing_is_registered_on_a_gpu_that_is_not_there() -> None:
    sim = Simulator()
    pd = PD(Context(sim, Cluster(sim, machine()).nodes[0]))
    with pytest.raises(VerbsError, match=r"memory 'gpu', but \S+ has no GPU"):
        pd.reg_mr(64, memory="gpu")
