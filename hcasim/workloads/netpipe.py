"""Ping-pong as NetPIPE 3.6 does it over InfiniBand, on the level of verbs (src/ib.c).

Sends are not signaled, and the next receive is posted before the answer. A message is noticed in
the completion queue, at a doorbell for each (``-c vapi_poll``), or by the last byte of its buffer
(``-c local_poll``); RDMA writes (``-t rdma_write``) need no receive. One buffer serves sending and
receiving and is registered for each; with -I (benjegerdes2004 section 3.3) messages rotate through
two pools, each registered as a whole, or else through several buffers with their own registrations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

from hcasim.catalog import Adapter
from hcasim.verbs import CQ, MR, PD, QP, SGE, Access, RecvWR, SendWR
from hcasim.verbs.memory import Watch
from hcasim.workloads.end import OPCODES, Program, Steps, join
from hcasim.workloads.laps import Laps
from hcasim.workloads.latency import ERROR, SLACK, PingPong
from hcasim.workloads.option import Option
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run
from hcasim.workloads.workload import Workload

QUEUE = 50_000
"""Entries of a work queue in NetPIPE (max_wq in src/ib.c)."""
MEGABIT = 2**20
"""Bits of NetPIPE's Mbps (src/netpipe.c: bps)."""
PAGE = 4096
"""Bytes of a page of a queue."""
SHORT = 32 * 1024
"""Bytes of the longest message whose time shows that a page of a queue is new."""
ALIKE = 2
"""Messages that tell that it is over what was new."""
POOL = 10_000_000
"""Bytes of each pool that -I rotates through (MEMSIZE in src/netpipe.h)."""
ALIGNMENT = 16 * 1024
"""Boundary in bytes on which each message begins (bufalign in src/netpipe.c)."""
PERTURBATION = 3
"""Bytes by which NetPIPE varies a size (DEFPERT in src/netpipe.h)."""
LONGEST = 10_000_000
"""Bytes beyond which NetPIPE tries no size (MAXINT in src/netpipe.h)."""
_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE


