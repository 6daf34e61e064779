"""Ping-pong of two processes, or of several pairs at once, as the OSU and Intel benchmarks do it.

Source: OSU benchmarks 2.1 (2005), osu_latency.c, in the tree of MVAPICH2; 3.1, osu_multi_lat.c.
"""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.mpi import Comm
from hcasim.workloads.end import Steps
from hcasim.workloads.mpi.group import (
    Group,
    explain_message,
    measure,
    one_pair,
    several_pairs,
    worst_error,
)
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result


class PingPong(Group):
    """A message there and one back, with blocking calls."""

    def turn(self, index: int) -> Steps:
        size, comm, peer = self.options.size, self.one, self.peers[0].rank
        yield from comm.send(size, peer)
        yield from comm.recv(size, peer)

    def second(self, comm: Comm) -> Steps:
        size, peer = self.options.size, self.one.rank
        while True:
            yield from comm.recv(size, peer)
            self.received_ps = self.sim.now
            yield from comm.send(size, peer)


def _latency(groups: list[PingPong]) -> Result:
    """Half a round trip, the mean over all pairs."""
    measure(groups)
    job, options = groups[0].job, groups[0].options
    latency_us = sum(group.laps.mean_ps() for group in groups) / len(groups) / 2 / 1e6
    row = {"size": options.size, "latency_us": latency_us, "error_percent": worst_error(groups)}
    return Result(row, job.cluster.counters(), explain_message(groups[0]))


def osu_latency(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip."""
    return _latency([one_pair(PingPong, sim, machine, options)])


def osu_multi_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip while all pairs do the same, the mean over them."""
    return _latency(several_pairs(PingPong, sim, machine, options))


def imb_pingpong(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip, and the bandwidth of that (IMB 2.3, IMB_pingpong.c)."""
    found = osu_latency(sim, machine, options)
    bandwidth = options.size / found.row["latency_us"]
    return Result({**found.row, "bandwidth_MBps": bandwidth}, found.counters, found.breakdown)
