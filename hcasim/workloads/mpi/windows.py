"""Bandwidth of windows of messages, as the OSU benchmarks measure it.

A hotspot is one process, the first, that keeps up with those of other nodes (rashti2007 section
4.5, which does not tell of windows and replies: they are those of osu_bw); both ways it sends to
the first half of them and receives from the others. Sources: OSU benchmarks 2.1 (2005), osu_bw.c
and osu_bibw.c, in the tree of MVAPICH2; 3.1, osu_mbw_mr.c, which divides by the mean of the pairs'
times: the same if they are equally fast; rashti2007 section 4.4 for several pairs both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count

from hcasim.mpi import Comm, Job, Request
from hcasim.workloads.end import Steps, rate_columns
from hcasim.workloads.laps import Laps
from hcasim.workloads.mpi.group import (
    COLD,
    ERROR,
    SLACK,
    Group,
    explain_resources,
    found,
    measure,
    one_pair,
    several_pairs,
)
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

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
    one before, the rest of it is known. Targets are the peers that are sent to, sources those that
    send; those that do both need no answer.
    """

    def __init__(
        self, job: Job, options: Options, one: Comm, peers: Sequence[Comm], way: str
    ) -> None:
        half = len(peers) // 2
        self.targets, self.sources = {
            "send": (peers, ()),
            "receive": ((), peers),
            "both": (peers, peers),
            "relay": (peers[:half], peers[half:]),
        }[way]
        self.replies = way != "both"
        super().__init__(job, options, one, peers)

    def timing(self) -> Laps:
        options = self.options
        self._lengths: list[int] = []
        self._durations: list[int] = []
        self._cut, self._ahead, self._from = 0, 0, 1
        if options.size >= LONG and not options.exact:
            self._lengthen(self._shortest())
        # Of windows that cannot be cut no more is asked than of those that can.
        error = PACE / 2 if self._cut else ERROR
        return Laps.of(options, cold=COLD, slack=SLACK, error=error)

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
        size = self.options.size
        received: list[Request] = []
        sent: list[Request] = []
        for rank in length * of:
            received.append((yield from comm.irecv(size, rank)))
        for rank in length * to:
            sent.append((yield from comm.isend(size, rank)))
        yield from comm.waitall(sent)
        yield from comm.waitall(received)
        if self.replies:
            for rank in of:
                yield from comm.send(REPLY, rank)
            for rank in to:
                yield from comm.recv(REPLY, rank)


WAYS = {
    "osu_bw": "send",
    "osu_bibw": "both",
    "osu_mbw_mr": "send",
    "multi_bibw": "both",
    "hotspot_send": "send",
    "hotspot_recv": "receive",
    "hotspot_both": "relay",
}
"""Where windows of a process go, by the name of the benchmark."""


def bandwidth(run: Run) -> Result:
    """What all groups carry together.

    Those of a hotspot are the first of all processes with those of the other nodes.
    """
    kind, options = partial(Windows, way=WAYS[run.name]), run.options
    if run.name.startswith("hotspot"):
        job = Job(run.sim, run.cluster, options.processes)
        groups = [kind(job, options, job.worlds[0], job.worlds[options.processes :])]
    elif run.name in ("osu_bw", "osu_bibw"):
        groups = [one_pair(kind, run)]
    else:
        groups = several_pairs(kind, run)
    measure(groups)
    messages = sum(
        (len(one.targets) + len(one.sources)) * options.window / (one.laps.mean_ps() / 1e12)
        for one in groups
    )
    row = rate_columns(messages, options.size)
    return found(groups, row, lambda: explain_resources(groups[0]))
