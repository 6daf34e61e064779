"""What the speed of the simulator is measured by, beside a bare event loop in the same process.

Run as a program by the Python of a build, which need have nothing but hcasim, it measures the cases
that are named and prints a line of JSON for each.
"""

import gc
import json
import platform
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from hcasim.catalog import Machine, resolve
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.ground.process import build
from hcasim.mpi import Comm, Job
from hcasim.verbs import WROpcode
from hcasim.workloads import Options, Result, run_point
from hcasim.workloads.flows import Pairs, each_to_each, permuted
from hcasim.workloads.perftest.side import join, start
from hcasim.workloads.result import Meter

EVENTS = 300_000
PENDING = 100
MESSAGE = 1 << 20
WINDOW = 100
Listen = Callable[[Simulator], None]


def heap_loop(events: int = EVENTS) -> None:
    """Pop an event and push the next: the least that any discrete-event simulator does."""
    queue = [(number, number) for number in range(PENDING)]
    for serial in range(PENDING, PENDING + events):
        now, _ = heappop(queue)
        heappush(queue, (now + 1 + serial * 7919 % 1000, serial))


def windows(machine: Machine, iters: int, exact: bool, listen: Listen | None = None) -> Result:
    """Windows of messages of 1 MiB."""
    options = Options(size=MESSAGE, window=WINDOW, iters=iters, warmup=0, exact=exact)
    return run_point("window_bw", machine, options, listen)


def latency(machine: Machine, size: int, listen: Listen) -> None:
    """Messages there and back, one at a time."""
    run_point("write_lat", machine, Options(size=size, iters=100), listen)


def flows(machine: Machine, pairs: Pairs, nodes: int, options: Options, listen: Listen) -> None:
    """Messages of each pair of nodes, with building what takes part."""
    sim = Simulator()
    listen(sim)
    cluster = Cluster(sim, machine, nodes)
    write = WROpcode.RDMA_WRITE
    sides = [side for pair in pairs for side in join(cluster, pair, options, write)]
    sim.run(until=start(sim, sides))


def collectives(machine: Machine, listen: Listen) -> None:
    """The first collectives of 1024 processes, with building their nodes."""
    sim = Simulator()
    listen(sim)
    job = Job(sim, Cluster(sim, machine, 512), 2)

    def main(comm: Comm) -> Generator[Event, Any, None]:
        yield from comm.barrier()
        yield from comm.bcast(8, 0)
        yield from comm.allreduce(8, 8)

    job.run(main)


def _one(size: int) -> Options:
    return Options(size=size, iters=1, tx_depth=4)


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        title: what it is, for people.
        run: does it on a machine, and gives the simulator to what it gets.
        testbed: the machine.
        rounds: how often it is measured; the best counts.
    """

    title: str
    run: Callable[[Machine, Listen], object]
    testbed: str = "fat-tree-1024"
    rounds: int = 1


CASES = {
    "exact": Case(
        "100 x 1 MiB in a window, each packet run",
        lambda machine, listen: windows(machine, 1, True, listen),
        "liu2004",
        3,
    ),
    "steady": Case(
        "1000 x 1 MiB in windows, to the steady state",
        lambda machine, listen: windows(machine, 10, False, listen),
        "liu2004",
        10,
    ),
    "256K": Case(
        "256 KiB there and back, to the steady state",
        lambda machine, listen: latency(machine, 1 << 18, listen),
        "liu2004",
        10,
    ),
    "16M": Case(
        "16 MiB there and back, to the steady state",
        lambda machine, listen: latency(machine, 1 << 24, listen),
        "liu2004",
        10,
    ),
    "permutation": Case(
        "1024 nodes, 64 KiB of each to another",
        lambda machine, listen: flows(machine, permuted(1024, 1), 1024, _one(1 << 16), listen),
    ),
    "all-to-all": Case(
        "128 nodes, 8 B of each to each other",
        lambda machine, listen: flows(machine, each_to_each(128), 128, _one(8), listen),
    ),
    "mpi": Case("1024 processes of MPI: barrier, broadcast, allreduce", collectives),
}


@dataclass(frozen=True)
class Speed:
    """What a case took.

    Attributes:
        events: that were run.
        packets: that adapters sent, also those that were left out.
        seconds: of the processor, the best of several rounds.
        loop_seconds: of an event of the bare loop in the same minute.
    """

    events: int
    packets: int
    seconds: float
    loop_seconds: float

    @property
    def packets_per_s(self) -> float:
        """Packets by seconds."""
        return self.packets / self.seconds

    @property
    def loops(self) -> float:
        """Events of the bare loop that take as long."""
        return self.seconds / self.loop_seconds


def seconds(run: Callable[[], object]) -> float:
    """Time of the processor that something takes."""
    gc.collect()
    begin = time.process_time()
    run()
    return time.process_time() - begin


def measured(case: Case) -> Speed:
    """Measure a case, and the bare loop before and after each round."""
    machine = resolve(case.testbed, mpi=case.run is collectives)
    # Counting takes time of its own; and what is imported is there then.
    meter = Meter()
    case.run(machine, meter.watch)
    cost = meter.cost()
    del meter
    loop, best = [seconds(heap_loop)], []
    for _ in range(case.rounds):
        best.append(seconds(lambda: case.run(machine, lambda sim: None)))
        loop += [seconds(heap_loop) for _ in range(2)]
    return Speed(cost.events, cost.packets + cost.left_out, min(best), min(loop) / EVENTS)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        found = {"build": build(), "python": platform.python_version()}
        print(json.dumps(found | vars(measured(CASES[name]))), flush=True)
