"""Requests by writes, replies by datagrams: what HERD's remote procedure calls are.

The method is that of efficient/rdma_bench, ws-sequencer (worker.c: run_worker, client.c:
run_client) and herd. Clients write into a region of the server over unreliable connections; the
threads of the server poll it, and answer by unreliable datagrams.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import chain, count

from hcasim.cluster import Cluster, Node
from hcasim.engine import Event
from hcasim.verbs import CQ, MR, PD, SGE, Context, QPType, RecvWR, SendWR, WROpcode
from hcasim.verbs.requests import GRH_SIZE
from hcasim.workloads.end import ALL_ACCESS, Steps, hold, join, stride
from hcasim.workloads.options import Options
from hcasim.workloads.rdma_bench.meter import Meter
from hcasim.workloads.rdma_bench.rates import measure
from hcasim.workloads.rdma_bench.worker import SendQueue
from hcasim.workloads.result import Result
from hcasim.workloads.workload import Run


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


WRITE, SEND = WROpcode.RDMA_WRITE, WROpcode.SEND


def _queue(pd: PD, options: Options, size: int, port: int, replies: CQ | None = None) -> SendQueue:
    """A queue for messages of a size; ``replies`` is that of datagrams, if it receives any."""
    opcode, kind = (WRITE, QPType.UC) if replies is None else (SEND, QPType.UD)
    limit = options.inline_size
    if limit < 0:
        limit = pd.context.blueflame_inline(opcode.value, kind)
    cq = CQ(pd.context, options.tx_depth)
    return SendQueue(pd, cq, options, kind, size, limit, 2 * options.window, replies, port)


class RequestRegion:
    """Memory of the server with a place for each request that may be in flight.

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

    Parameters:
        number: its number among those of all clients.
        region: where its requests go.

    Attributes:
        port: that it uses, from 0.
        asked, answered: its requests so far, and the replies that it has taken.
    """

    def __init__(
        self, cluster: Cluster, number: int, options: Options, region: RequestRegion
    ) -> None:
        node, thread = divmod(number, options.client_processes)
        self._options, self._number, self._region = options, number, region
        self.port = number % options.ports
        pd = PD(Context(cluster.sim, cluster.nodes[node], thread))
        reply = reply_size(options)
        room = stride(reply + GRH_SIZE)
        length = max(options.size, options.window * room)
        buffer = self._buffer = pd.reg_mr(length, ALL_ACCESS, page_size=options.page_size)
        self._replied = CQ(pd.context, 2 * options.window)
        self._requests = _queue(pd, options, options.size, self.port)
        self.replies = _queue(pd, options, reply, self.port, self._replied).qp
        self.replies.activate()
        join(self._requests.qp, _queue(region.pd, options, options.size, self.port).qp)
        # Those of a window of replies, each with a place of its own.
        self._receives = [
            RecvWR(SGE(buffer.addr + slot * room, room, buffer.lkey))
            for slot in range(options.window)
        ]
        for receive in 2 * self._receives:
            self.replies.prepost_recv(receive)
        self.asked = self.answered = 0

    def run(self) -> Steps:
        """Ask for ever."""
        options = self._options
        slots = [0] * options.processes
        for self.asked in count():
            if self.asked >= options.window:
                yield from self._take()
            thread = self.asked % options.processes
            yield from self._requests.room(1)
            yield from self._requests.qp.post_send(self._request(thread, slots[thread]))
            slots[thread] = (slots[thread] + 1) % options.window

    def _take(self) -> Steps:
        """Take a reply; after each window of them their receives are posted again."""
        yield from self._replied.wait()
        self.answered += 1
        if self.answered % len(self._receives) == 0:
            yield from self.replies.post_recv_list(self._receives)

    def _request(self, thread: int, slot: int) -> SendWR:
        return SendWR(
            WRITE,
            SGE(self._buffer.addr, self._options.size, self._buffer.lkey),
            remote_addr=self._region.address(thread, self._number, slot),
            rkey=self._region.memory.rkey,
            inline=self._requests.inline,
            signaled=self._requests.count(),
        )


class Server:
    """A thread that polls its places of the region, and replies to what it finds.

    It looks at the clients in turn, once at each, and takes no more requests than a list has; their
    replies are posted together, those of one port in a list. The next list goes over the next of
    its queue pairs.

    Parameters:
        thread: its number on the node, which is that of its processor.

    Attributes:
        in_flight: requests at most that it has not answered.
        queues: those that it replies over, of each port.
        replied, posts: its replies so far, and the lists or single ones that they were posted as.
    """

    def __init__(
        self,
        cluster: Cluster,
        thread: int,
        options: Options,
        region: RequestRegion,
        clients: list[Client],
    ) -> None:
        home = self.home = cluster.nodes[options.clients]
        context = self._context = Context(cluster.sim, home, thread)
        self._sim, self._look = cluster.sim, context.stack.poll_memory
        pd = PD(context)
        self._options, self._thread, self._region = options, thread, region
        self._clients = [(one.port, one.replies.lid, one.replies.qp_num) for one in clients]
        self.in_flight = -(-len(clients) * options.window // options.processes)
        size = reply_size(options)
        buffer: MR = pd.reg_mr(size, ALL_ACCESS, page_size=options.page_size)
        self._sge = SGE(buffer.addr, size, buffer.lkey)
        received = CQ(context, 1)
        self.queues = [
            [_queue(pd, options, size, port, received) for _ in range(options.qps)]
            for port in range(options.ports)
        ]
        for queue in chain(*self.queues):
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
            for port, queues in enumerate(self.queues):
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
            reply = SendWR(SEND, self._sge, inline=queue.inline, dlid=lid, remote_qpn=number)
            reply.signaled = queue.count()
            replies.append(reply)
        self.posts += 1
        yield from queue.qp.post_send_list(replies)


def build(cluster: Cluster, options: Options) -> tuple[list[Client], list[Server]]:
    """The threads of all clients, and those of the server behind them."""
    region = RequestRegion(cluster, cluster.nodes[options.clients], options)
    threads = range(client_threads(options))
    clients = [Client(cluster, number, options, region) for number in threads]
    servers = range(options.processes)
    return clients, [Server(cluster, thread, options, region, clients) for thread in servers]


def request_reply(run: Run) -> Result:
    """Clients' threads ask, a server's threads reply. The rate is that of the server's replies."""
    options = run.options
    clients, servers = build(run.cluster, options)
    for client in clients:
        run.sim.process(client.run())
    found = measure(run, servers, "server", size=reply_size(options))
    posts = sum(server.posts for server in servers)
    found.row.update(
        reply_size=reply_size(options),
        clients=options.clients,
        client_processes=options.client_processes,
        replies_per_post=sum(server.replied for server in servers) / max(1, posts),
    )
    return found
