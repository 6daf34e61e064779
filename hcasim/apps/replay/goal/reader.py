"""Reads GOAL schedules, the text that LogGOPSim's tools read.

Operations are `send 10b to 1 tag 2`, `recv 10b from 0 tag 2` and `calc 500`, of 500 ns, each with a
label before it if another one names it: `l2 requires l1` lets l2 wait until l1 has ended, `l2
irequires l1` until it has begun. `cpu` is the number of a thread of the process, `nic` that of an
adapter. A source or tag of -1 stands for any.

Source: LogGOPSim, src/LogGOPSim/txt2bin.re. It lets labels be used only behind their operations;
here they may stand anywhere in the rank. A label that is given twice is a fault here.
"""

from __future__ import annotations

import re
from typing import Final

from hcasim.apps.replay.graph import ANY, CALC, RECV, SEND, Operations
from hcasim.apps.replay.text import Faults, TooMuchWrong, Words, found_instead, whole_number
from hcasim.apps.replay.trace import MOST_ACTIONS, MOST_BYTES, MOST_RANKS
from hcasim.ground.errors import nearest
from hcasim.ground.faults import shown
from hcasim.mpi.messages import MAX_SECONDS

MOST_TAG: Final = 2**32 - 2
MOST_THREAD: Final = 255
MOST_NS: Final = MAX_SECONDS * 10**9
_COMPARED: Final = 1000
"""Labels that are compared with one that is unknown."""
_LABEL = "[A-Za-z][A-Za-z0-9_]*"
_OPERATION = re.compile(
    rf"(?:({_LABEL})[ \t]*:)?[ \t]*"
    r"(?:(?:send[ \t]+([0-9]{1,15})[ \t]*b[ \t]+to|recv[ \t]+([0-9]{1,15})[ \t]*b[ \t]+from)"
    r"[ \t]+(-1|[0-9]{1,15})|calc[ \t]+([0-9]{1,15}))"
    r"((?:[ \t]+(?:tag|cpu|nic)[ \t]+(?:-1|[0-9]{1,15}))*)"
)
_REQUIREMENT = re.compile(rf"({_LABEL})[ \t]+(i?requires)[ \t]+({_LABEL})")
_RANK = re.compile(r"rank[ \t]+([0-9]{1,15})[ \t]*")
_RANKS = re.compile(r"num_ranks[ \t]+([0-9]{1,15})")
_WORD = r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+|[^\sA-Za-z0-9_]"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_OPTIONS: Final = {"tag": MOST_TAG, "cpu": MOST_THREAD, "nic": MOST_THREAD}
MARK = re.compile(r"[ \t]*num_ranks[ \t]+[0-9]|[ \t]*rank[ \t]+[0-9]+[ \t]*\{")
"""A line by which a schedule is recognized."""


