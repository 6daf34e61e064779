"""Two processes that exchange messages, or several such pairs at once.

Overlap is measured by iterations of a call without blocking, computing, and waiting for it; 4 bytes
say that the receive has been posted, or that what was sent has come in. They are run without
computing, and then with as much as that took: what they take longer could not be overlapped.
Sources: OSU benchmarks 2.1 (2005), osu_latency.c, in the tree of MVAPICH2; 3.1, osu_multi_lat.c;
4.4, osu_ialltoall.c and the like; NetPIPE 3.6, src/mpi.c and src/netpipe.c; rashti2007 section 4.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

from hcasim.engine import Simulator
from hcasim.mpi import Comm
from hcasim.mpi.memory import Buffer
from hcasim.workloads.end import Steps
from hcasim.workloads.laps import Laps
from hcasim.workloads.mpi.group import (
    COLD,
    ERROR,
    SLACK,
    Group,
    explain_iteration,
    explain_message,
    found,
    measure,
    one_pair,
    several_pairs,
)
from hcasim.workloads.netpipe import ALIGNMENT, POOL, rotation, spacing, throughput
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

WORD = 4
"""Bytes of a message that only says something."""


class PingPong(Group):
    """A message there and one back, with blocking calls."""

    def places(self, comm: Comm) -> Sequence[tuple[int | Buffer, int | Buffer]]:
        """What a process sends and what it receives, in turn."""
        return [(self.options.size, self.options.size)]

    def first(self) -> Steps:
        self._own = cycle(self.places(self.one))
        yield from super().first()

    def turn(self, index: int) -> Steps:
        comm, peer = self.one, self.peers[0].rank
        source, target = next(self._own)
        yield from comm.send(source, peer)
        yield from comm.recv(target, peer)

    def second(self, comm: Comm) -> Steps:
        peer = self.one.rank
        for source, target in cycle(self.places(comm)):
            yield from comm.recv(target, peer)
            self.received_ps = self.sim.now
            yield from comm.send(source, peer)


class Rotation(PingPong):
    """Ping-pong whose messages have their places in turn."""

    def timing(self) -> Laps:
        options, turns = self.options, rotation(self.options)
        # The second turn finds what the first has left.
        warmup, cold = max(options.warmup, turns + COLD), max(COLD, turns)
        return Laps(warmup, options.iters, options.exact, cold=cold, slack=SLACK, error=ERROR)

    def places(self, comm: Comm) -> Sequence[tuple[Buffer, Buffer]]:
        size, turns, heap = self.options.size, rotation(self.options), comm.process.heap
        if not self.options.invalidate:
            buffers = [heap.allocate(size) for _ in range(turns)]
            return [(one, one) for one in buffers]
        pools = [heap.allocate(POOL + ALIGNMENT).address for _ in range(2)]
        # A pool that is aligned already loses a whole boundary (src/netpipe.c: AlignBuffer).
        starts = [memory + ALIGNMENT - memory % ALIGNMENT for memory in pools]
        offsets = [turn * spacing(size) for turn in range(turns)]
        sent, received = ([Buffer(start + by, size) for by in offsets] for start in starts)
        return list(zip(sent, received, strict=True))


class Sending(Group):
    """The first process sends, and computes meanwhile for so long; the other answers."""

    computing_ps = 0

    def turn(self, index: int) -> Steps:
        comm, peer = self.one, self.peers[0].rank
        request = yield from comm.isend(self.options.size, peer)
        yield from comm.compute(self.computing_ps / 1e12)
        yield from request.wait()
        yield from comm.recv(WORD, peer)

    def second(self, comm: Comm) -> Steps:
        while True:
            yield from comm.recv(self.options.size, self.one.rank)
            yield from comm.send(WORD, self.one.rank)


class Receiving(Sending):
    """The first process receives what it has asked for, and computes meanwhile."""

    def turn(self, index: int) -> Steps:
        comm, peer = self.one, self.peers[0].rank
        request = yield from comm.irecv(self.options.size, peer)
        yield from comm.send(WORD, peer)
        yield from comm.compute(self.computing_ps / 1e12)
        yield from request.wait()

    def second(self, comm: Comm) -> Steps:
        while True:
            yield from comm.recv(WORD, self.one.rank)
            yield from comm.send(self.options.size, self.one.rank)


def _latency(groups: list[PingPong]) -> Result:
    measure(groups)
    latency_us = sum(group.laps.mean_ps() for group in groups) / len(groups) / 2 / 1e6
    return found(groups, {"latency_us": latency_us}, lambda: explain_message(groups[0]))


def osu_latency(run: Run) -> Result:
    """Half a round trip."""
    return _latency([one_pair(PingPong, run)])


def osu_multi_lat(run: Run) -> Result:
    """Half a round trip while all pairs do the same, the mean over them."""
    return _latency(several_pairs(PingPong, run))


def imb_pingpong(run: Run) -> Result:
    """Half a round trip, and the bandwidth of that (IMB 2.3, IMB_pingpong.c)."""
    result = osu_latency(run)
    result.row["bandwidth_MBps"] = run.options.size / result.row["latency_us"]
    return result


def netpipe_mpi(run: Run) -> Result:
    """Half a round trip as NetPIPE does it, and the bandwidth that it stands for.

    One buffer serves sending and receiving; with -I the messages rotate through a pool for each.
    Times are those of later turns through the pools: NetPIPE reports the shortest of its trials.
    """
    pair = one_pair(Rotation, run)
    measure([pair])
    row = throughput(run.options.size, pair.laps.mean_ps() / 2 / 1e6)
    result = found([pair], row, lambda: explain_message(pair))
    result.row.update(buffers=rotation(run.options), invalidate=run.options.invalidate)
    return result


def _overlap(kind: type[Sending], run: Run) -> Result:
    alone = one_pair(kind, run)
    measure([alone])
    communication_ps = alone.laps.mean_ps()
    explained = explain_iteration(alone) if run.options.explain else {}
    again = Simulator()
    again.profile = run.sim.profile
    beside = one_pair(kind, replace(run, sim=again))
    beside.computing_ps = round(communication_ps)
    measure([beside])
    longer = beside.laps.mean_ps() / communication_ps - 1
    row = {
        "communication_us": communication_ps / 1e6,
        "overlap_percent": 100 * max(0.0, 1 - longer),
    }
    what = {"what": "an iteration without computing"}
    # Iterations that are left out may all end a look at the queues sooner or later.
    look = alone.one.process.round_ps / communication_ps if beside.laps.error_percent else 0.0
    error = alone.laps.error_percent + beside.laps.error_percent * (1 + longer) + 100 * look
    return found([beside, alone], row, lambda: explained | what, error)


def overlap_isend(run: Run) -> Result:
    """How much of the time of a send without blocking a process may compute, in percent."""
    return _overlap(Sending, run)


def overlap_irecv(run: Run) -> Result:
    """How much of the time of a receive without blocking a process may compute, in percent."""
    return _overlap(Receiving, run)
