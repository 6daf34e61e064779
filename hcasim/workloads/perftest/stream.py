"""A test of two nodes, cut short once enough of it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from statistics import fmean
from typing import Any

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.side import (
    ANSWERED,
    ENOUGH_LAPS,
    RX_DEPTH,
    Side,
    join,
    moderation,
    start,
)
from hcasim.workloads.perftest.span import Span, moved_bytes
from hcasim.workloads.result import Result
from hcasim.workloads.roles import both_ends, clients_and_server

PACKETS = 32
"""Least packets of a lap: a lap of fewer may hide what happens every so many packets."""
MANY = 4096
"""Packets in flight of which one message is like the next."""
UNEQUAL = 1e-3
"""Relative difference of the paces of two directions that are still in step."""
DRAIN_ERROR = 0.05
"""Relative error of the pace at which several queues that are not filled any more empty."""
MOST = 60_000
"""Packets with data of which the pace is taken at the latest, after a quarter as many."""


def in_columns(options: Options, rate: float) -> dict[str, Any]:
    """A row, from bytes a second."""
    return {
        "size": options.size,
        "qps": options.qps,
        "bandwidth_MBps": rate / 1e6,
        "rate_Mps": rate / options.size / 1e6,
    }


class Stream:
    """A test: two sides, and when enough of it is known to leave out the rest.

    Once the laps of all who send repeat themselves, as many repetitions as there is time for are
    left out: the run ends as the whole one does. If even what is in flight is many packets, it
    ends at once, because one message is then like the next: what has not been moved yet takes as
    long as before. If nothing repeats itself for long, the pace of MOST packets stands for that of
    all that are left out.

    Args:
        sim: the simulator.
        machine: what it runs on, from a client to the server.
        options: of the test.
        opcode: of the messages.
        both_ways: whether both sides send; what they reach is added up.
    """

    def __init__(
        self,
        sim: Simulator,
        machine: Machine,
        options: Options,
        opcode: WROpcode,
        both_ways: bool,
    ) -> None:
        self.sim = sim
        self.options = options
        self.reads = opcode in ANSWERED
        self.cluster = Cluster(sim, machine, clients_and_server(machine, options))
        self.packets = self.cluster.nodes[0].adapter.packets(opcode.value, options.size)
        packets = self.packets * options.qps
        every, depth = moderation(options), min(options.tx_depth, options.iters)
        unit = lcm(every, options.post_list)
        lap = unit * -(-PACKETS // (unit * packets))
        self.ends_at_once = depth * packets > MANY
        # Each entry of each queue has been used once, its page being translated for the first time.
        entries = depth + RX_DEPTH * (opcode is WROpcode.SEND)
        cold = min(entries, MANY // packets) // lap + 2
        self.sides = join(self.cluster, both_ends(options), options, opcode, both_ways, lap, cold)
        # Of few packets, what is posted ahead counts too: at the end no more is posted.
        self.counts_ahead = opcode is not WROpcode.SEND or RX_DEPTH * packets <= MANY
        self.senders = [side for side in self.sides if side.sends]
        self.enough = sim.event()
        self._end_error = 0.0
        self.usage = Utilisation(self.cluster)
        for side in self.senders:
            side.on_lap = self._lapped
            side.moved = self._movement(side)
            side.arrived = self._arrivals(self.sides[1 - self.sides.index(side)])

    def run(self) -> Result:
        """Run it, and return what it measures."""
        sim, options = self.sim, self.options
        self._began = [side.moved() for side in self.senders]
        whole = sim.event()
        # A condition that is part of another one no longer happens once that has.
        start(sim, self.sides).callbacks.append(whole.trigger)
        self.usage.mark()
        ends = [whole, self.enough]
        if not options.exact:
            most = MOST * options.size // self.packets
            span = Span(self.cluster, self.reads, most, self.packets)
            ends.append(span.over)
        sim.run(until=sim.any_of(ends))
        if not whole.triggered and not self.enough.triggered:
            self._take(span)
        if not whole.triggered and not self.enough.triggered:
            sim.run(until=whole)
        rate = sum(side.per_second for side in self.senders) * options.size
        error = max(side.error for side in self.senders) + self._end_error
        depths = {f"node{node}.send_queues": one.full_ps for node, one in enumerate(self.sides)}
        explained = self.usage.report(depths) if options.explain else {}
        row = in_columns(options, rate) | {"error_percent": 100 * error}
        return Result(row, self.cluster.counters(), explained)

    def _take(self, span: Span) -> None:
        """Let the pace of a part stand for that of the whole run, unless that of laps does."""
        if any(side.saved_ps for side in self.sides):
            return
        rates = dict(zip(self.cluster.nodes, span.rates(), strict=True))
        shared = len(self.senders) if self.options.loopback else 1
        size = self.options.size * shared
        if not all(rates[side.home] for side in self.senders):
            return
        for side in self.senders:
            side.pace_error = span.error
        self._leave_out([1e12 * size / rates[side.home] for side in self.senders])

    def _leave_out(self, paces_ps: Sequence[float], together: int = 1) -> None:
        """Leave out as many messages as may be, and count them at the pace of those before.

        Args:
            paces_ps: time from message to message of each side that sends.
            together: laps that repeat themselves.
        """
        if self.ends_at_once:
            for side, pace, began in zip(self.senders, paces_ps, self._began, strict=True):
                self._end(side, pace, began)
            if self.options.qps > 1:
                self._end_error = DRAIN_ERROR * self.senders[0].depth / self.options.iters
            self.enough.succeed()
            return
        counted = self.counts_ahead
        # One more at least, for which who receives may be waiting.
        ahead = max(max(side.sent + side.awaited * counted) for side in self.sides) + (not counted)
        laps = (self.options.iters - ahead) // (self.senders[0].lap * together) * together
        if laps <= 0:
            return
        for side in self.sides:
            side.iters -= laps * side.lap
        for side, pace in zip(self.senders, paces_ps, strict=True):
            side.saved_ps = round(laps * side.lap * self.options.qps * pace)

    def _movement(self, side: Side) -> Callable[[], float]:
        """What tells the bytes that a side has moved."""
        shared = len(self.senders) if self.options.loopback else 1
        return lambda: moved_bytes(side.home, self.reads) / shared

    def _arrivals(self, side: Side) -> Callable[[], int]:
        """What tells the messages that a side has been sent, if no answers come to its node."""
        ports, packets = side.home.adapter.ports, self.packets
        if self.options.loopback:
            packets *= len(self.senders)
        return lambda: sum(port.packets_received for port in ports) // packets

    def _lapped(self) -> None:
        patterns = [side.pattern_ps for side in self.senders]
        means = [fmean(pattern) if pattern else 0.0 for pattern in patterns]
        if not min(means) or self.enough.triggered or any(side.saved_ps for side in self.sides):
            return
        if max(means) > (1 + UNEQUAL) * min(means):
            return
        for side in self.senders:
            side.pace_error = side.laps.pattern_error
        # Means of what does not repeat may be taken of any number of laps.
        together = lcm(*(len(p) if len(p) < ENOUGH_LAPS else 1 for p in patterns))
        messages = self.senders[0].lap * self.options.qps
        self._leave_out([mean / messages for mean in means], together)

    def _end(self, side: Side, pace_ps: float, began: float) -> None:
        """End at once: what has not been moved yet follows at a pace."""
        options = self.options
        if options.qps == 1 and side.laps.pattern_ps:
            # Laps end with completions, as the whole run does.
            side.ended_ps = side.lapped_ps
            rest: float = side.iters - side.lap * len(side.laps.durations_ps)
        else:
            side.ended_ps = self.sim.now
            rest = side.iters * options.qps - (side.moved() - began) / options.size
        side.saved_ps = round(max(0.0, rest) * pace_ps)
