"""Patterns of flows between many nodes, and how long each flow takes.

A flow is a test of perftest's from one node to another; all begin at once. Its completion time goes
from its first request to its last completion, as the sender sees them. Of services that acknowledge
nothing, that is when its last packet has left; what the network carries are messages that arrive.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations_with_replacement, islice, product
from math import inf, lcm, prod
from random import Random
from typing import Any

from hcasim.catalog import CatalogError, Machine, Way
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.fabric.medium import medium
from hcasim.verbs import WROpcode
from hcasim.verbs.requests import WIRE
from hcasim.workloads.end import ATOMICS, OPCODES, hold
from hcasim.workloads.flow_sizes import SIZES, Sizes, mean_size, size_at
from hcasim.workloads.laps import UNPROVEN
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.side import Side, join, moderation, movement, start, whole
from hcasim.workloads.perftest.stream import Span, Stream, in_columns
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

PACKETS = 30_000
"""Packets after which a run is long enough unless all of it is asked for."""
ALIKE = 0.01
"""Relative error of times that shorter runs foretell, beyond which a longer one follows."""
ENDLESS = 1 << 20
"""Messages of a flow that nobody waits for."""
CIRCLE = (
    "found packets that wait for each other in a circle of switches with full buffers; "
    "allowed: routes without circles, or less traffic"
)
Pairs = list[tuple[int, int]]
Hops = tuple[tuple[str, str], ...]
"""Models of switches, and of trunks behind them the names that those have that differ."""
Drawn = tuple[tuple[int, int], int, int]
"""Two nodes, when a flow from one to the other begins in ps, and how many bytes it has."""
COUNTED = {
    "retransmissions_count": ("retransmissions",),
    "discards_count": (
        *("switch_discards", "rx_discards_phy", "pfcwd_drops"),
        *("lost_packets", "corrupted_packets"),
    ),
    "marks_count": ("switch_marks",),
    "pauses_count": ("pause_frames",),
}
"""Columns where packets may be lost or marked, and the counters that each adds up."""
SLOWDOWNS = tuple(f"slowdown_{share}_times" for share in ("p50", "p95", "p99", "p999"))


def each_to_each(nodes: int) -> Pairs:
    """Each node to each other, beginning with the next."""
    return [(n, (n + away) % nodes) for n in range(nodes) for away in range(1, nodes)]


def into_one(nodes: int) -> Pairs:
    """All others to the first node."""
    return [(n, 0) for n in range(1, nodes)]


def shifted(nodes: int, by: int) -> Pairs:
    """Each node to the one so many places behind it, in a circle."""
    return [(n, (n + by) % nodes) for n in range(nodes)]


def permuted(nodes: int, seed: int) -> Pairs:
    """Each node to another one and from another one, drawn: no node sends to itself."""
    draw, targets = Random(seed), list(range(nodes))
    while any(n == target for n, target in enumerate(targets)):
        draw.shuffle(targets)
    return list(enumerate(targets))


def torus(nodes: int, dimensions: int) -> tuple[int, ...]:
    """The nodes along each dimension of a torus, as equal as they can be, the longest first.

    As MPI_Dims_create has it (MPI 4.0, 8.5.2).
    """
    divisors = [one for one in range(nodes, 0, -1) if nodes % one == 0]
    shapes = combinations_with_replacement(divisors, dimensions)
    whole = (shape for shape in shapes if prod(shape) == nodes)
    return min(whole, key=lambda shape: (shape[0] - shape[-1], shape))


def neighbours(nodes: int, dimensions: int) -> Pairs:
    """Each node to those before and behind it along each dimension of a torus.

    Nodes are numbered along the last dimension first.
    """
    shape = torus(nodes, dimensions)
    strides = [prod(shape[axis + 1 :]) for axis in range(dimensions)]
    found: Pairs = []
    for number, place in enumerate(product(*map(range, shape))):
        for at, length, stride in zip(place, shape, strides, strict=True):
            # A dimension of two has the same node on both sides.
            others = dict.fromkeys(((at + 1) % length, (at - 1) % length))
            found += [(number, number + (other - at) * stride) for other in others if other != at]
    return found


@contextmanager
def circles_told(cluster: Cluster) -> Iterator[None]:
    """Say what it means that nothing more is to come."""
    try:
        yield
    except RuntimeError:
        if cluster.machine.loses:
            raise
        raise CatalogError([f"{cluster.machine.id}: {CIRCLE}"]) from None


def measure(run: Run, opcode: WROpcode, pairs: Pairs) -> tuple[list[float], float]:
    """Let flows run from place to place in the cluster, all at once.

    Returns bytes a second of each node that is the first of a pair, and the error of their sum.
    """
    cluster, options = run.cluster, run.options
    endless = replace(options, iters=ENDLESS, exact=True)
    sides = [side for pair in pairs for side in join(cluster, pair, endless, opcode)]
    start(run.sim, sides)
    size = whole = len(pairs) * options.iters * options.qps * options.size
    if not options.exact:
        packets = cluster.nodes[0].adapter.packets(WIRE[opcode], options.size)
        size = min(size, PACKETS * options.size // packets)
    flows: dict[int, tuple[list[Side], list[Side]]] = {}
    for (source, _), side, peer in zip(pairs, sides[::2], sides[1::2], strict=True):
        senders, peers = flows.setdefault(source, ([], []))
        senders.append(side)
        peers.append(peer)
    reliable = sides[0].reliable
    kept = run.machine.shares_memory or (run.machine.loses and not reliable)
    moved = [movement(*both, kept=kept) for both in flows.values()]
    left = None
    if kept and not reliable:
        # It may be that nothing arrives whole, however much is sent.
        left = [movement(*both) for both in flows.values()]
    span = Span(run.sim, moved, size, left=left)
    with circles_told(cluster):
        run.usage.between(span.begun, span.over)
    return span.rates(), span.error if size < whole else 0.0


def perftest(run: Run) -> Result:
    """A test of perftest's, or of several clients that send to one server or read from it."""
    verb, _, way = run.name.partition("_")
    opcode = ATOMICS[run.options.op] if verb == "atomic" else OPCODES[verb]
    clients = run.options.clients
    if clients == 1:
        return Stream(run, opcode, way == "bibw").measure()
    each, error = measure(run, opcode, [(client, clients) for client in range(clients)])
    row = in_columns(run.options, sum(each)) | {
        "clients": clients,
        "client_min_MBps": min(each) / 1e6,
        "client_max_MBps": max(each) / 1e6,
        "error_percent": 100 * error,
    }
    return run.result(row)


