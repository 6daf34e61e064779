"""One process that keeps up with several peers (rashti2007 section 4.5).

The paper says who sends to whom, but not windows and replies: they are those of osu_bw. The process
is the first of all; its peers are those of the other nodes. Both ways it sends to the first half of
them and receives from the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.mpi import Comm, Job
from hcasim.workloads.mpi.windows import Windows, bandwidth
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import first_nodes


class Sink(Windows):
    """Windows of all peers to one process."""

    @property
    def targets(self) -> Sequence[Comm]:
        return ()

    @property
    def sources(self) -> Sequence[Comm]:
        return self.peers


class Relay(Windows):
    """Windows of one process to half of its peers while the others send to it."""

    @property
    def targets(self) -> Sequence[Comm]:
        return self.peers[: len(self.peers) // 2]

    @property
    def sources(self) -> Sequence[Comm]:
        return self.peers[len(self.peers) // 2 :]


def _hotspot(kind: type[Windows], sim: Simulator, machine: Machine, options: Options) -> Result:
    job = Job(sim, Cluster(sim, machine, first_nodes(machine, options)), options.processes)
    return bandwidth([kind(job, options, job.worlds[0], job.worlds[options.processes :])])


def hotspot_send(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of one process that sends to all others."""
    return _hotspot(Windows, sim, machine, options)


def hotspot_recv(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of one process to which all others send."""
    return _hotspot(Sink, sim, machine, options)


def hotspot_both(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of one process that sends to half of the others and receives from the rest."""
    return _hotspot(Relay, sim, machine, options)
