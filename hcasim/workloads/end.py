"""One end of a connection as the latency benchmarks use it, and what all use of verbs."""

from __future__ import annotations

from collections.abc import Generator

from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.verbs import CQ, MR, PD, QP, SGE, Access, Context, RecvWR, SendWR, WROpcode
from hcasim.workloads.options import Options, Verb
from hcasim.workloads.turns import draw_turns

ALL_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
Steps = Generator[Event, object, None]
OPCODES: dict[Verb, WROpcode] = {
    "write": WROpcode.RDMA_WRITE,
    "send": WROpcode.SEND,
    "read": WROpcode.RDMA_READ,
}


class End:
    """One process of a pair: buffers, a completion queue, and queue pairs used in turn."""

    def __init__(self, sim: Simulator, cluster: Cluster, node: int, options: Options) -> None:
        self.sim = sim
        self.context = Context(sim, cluster.nodes[node])
        self.pd = PD(self.context)
        self.size = options.size
        self.cq = CQ(self.context, 4 * options.qps + 16)
        page_size = options.page_size
        self.source: MR = self.pd.reg_mr(options.size, ALL_ACCESS, page_size=page_size)
        self.sink: MR = self.pd.reg_mr(options.size, ALL_ACCESS, page_size=page_size)
        self.arrivals = self.sink.watch(self.sink.addr + options.size - 1)
        self.inline = options.inline
        inline = options.size if options.inline else 0
        self.qps = [
            QP(self.pd, self.cq, self.cq, max_inline_data=inline) for _ in range(options.qps)
        ]
        self._by_number = {qp.qp_num: qp for qp in self.qps}
        self._turns = draw_turns(options)
        self.received = 0
        self.operation = 0

    def connect(self, other: End) -> None:
        """Connect each queue pair with its peer."""
        for mine, theirs in zip(self.qps, other.qps, strict=True):
            mine.connect(theirs)

    def next_qp(self) -> QP:
        """The queue pair whose turn it is."""
        return self.qps[next(self._turns)]

    def request(self, opcode: WROpcode, peer: End) -> SendWR:
        """A request that moves the whole buffer."""
        return SendWR(
            opcode,
            SGE(self.source.addr, self.size, self.source.lkey),
            remote_addr=peer.sink.addr,
            rkey=peer.sink.rkey,
            inline=self.inline,
            compare_add=1,
        )

    def post(self, opcode: WROpcode, peer: End) -> Steps:
        """Post such a request to the queue pair whose turn it is."""
        self.operation = yield from self.next_qp().post_send(self.request(opcode, peer))

    def prepare_receive(self, qp: QP) -> Steps:
        """Post one receive."""
        yield from qp.post_recv(RecvWR(SGE(self.sink.addr, self.size, self.sink.lkey)))

    def await_receive(self) -> Generator[Event, object, QP]:
        """Poll the completion queue until a message has arrived, passing over sends.

        Returns:
            The queue pair it has arrived on.
        """
        while True:
            completion = yield from self.cq.wait()
            if completion.is_receive:
                return self._by_number[completion.qpn]