def run_flows(
    cluster: Cluster, opcode: WROpcode, flows: Sequence[tuple[tuple[int, int], int, Options]]
) -> tuple[list[Side], list[Side]]:
    """Run flows, each from node to node from a time in ps on, to their ends.

    Returns the senders and the receivers in their order.
    """
    sides: list[Side] = []
    for pair, starts_ps, options in flows:
        both = join(cluster, pair, options, opcode)
        both[0].starts_ps = starts_ps
        sides += both
    with circles_told(cluster):
        cluster.sim.run(until=start(cluster.sim, sides))
    return sides[::2], sides[1::2]


def arrived(sim: Simulator, receivers: Sequence[Side]) -> tuple[int, int]:
    """Go on until nothing more comes; return the bytes of whole messages, and when the last came.

    Only of services that acknowledge nothing is anything on its way when all senders have ended.
    """
    tell = [whole([one]) for one in receivers]
    wanted = sum([one.iters * one.options.qps * one.options.size for one in receivers])
    bytes_, at = sum([one() for one in tell]), sim.now
    while bytes_ < wanted and sim.has_work():
        sim.run(until=int(sim.peek()) + 1)
        if (now := sum([one() for one in tell])) > bytes_:
            bytes_, at = now, sim.now
    return bytes_, at


