"""How fast the simulator is, beside a bare event loop on the same machine in the same run.

Nothing here fails because a machine is slow: the ratios are printed for people to read.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.mpi import Comm, Job
from hcasim.runs.benchmark import bench, run_benchmark
from hcasim.runs.experiment import Experiment
from hcasim.runs.foreign import to_trace
from hcasim.study.timeline.recording import recorded
from hcasim.study.timeline.tracks import Choice
from hcasim.traces import render
from tests.benchmarks.cases import CASES, EVENTS, WINDOW, heap_loop, measured, windows
from tests.measured import with_noise

Show = Callable[[str], None]


@pytest.fixture(scope="module")
def machine() -> Machine:
    return resolve("liu2004")


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


def test_the_steady_state_saves_most_of_a_long_run(
    benchmark: Any, machine: Machine, show: Show
) -> None:
    iters = 10
    begin = time.perf_counter()
    exact = windows(machine, iters, True)
    full = time.perf_counter() - begin
    short = benchmark.pedantic(windows, (machine, iters, False), rounds=5, warmup_rounds=1)
    taken = benchmark.stats.stats.min
    rates = [point.row["bandwidth_MBps"] for point in (exact, short)]
    assert rates[1] == pytest.approx(rates[0], rel=1e-3, abs=0)
    show(
        f"{iters * WINDOW} x 1 MiB: {full:.2f} s in full, {taken:.3f} s to the steady state: "
        f"{full / taken:.0f} times faster, {rates[1] / rates[0] - 1:+.1e} off"
    )


def message_seconds(nodes: int, calls: int) -> float:
    """Processor time of a message of all-to-all exchanges of 1 KiB, two processes on a node."""
    machine = resolve("fat-tree-64", stack="mvapich-0.9.5")
    sim = Simulator()
    job = Job(sim, Cluster(sim, machine, nodes), 2)
    times: list[float] = []

    def main(comm: Comm) -> Generator[Event, Any, None]:
        for _ in range(calls + 1):
            yield from comm.alltoall(comm.size << 10, comm.size << 10)
            yield from comm.barrier()
            if comm.rank == 0:
                times.append(time.process_time())

    job.run(main)
    processes = len(job.processes)
    # Of a call of each: one to all others, and the barrier's.
    messages = processes * (processes - 1 + (processes - 1).bit_length())
    return (times[-1] - times[0]) / (calls * messages)


def test_a_message_among_many_processes_beside_one_among_few(show: Show) -> None:
    few = message_seconds(4, 60)
    for nodes, calls in ((32, 4), (64, 2)):
        many = message_seconds(nodes, calls)
        show(
            f"a message of MPI among {2 * nodes} processes: {many * 1e6:.0f} us, "
            f"{many / few:.2f} times one among 8"
        )


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


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("write_bw", {"size": "64K", "iters": 50}),
        ("write_lat", {"size": "64K", "iters": 20, "warmup": 1}),
        ("write_lat", {"size": "64K", "iters": 20, "warmup": 1, "adapter": "mt23108"}),
        ("osu_latency", {"size": "8", "iters": 100}),
    ],
)
def test_what_a_timeline_costs(
    tmp_path: Path, workload: str, options: dict[str, Any], show: Show
) -> None:
    """Beside the same run, in which nothing is left out either."""
    job = Experiment.of(workload, "liu2004", exact=True, **options).benchmark()

    def plain() -> None:
        run_benchmark(job, listen=lambda sim: None)

    def shown() -> None:
        with recorded(tmp_path / "run.json", Choice(), "") as timeline:
            run_benchmark(job, listen=timeline.follow)

    def best(run: Callable[[], None]) -> float:
        times = []
        for _ in range(5):
            begin = time.process_time()
            run()
            times.append(time.process_time() - begin)
        return min(times)

    without = best(plain)
    show(f"{workload} {options}: {best(shown) / without:.2f} times as long with a timeline")
