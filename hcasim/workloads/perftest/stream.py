"""A test of two nodes, cut short once enough of it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, lcm
from typing import Any, ClassVar

from hcasim.engine import Onlooker, Repetition, Simulator, mean_error
from hcasim.verbs import WROpcode
from hcasim.verbs.requests import WIRE
from hcasim.workloads.laps import UNPROVEN
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.side import Side, join, moderation, movement, start
from hcasim.workloads.result import Result
from hcasim.workloads.roles import both_ends
from hcasim.workloads.run import Run

PACKETS = 32
"""Least packets of a lap: a lap of fewer may hide what happens every so many packets."""
MANY = 4096
"""Packets in flight of which one message is like the next."""
DRAIN_ERROR = 0.05
"""Relative error of the pace at which several queues that are not filled any more empty."""
FILLING = 2
"""Times that the receives posted before have to have been used before a pace is taken."""
AHEAD_ERROR = 5e-3
"""Relative error of the pace of long messages to receives that were posted ahead."""
MOST = 60_000
"""Packets with data of which the pace is taken at the latest, after a quarter as many."""
SLICE_PS = 10_000_000
LONG = 128
"""Packets of a message between which nothing is looked at."""
PATIENCE = 16
"""Looks at nothing having moved, after which looks become rarer: latencies may be of seconds."""
PARTS = 16
"""Parts of what is timed, whose rates are compared."""
FEW = 2
"""Least parts, where a message takes as long as a part or longer."""


def in_columns(options: Options, rate: float) -> dict[str, Any]:
    """Columns of a row, from bytes a second."""
    return {"bandwidth_MBps": rate / 1e6, "rate_Mps": rate / options.size / 1e6}


class Span:
    """What is moved in a part of a run, looked at every so often.

    Parameters:
        moved: tell the bytes that each of those who are looked at has moved so far.
        size: bytes to time; a quarter as many, and no fewer than `before`, go before.
        packets: of a message. Looks are the rarer the longer messages are.
        left: tell the bytes that count for the size, if those moved do not.

    Attributes:
        begun, over: events of its two ends.
    """

    looks_on: ClassVar[bool] = True

    def __init__(
        self,
        sim: Simulator,
        moved: Sequence[Callable[[], float]],
        size: int,
        packets: int = 1,
        before: int = 0,
        left: Sequence[Callable[[], float]] | None = None,
    ) -> None:
        self.sim = sim
        self._slice_ps = SLICE_PS * (packets if packets > LONG else 1)
        self._moved, self._left = moved, moved if left is None else left
        self.begun, self.over = self.sim.event(), self.sim.event()
        before = max(before, size // 4)
        self._size = size
        self._limits: list[float] = [before + size * part // PARTS for part in range(PARTS + 1)]
        self._seen: list[tuple[int, list[float]]] = []
        self._last = 0.0
        self._idle = 0
        self._look_after(self._slice_ps)

    def _look_after(self, delay_ps: int) -> None:
        self.sim.schedule(self.sim.now + delay_ps, Onlooker(self._look, ()))

    def _look(self) -> None:
        moved = [tell() for tell in self._moved]
        total = sum(moved if self._left is self._moved else [tell() for tell in self._left])
        self._idle = self._idle + 1 if total == self._last else 0
        self._last = total
        if not self._limits or total > self._limits[0]:
            self._seen.append((self.sim.now, moved))
            self._limits = [one for one in self._limits if one >= total]
            if len(self._seen) == 1:
                self.begun.succeed()
                # Where all of it had moved at the first look, as much again is timed.
                self._limits = self._limits or [total + self._size]
            elif not self._limits and len(self._seen) > FEW:
                self.over.succeed()
        # Where nothing else is to come, nobody waits in vain.
        if not self.over.triggered and self.sim.peek() < inf:
            self._look_after(self._slice_ps << max(0, self._idle - PATIENCE))

    @property
    def error(self) -> float:
        """Relative error of the rate of all together, as the rates of its parts scatter.

        Nothing proves that what follows is like them, however alike they are.
        """
        parts = [
            (sum(after) - sum(before)) / (end - begin)
            for (begin, before), (end, after) in pairwise(self._seen)
        ]
        error = mean_error(parts)
        if error == inf and len(parts) >= FEW and min(parts) > 0:
            # Of a few long messages, how far they are apart.
            error = max(parts) / min(parts) - 1
        return max(UNPROVEN, error)

    @property
    def size(self) -> float:
        """Bytes that were moved in it."""
        return sum(self._seen[-1][1]) - sum(self._seen[0][1])

    def rates(self) -> list[float]:
        """Bytes a second of each."""
        (begin, before), (end, after) = self._seen[0], self._seen[-1]
        return [(b - a) / (end - begin) * 1e12 for a, b in zip(before, after, strict=True)]


class Stream:
    """A test: two sides, and when enough of it is known to leave out the rest.

    Once the machine is proven to repeat itself, as many repetitions as there is time for are left
    out: the run ends as the whole one does. If even what is in flight is many packets, it ends at
    once, because one message is then like the next: what has not been moved yet takes as long as
    before. If nothing repeats itself for long, the pace of MOST packets stands for that of all that
    are left out. What both sides reach, if both send, is added up.
    """

    looks_on: ClassVar[bool] = True

    def __init__(self, run: Run, opcode: WROpcode, both_ways: bool) -> None:
        sim, options = run.sim, run.options
        self._run, self.sim, self.options = run, sim, options
        self.packets = run.cluster.nodes[0].adapter.packets(WIRE[opcode], options.size)
        packets = self.packets * options.qps
        every, depth = moderation(options), min(options.tx_depth, options.iters)
        unit = lcm(every, options.post_list)
        lap = unit * -(-PACKETS // (unit * packets))
        self.ends_at_once = depth * packets > MANY
        # Each entry of each queue has been used once, its page being translated for the first time.
        entries, most = depth, MANY // packets
        if opcode is WROpcode.SEND:
            entries, most = depth + options.rx_depth, MOST // packets
        cold = min(entries, most) // lap + 2
        self.sides = join(run.cluster, both_ends(options), options, opcode, both_ways, lap)
        # What is posted ahead counts too: at the end no more is posted, which speeds up short ones.
        self.counts_ahead = opcode is not WROpcode.SEND or options.rx_depth * self.packets <= MANY
        self.senders = [side for side in self.sides if side.sends]
        self._counts_whole = opcode is WROpcode.SEND and self.senders[0].reliable
        self.enough = sim.event()
        self._end_error = 0.0
        # What is used for the first time later on is no part of a proof.
        self._cold_error = UNPROVEN if opcode is WROpcode.SEND and entries > most else 0.0
        self._repetition = Repetition(sim, lambda: [run.cluster.nodes, *self.sides], cold)
        self._done: list[list[int]] = []
        self._proven = False
        share = len(self.senders) if options.loopback else 1
        for side, peer in zip(self.senders, reversed(self.sides), strict=False):
            side.moved = movement([side], [peer], share)
        if not (options.exact or options.region):
            self.senders[0].on_lap = self._lapped

    def measure(self) -> Result:
        """Run it, and return what it measures."""
        sim, options, usage = self.sim, self.options, self._run.usage
        self._began = [side.moved() for side in self.senders]
        whole = sim.event()
        # A condition that is part of another one no longer happens once that has.
        start(sim, self.sides).callbacks.append(whole.trigger)
        usage.mark()
        ends = [whole, self.enough]
        if not options.exact:
            most = MOST * options.size // self.packets
            # To receives that were posted before is not the pace of the rest.
            ahead = sum(len(side.qps) * side.ahead for side in self.sides) * self.counts_ahead
            before = FILLING * ahead * options.size
            span = Span(sim, [side.moved for side in self.senders], most, self.packets, before)
            ends.append(span.over)
        sim.run(until=sim.any_of(ends))
        if not whole.triggered and not self.enough.triggered:
            self._take(span)
        if not whole.triggered and not self.enough.triggered:
            sim.run(until=sim.any_of([whole, self.enough]))
        rate = sum(side.per_second for side in self.senders) * options.size
        error = max(side.error for side in self.senders) + self._end_error
        depths = {f"node{node}.send_queues": one.full_ps for node, one in enumerate(self.sides)}
        row = in_columns(options, rate) | {"error_percent": 100 * error}
        return self._run.result(row, lambda: usage.report(depths))

    def _take(self, span: Span) -> None:
        """Let the pace of a part stand for that of the whole run, unless that of laps does."""
        if any(side.saved_ps for side in self.sides):
            return
        rates = span.rates()
        error = span.error + self._unevenness()
        if self._counts_whole and span.size:
            # At either end, a part of a message may be missing.
            error += self.options.size * len(self.senders) / span.size
        if not all(rates) or error == inf:
            return
        for side in self.senders:
            side.pace_error = error
        self._leave_out([1e12 * self.options.size / rate for rate in rates])

    def _leave_out(self, paces_ps: Sequence[float], together: int = 1) -> None:
        """Leave out as many messages as may be, and count them at the pace of those before.

        Each side that sends has a pace, from message to message; so many laps repeat themselves.
        """
        if self.ends_at_once:
            self._end_error = self._cold_error
            for side, pace, began in zip(self.senders, paces_ps, self._began, strict=True):
                self._end(side, pace, began)
            if self.options.qps * len(self.senders) > 1:
                self._end_error += DRAIN_ERROR * self.senders[0].depth / self.options.iters
            self.enough.succeed()
            return
        counted = self.counts_ahead
        # One more at least, for which who receives may be waiting.
        ahead = max(max(side.sent + side.awaited * counted) for side in self.sides) + (not counted)
        laps = (self.options.iters - ahead) // (self.senders[0].lap * together) * together
        if laps <= 0:
            return
        self._end_error = self._cold_error
        if not counted:
            self._end_error += AHEAD_ERROR * min(1.0, self.options.rx_depth / self.options.iters)
        for side in self.sides:
            side.iters -= laps * side.lap
        for side, pace in zip(self.senders, paces_ps, strict=True):
            side.saved_ps = round(laps * side.lap * self.options.qps * pace)

    def _unevenness(self) -> float:
        """How far queue pairs are apart by now, as a share of their messages.

        Some are done before others by as much, and at the end fewer share what is there.
        """
        done = [count for side in self.senders for count in side.done]
        apart = max(done) - min(done) - self.senders[0].every
        return max(0, apart) * len(done) / max(1, sum(done))

    def _lapped(self) -> None:
        if self.enough.triggered or any(side.saved_ps for side in self.sides):
            return
        self._done.append([count for side in self.senders for count in side.done])
        laps = self._repetition.lap()
        if not laps:
            return
        each = laps * self.senders[0].lap
        # Where queue pairs get unequal shares, some are done before others, and then all changes.
        if all(b - a == each for a, b in zip(*self._done[-1 - laps :: laps], strict=True)):
            self._proven = True
            pace = self._repetition.period_ps / (each * self.options.qps)
            for side in self.senders:
                side.pace_error = self._repetition.error
            self._leave_out([pace] * len(self.senders), laps)

    def _end(self, side: Side, pace_ps: float, began: float) -> None:
        """End at once: what has not been moved yet follows at a pace."""
        options = self.options
        if options.qps == 1 and self._proven:
            # Laps end with completions, as the whole run does.
            side.ended_ps = side.lapped_ps
            rest: float = side.iters - side.lap * side.laps
        else:
            side.ended_ps = self.sim.now
            rest = side.iters * options.qps - (side.moved() - began) / options.size
        side.saved_ps = round(max(0.0, rest) * pace_ps)
