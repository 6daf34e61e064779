"""Ping-pong as NetPIPE does it over MPI, with MPI_Send and MPI_Recv.

One buffer serves sending and receiving. With -I the messages rotate through two pools instead, one
for sending and one for receiving; what the library does with so much memory is its own affair.
Times are those of later turns through the pools: NetPIPE reports the shortest of several trials.
Source: NetPIPE 3.6, src/mpi.c and src/netpipe.c.
"""

from __future__ import annotations

from itertools import cycle

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.mpi import Comm
from hcasim.mpi.buffer import Buffer
from hcasim.workloads.end import Steps
from hcasim.workloads.laps import Laps
from hcasim.workloads.mpi.group import COLD, ERROR, SLACK, Group, explain_message, measure, one_pair
from hcasim.workloads.netpipe import MEGABIT
from hcasim.workloads.options import Options
from hcasim.workloads.pool import ALIGNMENT, POOL, rotation, spacing
from hcasim.workloads.result import Result


class Rotation(Group):
    """Ping-pong whose messages have their places in turn."""

    def timing(self) -> Laps:
        options = self.options
        turns = rotation(options)
        # The second turn finds what the first has left.
        return Laps(
            max(options.warmup, turns + COLD),
            options.iters,
            options.exact,
            cold=max(COLD, turns),
            slack=SLACK,
            error=ERROR,
        )

    def _places(self, comm: Comm) -> list[tuple[Buffer, Buffer]]:
        """Where each message is sent from and where it is received, in the order of use."""
        size, turns, process = self.options.size, rotation(self.options), comm.process
        if not self.options.invalidate:
            buffers = [process.heap.allocate(size) for _ in range(turns)]
            return [(one, one) for one in buffers]
        step = spacing(size)

        def pool() -> list[Buffer]:
            memory = process.heap.allocate(POOL + ALIGNMENT).address
            # A pool that is aligned already loses a whole boundary (src/netpipe.c: AlignBuffer).
            start = memory + ALIGNMENT - memory % ALIGNMENT
            return [Buffer(start + turn * step, size) for turn in range(turns)]

        return list(zip(pool(), pool(), strict=True))

    def first(self) -> Steps:
        self._own = self._places(self.one)
        yield from super().first()

    def turn(self, index: int) -> Steps:
        comm, peer = self.one, self.peers[0].rank
        source, target = self._own[index % len(self._own)]
        yield from comm.send(source, peer)
        yield from comm.recv(target, peer)

    def second(self, comm: Comm) -> Steps:
        places, peer = self._places(comm), self.one.rank
        for source, target in cycle(places):
            yield from comm.recv(target, peer)
            self.received_ps = self.sim.now
            yield from comm.send(source, peer)


def netpipe_mpi(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip, and the bandwidth that it stands for."""
    pair = one_pair(Rotation, sim, machine, options)
    measure([pair])
    latency_us = pair.laps.mean_ps() / 2 / 1e6
    row = {
        "size": options.size,
        "latency_us": latency_us,
        "bandwidth_MBps": options.size / latency_us,
        "throughput_Mbps": options.size * 8 / MEGABIT / (latency_us / 1e6),
        "error_percent": pair.laps.error_percent,
        "buffers": rotation(options),
        "invalidate": options.invalidate,
    }
    return Result(row, pair.job.cluster.counters(), explain_message(pair))
