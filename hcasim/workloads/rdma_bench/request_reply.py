"""Requests by writes, replies by datagrams: what HERD's remote procedure calls are.

The method is that of efficient/rdma_bench, ws-sequencer (worker.c: run_worker, client.c:
run_client) and herd. Clients write into a region of the server over unreliable connections; the
threads of the server poll it, and answer by unreliable datagrams.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import count

from hcasim.catalog import Machine
from hcasim.cluster import Cluster, Node
from hcasim.engine import Event, Simulator
from hcasim.verbs import CQ, MR, PD, QP, SGE, Context, QPType, RecvWR, SendWR, WROpcode
from hcasim.verbs.requests import GRH_SIZE
from hcasim.workloads.end import ALL_ACCESS, Steps
from hcasim.workloads.options import Options
from hcasim.workloads.places import hold, stride
from hcasim.workloads.rdma_bench.meter import Meter
from hcasim.workloads.rdma_bench.rates import measure
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server


def client_threads(options: Options) -> int:
    """Those of all clients."""
    return options.clients * options.client_processes


def reply_size(options: Options) -> int:
    """Bytes of a reply."""
    return options.reply_size or options.size


def round_of(options: Options) -> int:
    """Replies of a thread after which queues and region have been used, and no window is new."""
    in_flight = 2 * client_threads(options) * options.window
    return -(-in_flight // options.processes) + options.post_list * options.qps


def queue_pairs(options: Options) -> int:
    """Queue pairs of the server: one for each client's thread, and those that reply."""
    return client_threads(options) + options.processes * options.qps * options.ports


class SendQueue:
    """A queue pair whose requests ask for few completions, taken once its queue needs the room.

    Args:
        pd: of the thread that posts.
        options: of the test.
        size: bytes of its messages.
        port: that it uses, from 0.
        replies: completion queue of what it receives; none for a connection.
    """

    def __init__(
        self, pd: PD, options: Options, size: int, port: int, replies: CQ | None = None
    ) -> None:
        context = pd.context
        kind = QPType.UC if replies is None else QPType.UD
        self.opcode = WROpcode.RDMA_WRITE if replies is None else WROpcode.SEND
        limit = options.inline_size
        if limit < 0:
            limit = context.blueflame_inline(self.opcode.value, kind)
        self.inline = size <= limit
        self._depth, self._every = options.tx_depth, max(1, options.cq_mod)
        self._cq = CQ(context, options.tx_depth)
        self._sent = self._taken = self._free = 0
        self.qp = QP(
            pd,
            self._cq,
            replies or self._cq,
            max_send_wr=options.tx_depth,
            max_recv_wr=2 * options.window,
            max_inline_data=limit,
            port_num=port + 1,
            qp_type=kind,
        )

    def room(self, wanted: int) -> Steps:
        """Wait until so many more requests may be posted."""
        while self._sent + wanted - self._free > self._depth:
            yield from self._cq.wait()
            # A completion also frees what was posted before its request.
            self._free = self._taken * self._every + 1
            self._taken += 1

    def next_is_signaled(self) -> bool:
        """Count one more request, and tell whether it asks for a completion."""
        number, self._sent = self._sent, self._sent + 1
        return number % self._every == 0