class GoalReader:
    """Reads one schedule.

    Attributes:
        ranks: the operations of each rank.
        faults: what is wrong with it.
    """

    def __init__(self, name: str, text: str) -> None:
        self.faults = Faults(name)
        self.ranks: list[Operations] = []
        self._found: dict[int, tuple[Operations, int]] = {}
        self._count = self._count_line = 0
        self._here: Operations | None = None
        self._labels: dict[str, int] = {}
        self._required: list[tuple[str, bool, str, int]] = []
        self._actions = 0
        self._rank = 0
        try:
            self._read(text)
        except TooMuchWrong:
            self.faults.refuse()

    def _read(self, text: str) -> None:
        if "/*" in text:
            text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n") or " ", text)
        number = 0
        for number, whole in enumerate(text.split("\n"), start=1):
            line = whole.partition("//")[0].strip()
            if not line or line[0] == "#":
                continue
            try:
                if "{" not in line and "}" not in line:
                    self._take(number, line)
                    continue
                for piece in re.split(r"([{}])", line):
                    if piece.strip():
                        self._take(number, piece.strip())
            except ValueError as error:
                self.faults.add(number, str(error))
        self._end(number)

    def _take(self, number: int, line: str) -> None:
        """Read what is one statement, or a brace."""
        here = self._here
        if here is not None and (found := _OPERATION.fullmatch(line)):
            self._operation(number, here, found)
        elif here is not None and (found := _REQUIREMENT.fullmatch(line)):
            self._required.append((found[1], found[2] == "irequires", found[3], number))
        elif here is None and (found := _RANK.fullmatch(line)):
            self._begin(number, int(found[1]))
        elif here is None and line == "{" and self._rank < 0:
            self._rank = ~self._rank
            self._here = self._found[self._rank][0]
        elif here is not None and line == "}":
            self._close()
        elif here is None and (found := _RANKS.fullmatch(line)):
            if self._count_line:
                raise ValueError(
                    f"found num_ranks again; allowed: once, as in line {self._count_line}"
                )
            self._count_line = number
            self._count = whole_number(found[1], "num_ranks", MOST_RANKS, 1)
        else:
            raise ValueError(_why(line, here is not None))

    def _begin(self, number: int, rank: int) -> None:
        if not 0 <= rank < MOST_RANKS:
            raise ValueError(f"rank: found {rank}; allowed: 0 to {MOST_RANKS - 1}")
        known = self._found.get(rank)
        if known is not None:
            self.faults.add(number, f"found rank {rank} again; it is in line {known[1]}")
        self._found[rank] = (Operations(), number)
        # It is open when its brace has come.
        self._rank = ~rank

    def _operation(self, number: int, here: Operations, found: re.Match[str]) -> None:
        label, sent, received, peer_word, calculated, options = found.groups()
        self._actions += 1
        if self._actions > MOST_ACTIONS:
            self.faults.add(number, f"found more than {MOST_ACTIONS:,} operations; divide it")
            raise TooMuchWrong
        tag = thread = adapter = 0
        if options:
            tag, thread, adapter = _options(options, received is not None, calculated is not None)
        if calculated is not None:
            kind, peer = CALC, 0
            size = whole_number(calculated, "calc", MOST_NS) * 1000
        else:
            kind = SEND if sent is not None else RECV
            size = whole_number(sent or received, "bytes", MOST_BYTES)
            if peer_word == "-1" and kind == SEND:
                raise ValueError("to: found -1; allowed: a rank; only a receive takes any")
            peer = whole_number(peer_word, "rank", MOST_RANKS - 1, ANY)
        place = here.add(kind, size, peer, tag, thread, adapter, number)
        if label:
            if label in self._labels:
                line = here.lines[self._labels[label]]
                self.faults.add(number, f"found label {shown(label)} again; it is in line {line}")
            self._labels[label] = place

    def _close(self) -> None:
        """End a rank."""
        assert self._here is not None
        labels = self._labels
        for later, begun, earlier, number in self._required:
            for label in (later, earlier):
                if label not in labels:
                    hint = nearest(label, list(labels)[:_COMPARED])
                    wanted = f"allowed: one that is in this rank{hint}"
                    self.faults.add(number, f"label: found {shown(label)}; {wanted}")
            if later in labels and earlier in labels:
                if later == earlier:
                    self.faults.add(number, f"found {shown(later)} that requires itself")
                self._here.require(labels[later], labels[earlier], begun)
        self._here = None
        self._rank = 0
        self._labels, self._required = {}, []

    def _end(self, number: int) -> None:
        """Check what can be known only when all has been read."""
        if self._here is not None or self._rank < 0:
            rank = self._rank if self._here is not None else ~self._rank
            self.faults.add(number, f"found the end of the file within rank {rank}; it may be cut")
            return
        if not self._count:
            if not self._count_line:
                self.faults.add(0, "num_ranks: missing; allowed: `num_ranks N` before the ranks")
            return
        for rank, (_, line) in self._found.items():
            if rank >= self._count:
                self.faults.add(line, f"rank: found {rank}; allowed: 0 to {self._count - 1}")
        missing = [rank for rank in range(self._count) if rank not in self._found]
        if missing:
            which = ", ".join(map(str, missing[:5])) + ", ..." * (len(missing) > 5)
            self.faults.add(
                self._count_line,
                f"found {len(self._found)} ranks of {self._count}; missing: {which}; "
                "the file may be cut",
            )
            return
        self.ranks = [self._found[rank][0] for rank in range(self._count)]
        for operations in self.ranks:
            for kind, peer, line in zip(
                operations.kinds, operations.peers, operations.lines, strict=True
            ):
                if kind != CALC and not ANY <= peer < self._count:
                    self.faults.add(line, f"rank: found {peer}; allowed: 0 to {self._count - 1}")


def _options(text: str, is_recv: bool, is_calc: bool) -> tuple[int, int, int]:
    words = text.split()
    found: dict[str, int] = {}
    for name, word in zip(words[::2], words[1::2], strict=True):
        if name in found:
            raise ValueError(f"found {name} again; allowed: once")
        if name == "tag" and is_calc:
            raise ValueError("found tag of a calc; allowed: cpu")
        any_allowed = name == "tag" and is_recv
        found[name] = whole_number(word, name, _OPTIONS[name], ANY if any_allowed else 0)
    return found.get("tag", 0), found.get("cpu", 0), found.get("nic", 0)


def _why(line: str, within: bool) -> str:
    """What is wrong with a line that is no statement."""
    words = Words(line, _WORD)
    try:
        if within:
            _check_statement(words)
        elif words.take("num_ranks", "rank") == "rank":
            words.number("rank", MOST_RANKS - 1)
            words.take("{")
        else:
            words.number("num_ranks", MOST_RANKS, 1)
            words.end()
    except ValueError as error:
        return str(error)
    return f"found {shown(line)}; allowed: one statement in a line"


def _check_statement(words: Words) -> None:
    kinds = ("send", "recv", "calc")
    if words.peek() not in kinds:
        if re.fullmatch(_LABEL, words.peek()) and words.peek(1) in ("requires", "irequires"):
            words.take()
            words.take()
            if not re.fullmatch(_LABEL, words.peek()):
                raise ValueError(found_instead(words.peek(), ["a label"]))
            words.take()
            words.end()
        if not re.fullmatch(_LABEL, words.peek()):
            raise ValueError(found_instead(words.peek(), [*kinds, "a label", "}"]))
        if words.peek(1) != ":" and words.peek(1).isdigit():
            words.take(*kinds)
        words.take()
        if words.take(":", "requires", "irequires") != ":":
            words.take()
            words.end()
    kind = words.take(*kinds)
    if kind == "calc":
        words.number("calc", MOST_NS)
    else:
        words.number("bytes", MOST_BYTES)
        words.take("b")
        words.take("to" if kind == "send" else "from")
        words.number("rank", MOST_RANKS - 1, ANY if kind == "recv" else 0)
    while words.peek():
        words.number(words.take("tag", "cpu", "nic"), MOST_TAG, ANY)