def rotation(options: Options) -> int:
    """How many places in memory the messages use in turn.

    With -I a place reaches to the next boundary, a whole one further if it ends on one, and the
    pointer goes back to the start of the pool when less than two places are left (src/netpipe.c:
    len_buf_align, AdvanceSendPtr). Messages of more than half a pool do not rotate.
    """
    if not options.invalidate:
        return options.buffers
    return max(1, -(-POOL // spacing(options.size)) - 1)


def spacing(size: int) -> int:
    """Bytes from one place of -I to the next, for messages of so many bytes."""
    return size + ALIGNMENT - size % ALIGNMENT


class Place(NamedTuple):
    """Where a message is sent from, and where one is received."""

    source: int
    sending: MR
    target: int
    receiving: MR


def places(pd: PD, options: Options) -> list[Place]:
    """Register memory, and return where the messages of one process are, in the order of use."""

    def register(size: int) -> MR:
        return pd.reg_mr(size, _ACCESS, page_size=options.page_size)

    if not options.invalidate:
        pairs = [(register(options.size), register(options.size)) for _ in range(options.buffers)]
        return [Place(one.addr, one, other.addr, other) for one, other in pairs]
    sending, receiving = (register(POOL + ALIGNMENT) for _ in range(2))
    # A pool that is aligned already loses a whole boundary (src/netpipe.c: AlignBuffer).
    source, target = (mr.addr + ALIGNMENT - mr.addr % ALIGNMENT for mr in (sending, receiving))
    offsets = (turn * spacing(options.size) for turn in range(rotation(options)))
    return [Place(source + offset, sending, target + offset, receiving) for offset in offsets]


def _start(adapter: Adapter, options: Options) -> tuple[int, dict[str, int]]:
    """Return how many messages at the start carry no more than a page, and how laps are timed.

    Iterations need not be run if nothing they leave behind is ever found again. A message with as
    many pages as the adapter holds translations displaces all others: after the first round trip
    one is enough. Where the places together have twice as many, each message misses all of its own,
    the first as the hundredth. Then the entries that protect buffers are left: one of a pool, or
    one of each buffer, which a short message brings in as well as a long one, if the first long one
    then displaces all translations.
    """
    turns = rotation(options)
    whole = 0, {"cycle": turns, "cold": turns, "repeats": 2, "together": _pages(adapter, options)}
    if options.exact or "random" in (adapter.mtt.policy, adapter.mpt.policy):
        return whole
    pages, entries = -(-options.size // options.page_size), adapter.mtt.entries
    all_pages = min(turns * pages, turns * spacing(options.size) // options.page_size)
    if turns == 1 or (options.invalidate and all_pages >= entries):
        repeats = 1 if pages >= entries else 2
        return 0, {**whole[1], "cycle": 1, "cold": 1, "repeats": repeats}
    if not options.invalidate and 2 * pages >= entries and options.warmup >= turns:
        return turns, {**whole[1], "cycle": 1, "cold": turns + 1}
    return whole


def _pages(adapter: Adapter, options: Options) -> int:
    """Messages after which each queue has used a page more, whose translation has to be fetched,
    and a few more that are like each other; 1 if that takes too little to tell.

    The queues are so long that all of their pages are new. Completions are half as long as
    requests.
    """
    one_by_one = adapter.mtt.line == adapter.mtt.entry
    return 2 * PAGE // adapter.wqe.stride + ALIKE if one_by_one and options.size <= SHORT else 1


class Player(Program):
    """One of the two processes; messages at the start carry no more than a page, if so many."""

    def __init__(self, run: Run, node: int, short: int) -> None:
        super().__init__(run.sim, run.cluster.nodes[node], 0, run.options)
        self._short = short
        self._depth = min(QUEUE, run.machine.hca.limits.max_wr)
        self.cq = CQ(self.context, self._depth)
        self.qp = QP(self.pd, self.cq, self.cq, max_send_wr=self._depth, max_recv_wr=self._depth)
        self._places = places(self.pd, run.options)
        self._sends, self._receives = count(), count()
        self.peer = self
        self._watch: Watch | None = None
        self._awaits_completion = True
        self._completed = {False: 0, True: 0}
        self.operation = 0

    def _length(self, message: int) -> int:
        size = self.options.size
        return min(size, self.options.page_size) if message < self._short else size

    def _empties_queue(self, message: int) -> bool:
        # NetPIPE empties its queues between its trials by one signaled message.
        return (message + 1) % self._depth == 0

    def prepare(self) -> Steps:
        """Post the receive of the next message, or only know where it will be written."""
        message = next(self._receives)
        place, length = self._places[message % len(self._places)], self._length(message)
        polls_memory = self.options.completion == "memory"
        if polls_memory:
            self._watch = place.receiving.watch(place.target + length - 1)
        if self.options.verb == "write":
            self._awaits_completion = False
            return
        self._awaits_completion = not polls_memory or self._empties_queue(message)
        sge = SGE(place.target, self.options.size, place.receiving.lkey)
        yield from self.qp.post_recv(RecvWR((sge,), signaled=self._awaits_completion))
        self._mark("post_recv")

    def send(self) -> Steps:
        message = next(self._sends)
        turn = message % len(self._places)
        place, remote = self._places[turn], self.peer._places[turn]
        signaled = self._empties_queue(message)
        sge = SGE(place.source, self._length(message), place.sending.lkey)
        request = SendWR(OPCODES[self.options.verb], (sge,), signaled=signaled)
        request.remote_addr, request.rkey = remote.target, remote.receiving.rkey
        self.operation = yield from self.qp.post_send(request)
        if signaled and self.options.completion == "memory":
            yield from self._await_completion(receive=False)

    def receive(self) -> Steps:
        """Await the next message, and prepare to receive the one behind it."""
        if self._watch is not None:
            yield from self._watch.poll(1)
            self._watch.close()
            self._mark("poll memory")
        if self._awaits_completion:
            yield from self._await_completion(receive=True)
            self._mark("poll CQ")
        yield from self.prepare()

    def _await_completion(self, *, receive: bool) -> Steps:
        while not self._completed[receive]:
            completion = yield from self.cq.wait()
            self._completed[completion.is_receive] += 1
        self._completed[receive] -= 1

    def _mark(self, stage: str) -> None:
        self.context.probe.event(stage, self.peer.operation)


def throughput(size: int, latency_us: float) -> dict[str, float]:
    """Latency, and the bandwidth that it stands for, as NetPIPE and as others write it."""
    return {
        "latency_us": latency_us,
        "bandwidth_MBps": size / latency_us,
        "throughput_Mbps": size * 8 / MEGABIT / (latency_us / 1e6),
    }


def netpipe(run: Run) -> Result:
    """Half a round trip, and the bandwidth that it stands for."""
    options = run.options
    short, timed = _start(run.machine.hca, options)
    one, other = (Player(run, node, short) for node in range(2))
    one.peer, other.peer = other, one
    join(one.qp, other.qp)
    laps = Laps.of(options, **timed, slack=SLACK, error=ERROR)
    test = PingPong(run, one, other, typical=rotation(options) == 1)

    def explain() -> dict[str, Any]:
        """What limits a message, its stages, and what each takes of the bus."""
        before = run.cluster.counters()
        found, after = test.explain(), run.cluster.counters()
        bus = {name: (after[name] - before[name]) / 2 for name in after if name.startswith("bus_")}
        return {**found, "bus_per_message": bus}

    row = {
        "qps": 1,
        **throughput(options.size, test.measure(laps)),
        "error_percent": laps.error_percent,
        "buffers": rotation(options),
        "completion": options.completion,
        "invalidate": options.invalidate,
        "verb": options.verb,
    }
    return run.result(row, explain, sized=("size",))


def add_ladder(
    workload: Workload, given: dict[str, Any], perturbation: int | str | None
) -> Iterator[str]:
    """Add the sizes to options of a workload that runs NetPIPE's, or say why that cannot be.

    The sizes so many bytes below and above each are measured, too.
    """
    option = Option("", low=0)
    try:
        around = None if perturbation is None else option.read(perturbation)
    except ValueError as error:
        yield f"perturbation: {error}"
        return
    if around is not None and not workload.ladder:
        yield f"perturbation: {workload.name} has no such option; netpipe has it"
    elif around is not None and (fault := option.fault(around)):
        yield f"perturbation: {fault}"
    elif workload.ladder and "size" not in given:
        given["size"] = netpipe_ladder(PERTURBATION if around is None else around)
    elif around:
        given["size"] = perturbed(given["size"], around)


def netpipe_ladder(perturbation: int = PERTURBATION) -> tuple[int, ...]:
    """Return the message sizes of NetPIPE 3 in bytes: 1, 2, 3, 4, 6, 8, 12, 13, 16, ... 8 MiB + 3.

    Two steps lie between powers of two; where a step is longer than the perturbation and one byte
    more, the sizes on both sides are measured too (src/netpipe.c: the main loop).
    """
    found: list[int] = []
    size, step, number = 1, 1, 0
    while size <= LONGEST:
        if number > 2 and number % 2:
            step *= 2
        wide = step > perturbation + 1
        found += perturbed([size], perturbation) if wide else [size]
        size, number = size + step, number + 1
    return tuple(found)


def perturbed(sizes: Iterable[int], perturbation: int) -> tuple[int, ...]:
    """Return each size with those that many bytes below and above it, each once."""
    around = dict.fromkeys((-perturbation, 0, perturbation))
    found = (size + change for size in sizes for change in around)
    return tuple(dict.fromkeys(size for size in found if size >= 1))
