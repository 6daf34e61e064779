"""Communication of a call without blocking that goes on while the process computes.

An iteration is the call, computing, and waiting for it; a message of 4 bytes says that the receive
has been posted, or that what was sent has come in. It is run without computing, and then with
computing for as long as that took: what it takes longer could not be overlapped. As nothing else
happens until the process waits, it could compute for the rest without taking longer.
Source: rashti2007 section 4.6, for the percentage of the communication time that can be overlapped;
OSU benchmarks 4.4, osu_ialltoall.c and the like, for how it is measured.
"""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.mpi import Comm
from hcasim.workloads.end import Steps
from hcasim.workloads.mpi.group import Group, explain_iteration, measure, one_pair, worst_error
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

WORD = 4
"""Bytes of a message that only says something."""


class Overlap(Group):
    """A pair whose first process computes while it sends or receives.

    Attributes:
        computing_ps: how long.
    """

    computing_ps = 0


class Sending(Overlap):
    """The first process sends; the other answers."""

    def turn(self, index: int) -> Steps:
        comm, peer = self.one, self.peers[0].rank
        request = yield from comm.isend(self.options.size, peer)
        yield from self.one.compute(self.computing_ps / 1e12)
        yield from request.wait()
        yield from comm.recv(WORD, peer)

    def second(self, comm: Comm) -> Steps:
        peer = self.one.rank
        while True:
            yield from comm.recv(self.options.size, peer)
            yield from comm.send(WORD, peer)


class Receiving(Overlap):
    """The first process receives what it has asked for."""

    def turn(self, index: int) -> Steps:
        comm, peer = self.one, self.peers[0].rank
        request = yield from comm.irecv(self.options.size, peer)
        yield from comm.send(WORD, peer)
        yield from self.one.compute(self.computing_ps / 1e12)
        yield from request.wait()

    def second(self, comm: Comm) -> Steps:
        peer = self.one.rank
        while True:
            yield from comm.recv(WORD, peer)
            yield from comm.send(self.options.size, peer)


def _overlap(kind: type[Overlap], sim: Simulator, machine: Machine, options: Options) -> Result:
    alone = one_pair(kind, sim, machine, options)
    measure([alone])
    communication_ps, explained = alone.laps.mean_ps(), explain_iteration(alone)
    again = Simulator()
    again.profile = sim.profile
    beside = one_pair(kind, again, machine, options)
    beside.computing_ps = round(communication_ps)
    measure([beside])
    longer = beside.laps.mean_ps() / communication_ps - 1
    row = {
        "size": options.size,
        "communication_us": communication_ps / 1e6,
        "overlap_percent": 100 * max(0.0, 1 - longer),
        "error_percent": worst_error([alone, beside]),
    }
    if explained:
        explained["what"] = "an iteration without computing"
    return Result(row, beside.job.cluster.counters(), explained)


def overlap_isend(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Overlap of computing with a send."""
    return _overlap(Sending, sim, machine, options)


def overlap_irecv(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Overlap of computing with a receive."""
    return _overlap(Receiving, sim, machine, options)