class RequestRegion:
    """Memory of the server with a place for each request that may be in flight.

    Args:
        cluster: where it is.
        node: the server.
        options: of the test.

    Attributes:
        waiting: requests that no thread of the server has taken, by thread and client's thread.
    """

    def __init__(self, cluster: Cluster, node: Node, options: Options) -> None:
        self.pd = PD(Context(cluster.sim, node))
        self._sim = cluster.sim
        self._size, self._stride = options.size, stride(options.size)
        self._window, self._clients = options.window, client_threads(options)
        threads, page = options.processes, options.page_size
        length = threads * self._clients * self._window * self._stride
        self.memory: MR = self.pd.reg_mr(length, ALL_ACCESS, page_size=page)
        hold(self.memory, page)
        self.memory.listen(self._written)
        self.waiting = [[0] * self._clients for _ in range(threads)]
        self._arrivals: list[Event | None] = [None] * threads

    def address(self, thread: int, client: int, slot: int) -> int:
        """Where a client's thread writes a request to a thread of the server."""
        place = (thread * self._clients + client) * self._window + slot
        return self.memory.addr + place * self._stride

    def _written(self, address: int, length: int) -> None:
        place, end = divmod(address + length - 1 - self.memory.addr, self._stride)
        # Only the last packet of a request ends where the request does.
        if end == self._size - 1:
            thread, client = divmod(place // self._window, self._clients)
            self.waiting[thread][client] += 1
            event, self._arrivals[thread] = self._arrivals[thread], None
            if event is not None:
                event.succeed()

    def arrival(self, thread: int) -> Event:
        """The next request to a thread."""
        event = self._arrivals[thread] = self._sim.event()
        return event


class Client:
    """A thread that keeps a window of requests in flight, to the server's threads in turn.

    Args:
        cluster: where it runs.
        node: its number there.
        thread: its number on the node.
        number: its number among those of all clients.
        options: of the test.
        region: where its requests go.

    Attributes:
        asked, answered: its requests so far, and the replies that it has taken.
        replies: its queue pair for those.
    """

    def __init__(
        self,
        cluster: Cluster,
        node: int,
        thread: int,
        number: int,
        options: Options,
        region: RequestRegion,
    ) -> None:
        home = cluster.nodes[node]
        self._options, self._number, self._region = options, number, region
        self.port = number % options.ports
        pd = PD(Context(cluster.sim, home, thread))
        reply = reply_size(options)
        self._room = stride(reply + GRH_SIZE)
        length = max(options.size, options.window * self._room)
        self._buffer: MR = pd.reg_mr(length, ALL_ACCESS, page_size=options.page_size)
        self._replied = CQ(pd.context, 2 * options.window)
        self._requests = SendQueue(pd, options, options.size, self.port)
        self.replies = SendQueue(pd, options, reply, self.port, self._replied).qp
        self.replies.activate()
        ends = [self._requests.qp, SendQueue(region.pd, options, options.size, self.port).qp]
        for one, other in (ends, reversed(ends)):
            one.connect(other)
        for receive in 2 * self._receives():
            self.replies.prepost_recv(receive)
        self.asked = self.answered = 0

    def _receives(self) -> list[RecvWR]:
        """Those of a window of replies, each with a place of its own."""
        first, key = self._buffer.addr, self._buffer.lkey
        rooms = (first + slot * self._room for slot in range(self._options.window))
        return [RecvWR(SGE(address, self._room, key)) for address in rooms]

    def run(self) -> Steps:
        """Ask for ever."""
        options, receives = self._options, self._receives()
        slots = [0] * options.processes
        for self.asked in count():
            if self.asked >= options.window:
                yield from self._take(receives)
            thread = self.asked % options.processes
            yield from self._requests.room(1)
            yield from self._requests.qp.post_send(self._request(thread, slots[thread]))
            slots[thread] = (slots[thread] + 1) % options.window

    def _take(self, receives: list[RecvWR]) -> Steps:
        """Take a reply; after each window of them their receives are posted again."""
        yield from self._replied.wait()
        self.answered += 1
        if self.answered % len(receives) == 0:
            yield from self.replies.post_recv_list(receives)

    def _request(self, thread: int, slot: int) -> SendWR:
        buffer, requests = self._buffer, self._requests
        return SendWR(
            requests.opcode,
            SGE(buffer.addr, self._options.size, buffer.lkey),
            remote_addr=self._region.address(thread, self._number, slot),
            rkey=self._region.memory.rkey,
            inline=requests.inline,
            signaled=requests.next_is_signaled(),
        )


class Server:
    """A thread that polls its places of the region, and replies to what it finds.

    It looks at the clients in turn, once at each, and takes no more requests than a list has; their
    replies are posted together, those of one port in a list. The next list goes over the next of
    its queue pairs.

    Args:
        cluster: where it runs.
        node: its number there.
        thread: its number on the node, which is that of its processor.
        options: of the test.
        region: that it polls.
        clients: to whom it replies.

    Attributes:
        home: its node.
        in_flight: requests at most that it has not answered.
        replied, posts: its replies so far, and the lists or single ones that they were posted as.
    """

    def __init__(
        self,
        cluster: Cluster,
        node: int,
        thread: int,
        options: Options,
        region: RequestRegion,
        clients: list[Client],
    ) -> None:
        home = self.home = cluster.nodes[node]
        context = self._context = Context(cluster.sim, home, thread)
        self._sim, self._look = cluster.sim, context.stack.poll_memory
        pd = PD(context)
        self._options, self._thread, self._region = options, thread, region
        self._clients = [(one.port, one.replies.lid, one.replies.qp_num) for one in clients]
        self.in_flight = -(-len(clients) * options.window // options.processes)
        size = reply_size(options)
        self._buffer: MR = pd.reg_mr(size, ALL_ACCESS, page_size=options.page_size)
        self._sge = SGE(self._buffer.addr, size, self._buffer.lkey)
        received = CQ(context, 1)
        self._queues = [
            [SendQueue(pd, options, size, port, received) for _ in range(options.qps)]
            for port in range(options.ports)
        ]
        for queues in self._queues:
            for queue in queues:
                queue.qp.activate()
        self._next = self.replied = self.posts = 0

    def run(self, meter: Meter) -> Steps:
        """Reply for ever, and have the replies counted."""
        options, core, turn = self._options, self._context.core, 0
        work = self._context.stack.service
        while True:
            found = yield from self._poll()
            if work:
                yield core.work(work * len(found))
            for port, queues in enumerate(self._queues):
                requests = [client for client in found if self._clients[client][0] == port]
                if requests:
                    yield from self._post(queues[turn], requests)
            turn = (turn + 1) % options.qps
            self.replied += len(found)
            meter.posted(self.home.index, len(found))

    def _poll(self) -> Generator[Event, object, list[int]]:
        """Look at each client's next place, and take up to a list of requests."""
        waiting, found = self._region.waiting[self._thread], []
        core, looks = self._context.core, 0
        if not any(waiting):
            yield from self._spin(len(waiting))
        for _ in waiting:
            client, looks = self._next, looks + 1
            self._next = (client + 1) % len(waiting)
            if waiting[client]:
                waiting[client] -= 1
                found.append(client)
                yield core.work(looks * self._look)
                looks = 0
                if len(found) == self._options.post_list:
                    break
        if looks:
            yield core.work(looks * self._look)
        return found

    def _spin(self, clients: int) -> Steps:
        """Look at one place after the other until there is a request somewhere."""
        began = self._sim.now
        yield self._region.arrival(self._thread)
        if self._look:
            self._next = (self._next + (self._sim.now - began) // self._look) % clients

    def _post(self, queue: SendQueue, clients: list[int]) -> Steps:
        yield from queue.room(len(clients))
        replies = []
        for client in clients:
            _, lid, number = self._clients[client]
            replies.append(
                SendWR(
                    queue.opcode,
                    self._sge,
                    inline=queue.inline,
                    signaled=queue.next_is_signaled(),
                    dlid=lid,
                    remote_qpn=number,
                )
            )
        self.posts += 1
        yield from queue.qp.post_send_list(replies)


def build(cluster: Cluster, options: Options) -> tuple[list[Client], list[Server]]:
    """The threads of all clients, and those of the server behind them."""
    node = options.clients
    region = RequestRegion(cluster, cluster.nodes[node], options)
    each = options.client_processes
    clients = [
        Client(cluster, number // each, number % each, number, options, region)
        for number in range(client_threads(options))
    ]
    servers = [
        Server(cluster, node, thread, options, region, clients)
        for thread in range(options.processes)
    ]
    return clients, servers


def request_reply(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Clients' threads ask, a server's threads reply. The rate is that of the server's replies."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    clients, servers = build(cluster, options)
    for client in clients:
        sim.process(client.run())
    found = measure(cluster, options, [servers], "server", size=reply_size(options))
    found.row["reply_size"] = reply_size(options)
    found.row["clients"] = options.clients
    found.row["client_processes"] = options.client_processes
    posts = sum(server.posts for server in servers)
    found.row["replies_per_post"] = sum(server.replied for server in servers) / max(1, posts)
    return found
