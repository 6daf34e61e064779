"""How fast the simulator is, beside a bare event loop on the same machine in the same run.

Nothing here fails because a machine is slow: the ratios are printed for people to read. One is
held to a limit, as both of its sides are measured at once.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.launch import launch
from hcasim.runs import executor
from hcasim.runs.benchmark import bench
from hcasim.runs.foreign import to_trace
from hcasim.runs.point import Point
from hcasim.traces import render
from hcasim.verbs import WROpcode
from hcasim.workloads import Options, Result, run_point
from hcasim.workloads.flows import Pairs, neighbours, permuted
from hcasim.workloads.registry import Listen
from hcasim.workloads.result import Meter
from tests.benchmarks.cases import CASES, EVENTS, flows, heap_loop, measured, seconds
from tests.measured import with_noise
from tests.programs import program
from tests.rig import Rig

Show = Callable[[str], None]


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """Print a line although pytest captures what tests print."""

    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n    {text}", end="", flush=True)

    return line


@pytest.fixture(scope="module")
def heap_rate() -> float:
    """Events/s of the bare loop, the best of five."""
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        heap_loop()
        best = min(best, time.perf_counter() - begin)
    return EVENTS / best


@pytest.mark.parametrize("name", CASES)
def test_a_case_beside_the_bare_loop(name: str, show: Show) -> None:
    found = measured(CASES[name])
    show(
        f"{CASES[name].title}: {found.events} events, {found.packets} packets, "
        f"{found.seconds:.2f} s, {found.packets_per_s:.0f} packets/s, as long as "
        f"{found.loops / 1e6:.2f} M events of the bare loop ({1e-6 / found.loop_seconds:.2f} M/s)"
    )


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("neighbour", lambda nodes: neighbours(nodes, 1)), ("permutation", lambda n: permuted(n, 1))],
)
@pytest.mark.parametrize(("size", "iters"), [(8, 16), (1 << 16, 1)])
def test_a_message_among_many_nodes_beside_one_among_few(
    name: str, pattern: Callable[[int], Pairs], size: int, iters: int, show: Show
) -> None:
    machine = resolve("fat-tree-1024")
    options = Options(size=size, iters=iters, tx_depth=4)

    def cost(nodes: int, rounds: int) -> float:
        """Seconds of the processor for a message, with the set-up of its nodes."""
        pairs = pattern(nodes)
        run = partial(flows, machine, pairs, nodes, options, lambda sim: None)
        return min(seconds(run) for _ in range(rounds)) / (len(pairs) * iters)

    few = cost(8, 20)
    for nodes, rounds in ((64, 4), (1024, 1)):
        many = cost(nodes, rounds)
        show(
            f"{name}, {size} B: a message among {nodes} nodes {many * 1e6:.0f} us, "
            f"{many / few:.2f} times one among 8"
        )


@dataclass(frozen=True)
class Short(Point):
    """Takes 5 ms of the processor."""

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        end = time.process_time() + 0.005
        while time.process_time() < end:
            pass
        return Result({})


def test_a_thousand_short_points_cost_little_more_than_their_own_time(show: Show) -> None:
    """Two processes are at a point for nearly all of the time, whatever else the machine does."""
    first = Short("window_bw", resolve("liu2004"), Options())
    points = [replace(first, options=Options(size=size)) for size in range(1, 1001)]
    executor.run_points(points, workers=2)
    ratios = []
    for _ in range(3):
        hand_out = executor._HandOut(executor._processes(2, 2), points, lambda *done: None, False)
        begin = time.perf_counter()
        hand_out.run()
        ratios.append((time.perf_counter() - begin) * 2 / hand_out._seconds)
    show(f"1000 points of 5 ms in two processes: {median(ratios):.2f} of their own time")
    assert median(ratios) < 1.15


def command(*arguments: str) -> None:
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-m", "hcasim", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    # reproduce ends with 1 if a claim is missed, which is not a question of speed.
    assert done.returncode in (0, 1), done.stderr


def python() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def best_of(rounds: int, run: Callable[[], None]) -> float:
    """Least seconds of several runs, the first of which is not counted."""
    seconds = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return min(seconds[1:])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("bench", "write_lat", "--testbed", "liu2004", "--size", "8"),
    ],
    ids=["help", "bench write_lat"],
)
def test_a_short_command_beside_the_start_of_python(
    benchmark: Any, arguments: tuple[str, ...], show: Show
) -> None:
    bare = best_of(5, python)
    benchmark.pedantic(command, arguments, rounds=5, warmup_rounds=1)
    taken = benchmark.stats.stats.min
    show(
        f"hcasim {' '.join(arguments)}: {taken * 1e3:.0f} ms, "
        f"{taken / bare:.1f} times the start of Python ({bare * 1e3:.0f} ms)"
    )


SWEEP = ("bench", "write_lat", "--testbed", "sur2005", "--qps", "1..4096", "--pattern", "random")
LADDER = ("bench", "netpipe", "--testbed", "benjegerdes2004")


@pytest.mark.parametrize(
    "arguments",
    [("reproduce", "liu2004"), ("reproduce",), SWEEP, LADDER],
    ids=["one paper", "all papers", "queue pairs", "netpipe"],
)
def test_a_long_command_beside_the_bare_loop(
    benchmark: Any, arguments: tuple[str, ...], heap_rate: float, show: Show
) -> None:
    benchmark.pedantic(command, arguments, rounds=1)
    taken = benchmark.stats.stats.min
    show(
        f"hcasim {' '.join(arguments)}: {taken:.1f} s on {os.cpu_count()} cores, "
        f"as long as {taken * heap_rate / 1e6:.0f} M events of the bare loop"
    )


MEASURED = {
    "write_lat": "1,8,64,256,1K,4K,16K,64K",
    "send_lat": "1,8,64,256,1K,4K,16K,64K",
    "read_lat": "1,8,64,256,1K,4K,16K,64K",
    "window_bw": "8,64,256,1K,4K,16K,64K,1M",
    "window_bibw": "8,64,256,1K,4K,16K,64K,1M",
}
TRUTH = {
    "adapter.send.latency": "900 ns",
    "adapter.receive_queue.latency": "150 ns",
    "adapter.responder.latency": "2200 ns",
    "host.memory.read_latency": "380 ns",
    "adapter.send.wqe_service": "250 ns",
}


def test_a_fit_of_five_parameters_to_forty_points_beside_the_bare_loop(
    benchmark: Any, tmp_path: Path, heap_rate: float, show: Show
) -> None:
    files = []
    for seed, (workload, sizes) in enumerate(MEASURED.items()):
        exact = to_trace(bench(workload, "liu2004", size=sizes, overrides=TRUTH, jobs=None))
        files.append(tmp_path / f"{workload}.jsonl")
        files[-1].write_text(render(with_noise(exact, seed=seed, spread=0.05, samples=100)))
    free = [word for path in TRUTH for word in ("--free", path)]
    arguments = ("calibrate", *map(str, files), "--testbed", "liu2004", *free)
    benchmark.pedantic(command, arguments, rounds=1)
    taken = benchmark.stats.stats.min
    show(
        f"hcasim calibrate, 5 parameters and 40 points: {taken:.1f} s on {os.cpu_count()} cores, "
        f"as long as {taken * heap_rate / 1e6:.0f} M events of the bare loop"
    )


def moved(size: int, count: int, data: bool) -> float:
    """Processor time of so many writes of so many bytes, in s, with bytes or without."""
    rig = Rig(size=size, data=data)
    a, b, qp, _ = rig.joined()
    begin = time.process_time()
    for _ in range(count):
        rig.exchange(qp, a, a.request(WROpcode.RDMA_WRITE, b, size))
    return time.process_time() - begin


def test_a_gigabyte_with_its_bytes_beside_one_without(show: Show) -> None:
    size, count = 1 << 28, 4
    without, held = moved(size, count, False), moved(size, count, True)
    show(f"1 GiB in writes of 256 MiB: {held - without:.2f} s for its bytes beside {without:.2f} s")
    size, count = 1 << 13, 512
    without, held = (min(moved(size, count, data) for _ in range(3)) for data in (False, True))
    show(f"4 MiB in writes of 8 KiB: with bytes {held / without:.2f} times as long as without")


@pytest.mark.parametrize(("size", "iters"), [(8, 5000), (1 << 16, 500)])
def test_a_program_beside_the_benchmark_that_models_it(size: int, iters: int, show: Show) -> None:
    tool = program("ib_write_bw", "perftest")
    command = [tool, "-s", str(size), "-n", str(iters), "-N"]
    machine = resolve("liu2004")
    begin = time.perf_counter()
    launch(machine, [command, [*command, "server"]])
    launched = time.perf_counter() - begin
    options = Options(size=size, iters=iters, exact=True)
    alone = seconds(lambda: run_point("write_bw", machine, options))
    show(f"ib_write_bw of {size} B: {launched / alone:.1f} times what the benchmark takes")


@pytest.mark.parametrize("testbed", ["ideal-100g", "ideal-100g-4mb"])
def test_packets_of_an_incast_beside_the_bare_loop(
    testbed: str, heap_rate: float, show: Show
) -> None:
    options = Options(size=1 << 20, iters=1, nodes=17, tx_depth=1)
    machine, packets = resolve(testbed), 2 * 16 * 1024
    taken = seconds(lambda: run_point("incast", machine, options))
    ratio = packets / taken / heap_rate
    show(f"{testbed}: {packets / taken:.0f} packets/s, {ratio:.3f} of the loop's events/s")


def test_a_fat_tree_of_128_nodes_under_load(heap_rate: float, show: Show) -> None:
    """Flows of a tenth of a millisecond, to their ends."""
    shape = {"nodes.count": "128", "network.children": "4, 4, 8", "network.parents": "1, 4, 4"}
    machine = resolve("ideal-fat-tree", overrides=shape)
    options = Options(iters=56, nodes=128, flow_sizes="websearch", load=60)
    meter = Meter()
    run_point("open_loop", machine, options, meter.watch)
    packets = meter.cost().packets
    taken = seconds(lambda: run_point("open_loop", machine, options))
    ratio = packets / taken / heap_rate
    show(f"fat tree: {packets / taken:.0f} packets/s, {ratio:.4f} of the loop's events/s")
