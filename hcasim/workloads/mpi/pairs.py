"""Latency and bandwidth between two processes, as the OSU benchmarks measure them.

Source: OSU benchmarks 2.1 (2005), osu_latency.c, osu_bw.c and osu_bibw.c, in the tree of MVAPICH2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import count

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.mpi import Comm, Job, Request
from hcasim.mpi.channel import Queue
from hcasim.workloads.end import Steps
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server

TOGETHER = 2
"""Processes of a pair."""
REPLY = 4
"""Bytes of the reply to a window (osu_bw.c)."""
FILLED = 2**18
"""Bytes after which buffers, caches and credits of a connection have all been in use."""
SLACK = 1e-4
ERROR = 1e-3
LONG = 2**15
"""Bytes from which on windows are cut: so many packets each that their pace is steady."""
CUT = 2**19
FEWEST = 4
"""The shortest cut window has twice so many bytes or messages, whichever is longer."""
PACE = 5e-3


class Pair(ABC):
    """Two processes, each on a node or both on one; the first takes the time.

    Attributes:
        laps: the durations that it takes.
        slots: buffers of a connection that packets go through in turn.
    """

    def __init__(self, sim: Simulator, machine: Machine, options: Options) -> None:
        self.sim = sim
        self.options = options
        nodes = clients_and_server(machine, options)[: TOGETHER // options.processes]
        self.cluster = Cluster(sim, machine, nodes)
        self.job = Job(sim, self.cluster, options.processes)
        library = self.job.processes[0].library
        ring, queue = library.ring, library.queue
        slots = queue.receives if ring is None else ring.slots
        self.slots = queue.receives + Queue.SPARE if ring is None else slots
        cold = max(2, min(slots, FILLED // max(1, options.size)))
        self.laps = self.timing(cold)

    def timing(self, cold: int) -> Laps:
        """How iterations are timed.

        Parameters:
            cold: messages until all buffers of a connection have been in use.
        """
        options = self.options
        return Laps(
            options.warmup, options.iters, options.exact, cold=cold, slack=SLACK, error=ERROR
        )

    @abstractmethod
    def first(self, comm: Comm) -> Steps:
        """The process that takes the time."""

    @abstractmethod
    def second(self, comm: Comm) -> Steps:
        """The other one, for ever."""

    def run(self) -> None:
        """Run until the time is known."""
        one, other = self.job.worlds
        self.sim.process(self.second(other))
        self.sim.run(until=self.sim.process(self.first(one)))


class PingPong(Pair):
    """A message there and one back, with blocking calls."""

    def first(self, comm: Comm) -> Steps:
        size = self.options.size
        while not self.laps.done:
            begin = self.sim.now
            yield from comm.send(size, 1)
            yield from comm.recv(size, 1)
            self.laps.lap(self.sim.now - begin)

    def second(self, comm: Comm) -> Steps:
        size = self.options.size
        while True:
            yield from comm.recv(size, 0)
            yield from comm.send(size, 0)


class Windows(Pair):
    """Windows of messages without blocking; the receiver answers each window.

    Of long messages windows are cut: once each further message of a window takes as long as the
    one before, the rest of it is known.
    """

    def timing(self, cold: int) -> Laps:
        options = self.options
        self._lengths: list[int] = []
        cut = max(FEWEST, CUT // max(1, options.size))
        if options.size >= LONG and 4 * cut < options.window and not options.exact:
            self._lengths = [2 * cut, 3 * cut, 4 * cut]
        windows = -(-cold // options.window) + 1
        return Laps(
            options.warmup, options.iters, options.exact, cold=windows, slack=SLACK, error=ERROR
        )

    def _length(self, index: int) -> int:
        """Messages of a window; the first one of all is not timed."""
        if not self._lengths:
            return self.options.window
        return self._lengths[max(0, index - 1) % len(self._lengths)]

    def first(self, comm: Comm) -> Steps:
        durations: list[int] = []
        for index in count():
            begin = self.sim.now
            yield from self.send(comm, self._length(index))
            if not self._lengths:
                self.laps.lap(self.sim.now - begin)
            elif index:
                durations.append(self.sim.now - begin)
                self._extend(durations)
            if self.laps.done:
                return

    def _extend(self, durations: list[int]) -> None:
        """Work out a whole window from three cut ones, if further messages take equally long."""
        if len(durations) % 3:
            return
        short, middle, long = durations[-3:]
        step = self._lengths[1] - self._lengths[0]
        one, other = (middle - short) / step, (long - middle) / step
        if abs(one - other) <= PACE * other:
            rest = self.options.window - self._lengths[2]
            self.laps.settle(round(long + rest * (long - short) / (2 * step)))
        elif len(durations) >= 6:
            # It is not steady enough: run whole windows.
            self._lengths = []

    def second(self, comm: Comm) -> Steps:
        for index in count():
            yield from self.receive(comm, self._length(index))

    def send(self, comm: Comm, length: int) -> Steps:
        """One window of the process that takes the time."""
        requests: list[Request] = []
        for _ in range(length):
            requests.append((yield from comm.isend(self.options.size, 1)))
        yield from comm.waitall(requests)
        yield from comm.recv(REPLY, 1)

    def receive(self, comm: Comm, length: int) -> Steps:
        """One window of the other."""
        requests: list[Request] = []
        for _ in range(length):
            requests.append((yield from comm.irecv(self.options.size, 0)))
        yield from comm.waitall(requests)
        yield from comm.send(REPLY, 0)


class TwoWay(Windows):
    """Windows both ways at once, without a reply."""

    def _both(self, comm: Comm, length: int, peer: int) -> Steps:
        size, requests = self.options.size, []
        for _ in range(length):
            requests.append((yield from comm.irecv(size, peer)))
        sent: list[Request] = []
        for _ in range(length):
            sent.append((yield from comm.isend(size, peer)))
        yield from comm.waitall(sent)
        yield from comm.waitall(requests)

    def send(self, comm: Comm, length: int) -> Steps:
        yield from self._both(comm, length, 1)

    def receive(self, comm: Comm, length: int) -> Steps:
        yield from self._both(comm, length, 0)


def osu_latency(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip."""
    pair = PingPong(sim, machine, options)
    pair.run()
    row = {"size": options.size, "latency_us": pair.laps.mean_ps() / 2 / 1e6}
    return Result(row, pair.cluster.counters())


def imb_pingpong(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip, and the bandwidth of that (IMB 2.3, IMB_pingpong.c)."""
    found = osu_latency(sim, machine, options)
    return Result(
        {**found.row, "bandwidth_MBps": options.size / found.row["latency_us"]}, found.counters
    )


def _bandwidth(pair: Windows, ways: int) -> Result:
    pair.run()
    options, window_s = pair.options, pair.laps.mean_ps() / 1e12
    messages = ways * options.window / window_s
    row = {
        "size": options.size,
        "bandwidth_MBps": messages * options.size / 1e6,
        "rate_Mps": messages / 1e6,
    }
    return Result(row, pair.cluster.counters())


def osu_bw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of windows one way."""
    return _bandwidth(Windows(sim, machine, options), 1)


def osu_bibw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of windows both ways."""
    return _bandwidth(TwoWay(sim, machine, options), 2)


PAIRS = {run.__name__: run for run in (osu_latency, imb_pingpong, osu_bw, osu_bibw)}
"""The benchmarks of this file by name."""
