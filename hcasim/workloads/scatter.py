"""One process scatters buffers over many queue pairs.

The method is that of sur2005 section 4.2: a different registered buffer is posted on each queue
pair, back to back, and then the completions of all are awaited, so that the contexts of queue pairs
are fetched while the bus has other work. The receiver has one buffer with a place for each.
"""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import CQ, PD, QP, SGE, Access, Context, SendWR, WROpcode
from hcasim.workloads.end import Steps
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server

SLACK = 1e-4
ERROR = 1e-3
_TARGET = Access.LOCAL_WRITE | Access.REMOTE_WRITE


class Scatter:
    """A process with a queue pair and a source for each message, and one remote target."""

    def __init__(self, sim: Simulator, cluster: Cluster, options: Options) -> None:
        self.sim = sim
        self.laps = Laps(options.warmup, options.iters, options.exact, slack=SLACK, error=ERROR)
        self.usage = Utilisation(cluster.sim)
        pds = [PD(Context(sim, node)) for node in cluster.nodes]
        self._cqs = [CQ(pd.context, options.qps) for pd in pds]
        self._messages: list[tuple[QP, SendWR]] = []
        size, page_size = options.size, options.page_size
        target = pds[1].reg_mr(size * options.qps, _TARGET, page_size=page_size)
        for number in range(options.qps):
            source = pds[0].reg_mr(size, page_size=page_size)
            mine, theirs = (
                QP(pd, cq, cq, max_inline_data=options.size if options.inline else 0)
                for pd, cq in zip(pds, self._cqs, strict=True)
            )
            mine.connect(theirs)
            theirs.connect(mine)
            request = SendWR(
                WROpcode.RDMA_WRITE,
                SGE(source.addr, size, source.lkey),
                remote_addr=target.addr + number * size,
                rkey=target.rkey,
                inline=options.inline,
            )
            self._messages.append((mine, request))

    def run(self) -> Steps:
        """Scatter until the time of one is known."""
        while not self.laps.done:
            begin = self.sim.now
            for qp, request in self._messages:
                yield from qp.post_send(request)
            for _ in self._messages:
                yield from self._cqs[0].wait()
            self.laps.lap(self.sim.now - begin)
            if len(self.laps.durations_ps) == 1:
                self.usage.mark()


def scatter(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Time of a scatter over all queue pairs."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    process = Scatter(sim, cluster, options)
    sim.run(until=sim.process(process.run()))
    row = {
        "size": options.size,
        "qps": options.qps,
        "latency_us": process.laps.mean_ps() / 1e6,
        "error_percent": process.laps.error_percent,
    }
    return Result(row, cluster.counters(), process.usage.report() if options.explain else {})
