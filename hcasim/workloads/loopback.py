"""Memory as the DMA engines of the adapter see it.

The method is that of sur2005 section 3: a process moves data by RDMA write from one of its
buffers to another and back, over two queue pairs on the same port, so that nothing goes onto the
link. Half of the time for both is the latency. The buffers are in the host's memory or in the
adapter's own.
"""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import CQ, MR, PD, QP, SGE, Access, Context, SendWR, WROpcode
from hcasim.workloads.end import Steps
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

SLACK = 1e-4
ERROR = 1e-3
_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE


class Loopback:
    """A process with two buffers, and queue pairs that are connected to each other."""

    def __init__(self, sim: Simulator, cluster: Cluster, options: Options) -> None:
        self.sim = sim
        self.options = options
        self.laps = Laps(
            options.warmup,
            options.iters,
            options.exact,
            cycle=options.qps,
            slack=SLACK,
            error=ERROR,
        )
        self.usage = Utilisation(cluster.sim)
        context = Context(sim, cluster.nodes[0])
        pd = PD(context)
        self.cq = CQ(context, 2 * options.qps)
        self._buffers = [
            pd.reg_mr(options.size, _ACCESS, page_size=options.page_size, memory=options.memory)
            for _ in range(2)
        ]
        self._pairs: list[tuple[QP, QP]] = []
        for _ in range(options.qps):
            there, back = (QP(pd, self.cq, self.cq) for _ in range(2))
            there.connect(back)
            back.connect(there)
            self._pairs.append((there, back))

    def _move(self, qp: QP, source: MR, target: MR) -> Steps:
        request = SendWR(
            WROpcode.RDMA_WRITE,
            SGE(source.addr, self.options.size, source.lkey),
            remote_addr=target.addr,
            rkey=target.rkey,
        )
        yield from qp.post_send(request)
        yield from self.cq.wait()

    def run(self) -> Steps:
        """Move there and back until the time of it is known."""
        first, second = self._buffers
        turn = 0
        while not self.laps.done:
            there, back = self._pairs[turn % len(self._pairs)]
            turn += 1
            begin = self.sim.now
            yield from self._move(there, first, second)
            yield from self._move(back, second, first)
            self.laps.lap(self.sim.now - begin)
            if turn == 1:
                self.usage.mark()


def loopback_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of an RDMA write inside the adapter, half of there and back."""
    cluster = Cluster(sim, machine, 2)
    process = Loopback(sim, cluster, options)
    sim.run(until=sim.process(process.run()))
    row = {
        "size": options.size,
        "qps": options.qps,
        "latency_us": process.laps.mean_ps() / 2 / 1e6,
        "error_percent": process.laps.error_percent,
    }
    return Result(row, cluster.counters(), process.usage.report() if options.explain else {})
