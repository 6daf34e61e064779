"""One end of a connection as the latency benchmarks use it, and what all use of verbs."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import repeat

from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.verbs import (
    CQ,
    GRH_SIZE,
    MR,
    PD,
    QP,
    SGE,
    Access,
    Context,
    QPType,
    RecvWR,
    SendWR,
    WROpcode,
)
from hcasim.workloads.options import Options, Verb
from hcasim.workloads.places import hold, places
from hcasim.workloads.roles import both_ends
from hcasim.workloads.turns import SEED, draw_turns

ALL_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
Steps = Generator[Event, object, None]
OPCODES: dict[Verb, WROpcode] = {
    "write": WROpcode.RDMA_WRITE,
    "send": WROpcode.SEND,
    "read": WROpcode.RDMA_READ,
}


def inline_limit(context: Context, options: Options, opcode: WROpcode) -> int:
    """The longest message that goes into the work request itself.

    What perftest takes in its latency tests, 220, 236 and 188 B (perftest_parameters.h,
    DEF_INLINE_WRITE, DEF_INLINE_SEND_RC_UC and DEF_INLINE_SEND_UD), is what fits into 256 B.
    """
    if opcode not in (WROpcode.RDMA_WRITE, WROpcode.SEND):
        return 0
    if options.inline:
        return options.size
    if options.inline_size >= 0:
        return options.inline_size
    return context.blueflame_inline(opcode.value, QPType[options.connection])


def connect(mine: Sequence[QP], theirs: Sequence[QP]) -> dict[QP, tuple[int, int]]:
    """Make queue pairs ready to send to those of another process, each to one.

    Returns:
        Port and queue pair that datagrams of each go to.
    """
    for one, other in zip(mine, theirs, strict=True):
        if one.qp_type is QPType.UD:
            one.activate()
        else:
            one.connect(other)
    return {one: (other.lid, other.qp_num) for one, other in zip(mine, theirs, strict=True)}


def receive_room(options: Options) -> int:
    """Bytes that a receive buffer has for a message."""
    return options.size + GRH_SIZE * (options.connection == "UD")


class End:
    """One process of a pair: buffers, a completion queue, and queue pairs used in turn.

    Args:
        opcode: of its messages.
        core: its processor; a node with fewer has it share one.
    """

    def __init__(
        self,
        sim: Simulator,
        cluster: Cluster,
        node: int,
        options: Options,
        opcode: WROpcode,
        core: int = 0,
    ) -> None:
        self.sim = sim
        home = cluster.nodes[node]
        self.context = Context(sim, home, core % len(home.cores))
        self.pd = PD(self.context)
        self.opcode = opcode
        self.size = options.size
        self.room = receive_room(options)
        self.cq = CQ(self.context, 4 * options.qps + 16)
        page_size, region = options.page_size, options.region
        self.source: MR = self.pd.reg_mr(max(region, options.size), ALL_ACCESS, page_size=page_size)
        self.sink: MR = self.pd.reg_mr(max(region, self.room), ALL_ACCESS, page_size=page_size)
        self._places: Iterator[int] = repeat(0)
        if region:
            self._places = places(region, options.size, options.access, SEED)
            hold(self.source, page_size)
            hold(self.sink, page_size)
        self.arrivals = self.sink.watch(self.sink.addr + options.size - 1)
        limit = inline_limit(self.context, options, opcode)
        self.inline = 0 < options.size <= limit
        kind = QPType[options.connection]
        self.qps = [
            QP(self.pd, self.cq, self.cq, max_inline_data=limit, qp_type=kind)
            for _ in range(options.qps)
        ]
        self._to: dict[QP, tuple[int, int]] = {}
        self._by_number = {qp.qp_num: qp for qp in self.qps}
        self._turns = draw_turns(options)
        self.received = 0
        self.operation = 0

    def connect(self, other: End) -> None:
        """Connect each queue pair with its peer."""
        self._to = connect(self.qps, other.qps)

    def next_qp(self) -> QP:
        """The queue pair whose turn it is."""
        return self.qps[next(self._turns)]

    def request(self, qp: QP, peer: End) -> SendWR:
        """A request that moves a message to or from the place whose turn it is."""
        dlid, remote_qpn = self._to[qp]
        place = next(self._places)
        return SendWR(
            self.opcode,
            SGE(self.source.addr + place, self.size, self.source.lkey),
            remote_addr=peer.sink.addr + place,
            rkey=peer.sink.rkey,
            inline=self.inline,
            compare_add=1,
            dlid=dlid,
            remote_qpn=remote_qpn,
        )

    def post(self, peer: End) -> Steps:
        """Post such a request to the queue pair whose turn it is."""
        qp = self.next_qp()
        self.operation = yield from qp.post_send(self.request(qp, peer))

    def prepare_receive(self, qp: QP) -> Steps:
        """Post one receive."""
        yield from qp.post_recv(RecvWR(SGE(self.sink.addr, self.room, self.sink.lkey)))

    def await_receive(self) -> Generator[Event, object, QP]:
        """Poll the completion queue until a message has arrived, passing over sends.

        Returns:
            The queue pair it has arrived on.
        """
        while True:
            completion = yield from self.cq.wait()
            if completion.is_receive:
                return self._by_number[completion.qpn]


def two_ends(cluster: Cluster, options: Options, opcode: WROpcode) -> tuple[End, End]:
    """Client and server, connected; on one node each has a processor of its own."""
    client, server = (
        End(cluster.sim, cluster, node, options, opcode, number * options.loopback)
        for number, node in enumerate(both_ends(options))
    )
    client.connect(server)
    server.connect(client)
    return client, server
