"""Bandwidth of windows of messages, as the OSU benchmarks measure it.

Source: OSU benchmarks 2.1 (2005), osu_bw.c and osu_bibw.c, in the tree of MVAPICH2; 3.1,
osu_mbw_mr.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.mpi import Comm, Request
from hcasim.workloads.end import Steps
from hcasim.workloads.laps import Laps
from hcasim.workloads.mpi.group import (
    COLD,
    ERROR,
    SLACK,
    Group,
    explain_resources,
    measure,
    one_pair,
    several_pairs,
    worst_error,
)
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

REPLY = 4
"""Bytes of the reply to a window (osu_bw.c)."""
LONG = 2**15
"""Bytes from which on windows are cut: so many packets each that their pace is steady."""
EAGER = 2
"""Eager messages by which cut windows differ."""
CUT = 2**19
FEWEST = 4
"""Others: so many bytes or messages, whichever is longer, but no more messages than may be under
way. If these are several, the shortest cut window has as many more: the first ones are faster."""
PACE = 1e-2
TRIALS = 2
"""Triples of cut windows before longer ones are tried."""


class Windows(Group):
    """Windows of messages without blocking; who receives answers each window.

    Of long messages windows are cut: once each further message of a window takes as long as the
    one before, the rest of it is known.
    """

    replies = True

    @property
    def targets(self) -> Sequence[Comm]:
        """The peers that are sent to."""
        return self.peers

    @property
    def sources(self) -> Sequence[Comm]:
        """The peers that send."""
        return ()

    @property
    def ways(self) -> int:
        """Windows that are under way at the same time."""
        return len(self.targets) + len(self.sources)

    def timing(self) -> Laps:
        options = self.options
        self._lengths: list[int] = []
        self._durations: list[int] = []
        self._cut = 0
        self._ahead = 0
        self._from = 1
        if options.size >= LONG and not options.exact:
            self._lengthen(self._shortest())
        # Of windows that cannot be cut no more is asked than of those that can.
        error = PACE / 2 if self._cut else ERROR
        return Laps(
            options.warmup, options.iters, options.exact, cold=COLD, slack=SLACK, error=error
        )

    def _shortest(self) -> int:
        """Messages to each peer by which the shortest cut windows differ."""
        library, size = self.one.process.library, self.options.size
        most = max(len(self.targets), len(self.sources))
        messages, under_way = EAGER, 1
        if size > library.eager.limit:
            under_way = library.rendezvous.outstanding
            messages = min(max(CUT // size, FEWEST), under_way)
        self._ahead = int(under_way * most > 1)
        return max(1, messages // most)

    def _lengthen(self, cut: int) -> None:
        """Let cut windows differ by so many messages, if the longest has less than all."""
        self._cut = cut if (self._ahead + 3) * cut < self.options.window else 0

    def _length(self, index: int) -> int:
        """Messages of a window, the same for both ends; the first one of all is not timed."""
        while len(self._lengths) <= index:
            turn = max(0, len(self._lengths) - self._from) % 3
            self._lengths.append((self._ahead + 1 + turn) * self._cut or self.options.window)
        return self._lengths[index]

    def turn(self, index: int) -> Steps:
        to, of = ([one.rank for one in some] for some in (self.targets, self.sources))
        yield from self._window(self.one, self._length(index), to, of)

    def ended(self, index: int, duration_ps: int) -> None:
        if self._lengths[index] == self.options.window:
            self.lap(duration_ps)
        elif index >= self._from and not self.laps.done:
            self._durations.append(duration_ps)
            self._extend(index)

    def _extend(self, index: int) -> None:
        """Work out a whole window from three cut ones, if further messages take equally long."""
        durations = self._durations
        if len(durations) % 3:
            return
        short, middle, long = durations[-3:]
        one, other = middle - short, long - middle
        if abs(one - other) <= PACE * other:
            rest = self.options.window - (self._ahead + 3) * self._cut
            whole = long + rest * (long - short) / (2 * self._cut)
            # The next messages may differ from the last as much as these from those before.
            self.laps.settle(round(whole), 2 * PACE * (1 - long / whole))
            self.tell()
        elif len(durations) == TRIALS * 3:
            # It is not steady enough. The peers have begun the next window.
            durations.clear()
            self._length(index + 1)
            self._from = index + 2
            self._lengthen(2 * self._cut)

    def second(self, comm: Comm) -> Steps:
        hub = [self.one.rank]
        to = hub if comm in self.sources else []
        of = hub if comm in self.targets else []
        for index in count():
            yield from self._window(comm, self._length(index), to, of)

    def _window(self, comm: Comm, length: int, to: list[int], of: list[int]) -> Steps:
        """One window of a process to some ranks and of some."""
        size = self.options.size
        received: list[Request] = []
        sent: list[Request] = []
        for _ in range(length):
            for rank in of:
                received.append((yield from comm.irecv(size, rank)))
        for _ in range(length):
            for rank in to:
                sent.append((yield from comm.isend(size, rank)))
        yield from comm.waitall(sent)
        yield from comm.waitall(received)
        if self.replies:
            for rank in of:
                yield from comm.send(REPLY, rank)
            for rank in to:
                yield from comm.recv(REPLY, rank)


class TwoWay(Windows):
    """Windows both ways at once, without a reply."""

    replies = False

    @property
    def sources(self) -> Sequence[Comm]:
        return self.peers


def bandwidth(groups: Sequence[Windows]) -> Result:
    """What all groups carry together."""
    measure(groups)
    job, options = groups[0].job, groups[0].options
    messages = sum(one.ways * options.window / (one.laps.mean_ps() / 1e12) for one in groups)
    row = {
        "size": options.size,
        "bandwidth_MBps": messages * options.size / 1e6,
        "rate_Mps": messages / 1e6,
        "error_percent": worst_error(groups),
    }
    return Result(row, job.cluster.counters(), explain_resources(groups))


def osu_bw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of windows one way."""
    return bandwidth([one_pair(Windows, sim, machine, options)])


def osu_bibw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of windows both ways."""
    return bandwidth([one_pair(TwoWay, sim, machine, options)])


def osu_mbw_mr(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth and message rate of windows one way, of all pairs together.

    OSU divides by the mean of the pairs' times: the same if they are equally fast.
    """
    return bandwidth(several_pairs(Windows, sim, machine, options))


def multi_bibw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of windows both ways, of all pairs together (rashti2007 section 4.4)."""
    return bandwidth(several_pairs(TwoWay, sim, machine, options))