def percentile(values: Sequence[float], count: int, of: int = 100) -> float:
    """The least of some values that so many of a hundred do not exceed (nearest rank)."""
    return sorted(values)[-(-len(values) * count // of) - 1]


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all are equal, 1/n if one of n has everything.

    Source: Jain, Chiu and Hawe, DEC-TR-301 (1984).
    """
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def _complete(run: Run, pairs: Pairs) -> Result:
    options = run.options
    apart = options.stagger * 1_000_000
    each = [(pair, number * apart, options) for number, pair in enumerate(pairs)]
    return _completed(run, *run_flows(run.cluster, OPCODES[options.verb], each), pairs)


def loaded(cluster: Cluster, size: int) -> dict[str, Any]:
    """What a network that loses or marks packets did to so many bytes of data; else nothing."""
    if not cluster.machine.loses:
        return {}
    ports = [port for node in cluster.nodes for port in node.adapter.ports]
    counts, waited = cluster.counters(), cluster.sim.resources.waiting_ps()
    queues = [
        queue.longest for switch in cluster.fabric.switches for queue in switch.queues.values()
    ]
    return {
        "amplification_times": sum([port.transmitter.wire_bytes for port in ports]) / size,
        **{name: sum([counts.get(n, 0) for n in of]) for name, of in COUNTED.items()},
        "paused_us": sum([one for name, one in waited.items() if name.endswith(".paused")]) / 1e6,
        "largest_queue_KiB": max(queues, default=0) / 1024,
    }


def _completed(
    run: Run,
    senders: Sequence[Side],
    receivers: Sequence[Side],
    pairs: Pairs,
    each_alone: Sequence[float] = (),
) -> Result:
    """What flows took, and how much longer each took than alone if that is known."""
    options = run.options
    begun, ended = min(s.began_ps for s in senders), max(s.began_ps + s.took_ps for s in senders)
    took = [side.took_ps for side in senders]
    sizes = [side.iters * side.options.qps * side.options.size for side in senders]
    moved: float = sum(sizes)
    if not senders[0].reliable:
        came, last = arrived(run.sim, receivers)
        ended += last - max(s.ended_ps for s in senders)
        # Of what was left out as much arrives.
        moved = came * senders[0].iters / receivers[0].iters
    row = in_columns(options, moved / ((ended - begun) / 1e12)) | {
        "nodes": len(run.cluster.nodes),
        "flows": len(pairs),
        "completion_mean_us": sum(took) / len(took) / 1e6,
        "completion_p50_us": percentile(took, 50) / 1e6,
        "completion_p99_us": percentile(took, 99) / 1e6,
        "completion_max_us": max(took) / 1e6,
    }
    each: list[dict[str, Any]] = [
        {
            "source": source,
            "target": target,
            "size": size,
            "began_us": (side.began_ps - begun) / 1e6,
            "completion_us": one / 1e6,
        }
        for (source, target), side, size, one in zip(pairs, senders, sizes, took, strict=True)
    ]
    if each_alone:
        slowdowns = [one / alone for one, alone in zip(took, each_alone, strict=True)]
        for flow, slowdown in zip(each, slowdowns, strict=True):
            flow["slowdown"] = slowdown
        row.pop("rate_Mps")
        row |= {
            name: percentile(slowdowns, count, 1000)
            for name, count in zip(SLOWDOWNS, (500, 950, 990, 999), strict=True)
        }
    else:
        row["fairness"] = jain([size / one for size, one in zip(sizes, took, strict=True)])
    row |= loaded(run.cluster, sum(sizes))
    return run.result(row, lambda: run.usage.report() | {"flows": each}, sized=run.sized)


def _unit(options: Options) -> int:
    """Messages after which bursts, lists and completions begin anew together."""
    return lcm(moderation(options), options.post_list, options.burst or 1)


def _least(run: Run, flows: int) -> int:
    """Messages of each flow in the shortest of three runs that are to tell of a longer one."""
    options = run.options
    packets = run.cluster.nodes[0].adapter.packets(WIRE[OPCODES[options.verb]], options.size)
    unit = _unit(options)
    return unit * max(1, PACKETS // (7 * flows * options.qps * packets * unit))


def all_to_all(run: Run) -> Result:
    """Each node sends to each other one, beginning with the next.

    Where that takes too many packets, flows of fewer messages are run, each time of twice as many
    beside those of a burst or list that is not full. The times of all flows, in their order, then
    follow a straight line over the messages. How far the line of the last two runs is from that of
    the two before is the error; while it is large, a longer run follows. A profile counts them all;
    listeners hear the last one alone, for which it is repeated.
    """
    options, pairs = run.options, each_to_each(run.options.nodes)
    rest = options.iters % _unit(options)
    length, took = _least(run, len(pairs)), list[list[int]]()
    error, times, whole = inf, list[float](), options.exact or 7 * length >= options.iters
    heard = bool(run.sim.listeners)
    while error > ALIKE:
        whole = whole or 2 * length >= options.iters
        part = replace(options, iters=options.iters if whole else length + rest)
        here = replace(run, sim=Simulator()) if (not whole if heard else took) else run
        here.sim.profile = run.sim.profile
        each = [(pair, 0, part) for pair in pairs]
        both = run_flows(here.cluster, OPCODES[options.verb], each)
        if whole:
            error = 0.0
            break
        took.append(sorted(side.took_ps for side in both[0]))
        lines = [
            [
                b + (b - a) * (options.iters - rest - last) / (last // 2)
                for a, b in zip(*two, strict=True)
            ]
            for last, two in ((length // 2, took[-3:-1]), (length, took[-2:]))
            if len(two) == 2
        ]
        if len(lines) == 2:
            error = max(UNPROVEN, *(abs(a / b - 1) for a, b in zip(*lines, strict=True)))
            times = lines[1]
        length *= 2
    else:
        if heard:
            here, both = run, run_flows(run.cluster, OPCODES[options.verb], each)
        for side, ps in zip(sorted(both[0], key=lambda one: one.took_ps), times, strict=True):
            side.saved_ps, side.iters = round(ps) - side.took_ps, options.iters
    found = _completed(here, *both, pairs)
    found.row["error_percent"] = 100 * error
    return found


def incast(run: Run) -> Result:
    """All other nodes send to the first one."""
    return _complete(run, into_one(run.options.nodes))


def permutation(run: Run) -> Result:
    """Each node, or each of the first ones, sends to one other: drawn, or shifted."""
    nodes, shift = run.options.nodes, run.options.shift
    pairs = shifted(nodes, shift) if shift else permuted(nodes, run.options.seed)
    return _complete(run, pairs[: run.options.senders or nodes])


def neighbour(run: Run) -> Result:
    """Each node sends to its neighbours in a ring or torus, on both sides."""
    return _complete(run, neighbours(run.options.nodes, run.options.dimensions))


def _without_losses(machine: Machine) -> Machine:
    """The machine, whose links lose and corrupt nothing."""
    none = {"loss": None, "corruption": None}
    groups = (
        one.model_copy(update={"link": one.link.model_copy(update=none)}) for one in machine.groups
    )
    trunks = {name: link.model_copy(update=none) for name, link in machine.trunks.items()}
    return machine.model_copy(update={"groups": tuple(groups), "trunks": trunks})


def alone_ps(run: Run, pair: tuple[int, int], size: int) -> int:
    """How long a flow of some bytes takes from node to node if there is no other, in ps.

    It has a new connection on a warm machine: behind a flow of another connection, and with the
    translations of its memory at hand. Nothing is lost by chance.
    """
    cluster = Cluster(Simulator(), _without_losses(run.machine), pair)
    options = [replace(run.options, size=one, iters=1) for one in (1, size)]
    flows = [join(cluster, (0, 1), one, OPCODES[one.verb]) for one in options]
    for side in flows[1]:
        hold(side.buffer, side.options.page_size)
    for sides in flows:
        cluster.sim.run(until=start(cluster.sim, sides))
        arrived(cluster.sim, sides[1:])
    return flows[1][0].took_ps


def likeness(machine: Machine, source: int, target: int) -> tuple[str, str, Hops]:
    """What flows have in common that take as long alone: groups of nodes, and what is between."""
    (near, lid), (far, far_lid) = machine.place(source), machine.place(target)
    wiring = machine.wiring
    hops: list[tuple[str, str]] = []
    for switch in wiring.route(wiring.places[lid - 1][0], far_lid) if wiring.places else ():
        way = wiring.out(switch, far_lid)
        hops.append((wiring.models[switch].id, way.trunk if isinstance(way, Way) else ""))
    return near.name, far.name, tuple(hops)


def draws(nodes: int, sizes: Sizes, each_ps: float, seed: int) -> Iterator[Drawn]:
    """Flows of drawn sizes between drawn nodes for ever, the first at once.

    Parameters:
        each_ps: mean time from a flow to the next, which is distributed exponentially.
    """
    draw, at = Random(seed), 0.0
    while True:
        source, away = draw.randrange(nodes), draw.randrange(1, nodes)
        pair = source, (source + away) % nodes
        yield pair, round(at), size_at(sizes, draw.random())
        at += draw.expovariate(1 / each_ps)


def drawn(nodes: int, flows: int, sizes: Sizes, each_ps: float, seed: int) -> list[Drawn]:
    """So many of these flows."""
    return list(islice(draws(nodes, sizes, each_ps, seed), flows))


def open_loop(run: Run) -> Result:
    """Flows begin when they are drawn to, however many are under way, each over a connection.

    Nodes are given a share of what their links carry, in bytes of data.
    """
    options, cluster = run.options, run.cluster
    # To look for what repeats itself takes as long as all else where many flows meet by chance.
    run.sim.forward = None
    sizes = SIZES[options.flow_sizes]
    whole_ps = mean_size(sizes) * float(medium(run.machine.link).ps_per_byte)
    each_ps = whole_ps / (options.load / 100) / options.nodes
    every = drawn(options.nodes, options.iters, sizes, each_ps, options.seed)
    flows = [(pair, at, replace(options, size=size, iters=1)) for pair, at, size in every]
    senders, receivers = run_flows(cluster, OPCODES[options.verb], flows)
    known: dict[tuple[Hashable, int], int] = {}
    alone: list[int] = []
    for pair, _, size in every:
        ends = cluster.nodes[pair[0]].index, cluster.nodes[pair[1]].index
        kind = likeness(run.machine, *ends), size
        if kind not in known:
            known[kind] = alone_ps(run, ends, size)
        alone.append(known[kind])
    return _completed(run, senders, receivers, [pair for pair, _, _ in every], alone)
