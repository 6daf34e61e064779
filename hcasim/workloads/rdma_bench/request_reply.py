"""Requests by writes, replies by datagrams: what HERD's remote procedure calls are.

The method is that of efficient/rdma_bench, ws-sequencer (worker.c: run_worker, client.c:
run_client) and herd. Clients write into a region of the server over unreliable connections; the
threads of the server poll it, and answer by unreliable datagrams.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import chain, count

from hcasim.engine import Event
from hcasim.verbs import CQ, PD, SGE, QPType, SendWR, WROpcode
from hcasim.verbs.requests import GRH_SIZE, WIRE
from hcasim.workloads.end import Program, Steps, hold, join, receive, request, stride
from hcasim.workloads.options import Options
from hcasim.workloads.rdma_bench.meter import Meter
from hcasim.workloads.rdma_bench.rates import measure
from hcasim.workloads.rdma_bench.worker import SendQueue
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

WRITE, SEND = WROpcode.RDMA_WRITE, WROpcode.SEND


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


def _queue(pd: PD, options: Options, size: int, port: int, replies: CQ | None = None) -> SendQueue:
    """A queue for messages of a size; ``replies`` is that of datagrams, if it receives any."""
    opcode, kind = (WRITE, QPType.UC) if replies is None else (SEND, QPType.UD)
    limit = options.inline_size
    if limit < 0:
        limit = pd.context.blueflame_inline(WIRE[opcode], kind)
    cq = CQ(pd.context, options.tx_depth)
    return SendQueue(pd, cq, options, kind, size, limit, 2 * options.window, replies, port)


class Counter:
    """A word from which threads take numbers: its line moves from one's cache to the next's."""

    def __init__(self) -> None:
        self._free_ps = 0
        self._holder: Server | None = None

    def take(self, thread: Server) -> int:
        """Picoseconds until a thread has the next number; those before it have theirs first."""
        now, costs = thread.sim.now, thread.context.costs
        moved = costs.line if self._holder is not thread else 0
        # A locked instruction waits for the doorbell before it.
        began = max(now, self._free_ps, thread.context.core.drained_ps)
        self._holder, self._free_ps = thread, began + moved
        return self._free_ps - now


class RequestRegion(Program):
    """Memory of the server with a place for each request that may be in flight.

    Requests wait, by thread and client's thread, until a thread of the server takes them.
    """

    def __init__(self, run: Run) -> None:
        options = run.options
        super().__init__(run.sim, run.cluster.nodes[options.clients], 0, options)
        self._stride = stride(options.size)
        self._window, self._clients = options.window, client_threads(options)
        threads = options.processes
        self.all = self.memory(threads * self._clients * self._window * self._stride)
        hold(self.all, options.page_size)
        self.all.listen(self._written)
        self.waiting = [[0] * self._clients for _ in range(threads)]
        self._arrivals: list[Event | None] = [None] * threads

    def place(self, thread: int, client: int, slot: int) -> int:
        """Where in it a client's thread writes a request to a thread of the server."""
        return ((thread * self._clients + client) * self._window + slot) * self._stride

    def _written(self, address: int, length: int) -> None:
        place, end = divmod(address + length - 1 - self.all.addr, self._stride)
        # Only the last packet of a request ends where the request does.
        if end == self.options.size - 1:
            thread, client = divmod(place // self._window, self._clients)
            self.waiting[thread][client] += 1
            event, self._arrivals[thread] = self._arrivals[thread], None
            if event is not None:
                event.succeed()

    def arrival(self, thread: int) -> Event:
        """The next request to a thread."""
        event = self._arrivals[thread] = self.sim.event()
        return event


class Client(Program):
    """A thread that keeps a window of requests in flight, to the server's threads in turn.

    Its number is that among the threads of all clients; the port counts from 0.
    """

    def __init__(self, run: Run, number: int, region: RequestRegion) -> None:
        options = run.options
        node, thread = divmod(number, options.client_processes)
        super().__init__(run.sim, run.cluster.nodes[node], thread, options)
        self._number, self._region = number, region
        self.port = number % options.ports
        reply = reply_size(options)
        room = stride(reply + GRH_SIZE)
        buffer = self._buffer = self.memory(max(options.size, options.window * room))
        self._replied = CQ(self.context, 2 * options.window)
        self._requests = _queue(self.pd, options, options.size, self.port)
        self.replies = _queue(self.pd, options, reply, self.port, self._replied).qp
        self.replies.activate()
        join(self._requests.qp, _queue(region.pd, options, options.size, self.port).qp)
        # Those of a window of replies, each with a place of its own.
        self._receives = [receive(buffer, slot * room, room) for slot in range(options.window)]
        for one in 2 * self._receives:
            self.replies.prepost_recv(one)
        self.asked = self.answered = 0

    def run(self) -> Steps:
        """Ask for ever."""
        options = self.options
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
        there = self._region.place(thread, self._number, slot)
        how = {"inline": self._requests.inline, "signaled": self._requests.count()}
        return request(WRITE, self._buffer, 0, self.options.size, self._region.all, there, **how)


class Server(Program):
    """A thread that polls its places of the region, and replies to what it finds.

    It looks at the clients in turn, once at each, and takes no more requests than a list has; their
    replies are posted together, those of one port in a list. The next list goes over the next of
    its queue pairs.

    Attributes:
        queues: those that it replies over, of each port.
        replied, posts: its replies so far, and the lists or single ones that they were posted as.
    """

    def __init__(
        self,
        run: Run,
        thread: int,
        region: RequestRegion,
        clients: list[Client],
        counter: Counter | None,
    ) -> None:
        options = run.options
        super().__init__(run.sim, region.home, thread, options)
        self._thread, self._region, self._counter = thread, region, counter
        self.context.costs.run(options.work, locks=options.locks)
        self._clients = [(one.port, one.replies.lid, one.replies.qp_num) for one in clients]
        self.in_flight = -(-len(clients) * options.window // options.processes)
        size = reply_size(options)
        buffer = self.memory(size)
        self._sge = SGE(buffer.addr, size, buffer.lkey)
        received = CQ(self.context, 1)
        self.queues = [
            [_queue(self.pd, options, size, port, received) for _ in range(options.qps)]
            for port in range(options.ports)
        ]
        for queue in chain(*self.queues):
            queue.qp.activate()
        self._next = self.replied = self.posts = 0

    def run(self, meter: Meter) -> Steps:
        """Reply for ever, and have the replies counted."""
        turn = 0
        while True:
            found = yield from self._poll()
            if found and self._counter is not None:
                yield self.context.core.work(self._counter.take(self))
            for port, queues in enumerate(self.queues):
                requests = [client for client in found if self._clients[client][0] == port]
                if requests:
                    yield from self._post(queues[turn], requests)
            turn = (turn + 1) % self.options.qps
            self.replied += len(found)
            meter.posted(self.home.index, len(found))

    def _poll(self) -> Generator[Event, object, list[int]]:
        """Look at each client's next place, and take up to a list of requests."""
        waiting, found = self._region.waiting[self._thread], []
        core, costs, looks = self.context.core, self.context.costs, 0
        if not any(waiting):
            yield from self._spin(len(waiting))
        for _ in waiting:
            client, looks = self._next, looks + 1
            self._next = (client + 1) % len(waiting)
            if waiting[client]:
                waiting[client] -= 1
                found.append(client)
                # The lines of further requests are fetched meanwhile.
                fetch = costs.line if len(found) == 1 else 0
                yield core.work(looks * costs.poll_memory + fetch)
                looks = 0
                if len(found) == self.options.post_list:
                    break
        if looks:
            yield core.work(looks * costs.poll_memory)
        return found

    def _spin(self, clients: int) -> Steps:
        """Look at one place after the other until there is a request somewhere."""
        began = self.sim.now
        yield self._region.arrival(self._thread)
        look = self.context.costs.poll_memory
        if look:
            self._next = (self._next + (self.sim.now - began) // look) % clients

    def _post(self, queue: SendQueue, clients: list[int]) -> Steps:
        yield from queue.room(len(clients))
        replies = []
        for client in clients:
            _, lid, number = self._clients[client]
            reply = SendWR(SEND, (self._sge,), inline=queue.inline, dlid=lid, remote_qpn=number)
            reply.signaled = queue.count()
            replies.append(reply)
        self.posts += 1
        yield from queue.qp.post_send_list(replies)


def build(run: Run) -> tuple[list[Client], list[Server]]:
    """The threads of all clients, and those of the server behind them."""
    region = RequestRegion(run)
    clients = [Client(run, number, region) for number in range(client_threads(run.options))]
    counter = Counter() if run.options.counter else None
    threads = range(run.options.processes)
    return clients, [Server(run, thread, region, clients, counter) for thread in threads]


def request_reply(run: Run) -> Result:
    """Clients' threads ask, a server's threads reply. The rate is that of the server's replies."""
    options = run.options
    clients, servers = build(run)
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
