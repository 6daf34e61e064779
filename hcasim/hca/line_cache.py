"""A cache of lines of several tables, whose capacity is in bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, Final

from hcasim.catalog.adapter import IcmCache
from hcasim.engine.cache import POLICIES, AccessLog, Fifo
from hcasim.engine.changes import Changes

_USE: Final = 0
_FILL: Final = 1
_MARK: Final = 2


class LineCache:
    """Lines of all tables on the chip, in banks of so many bytes.

    Attributes:
        accesses, misses: look-ups so far, and those of lines that were not held.
        log: what has been done, while somebody wants to know: (what, table, line, bytes, result).
    """

    changes: ClassVar[Changes] = Changes(counts="accesses misses")

    def __init__(self, description: IcmCache) -> None:
        self.latency = description.latency
        self.accesses = self.misses = 0
        self.log: list[tuple[int, ...]] | None = None
        policy = POLICIES[description.policy]
        self._room = max(1, description.size // description.banks)
        numbers = range(description.banks)
        self._banks = [
            Bank(policy()) if policy.ordered else RandomBank(policy(), 1 + number)
            for number in numbers
        ]

    def _bank(self, line: int) -> Bank:
        return self._banks[line % len(self._banks)]

    def touch(self, table: int, line: int) -> bool:
        self.accesses += 1
        held = self._bank(line).touch((table, line))
        if self.log is not None:
            self.log.append((_USE, table, line, 0, held))
        if not held:
            self.misses += 1
        return held

    def holds(self, table: int, line: int) -> bool:
        return (table, line) in self._bank(line).lines

    def precede(self, table: int, line: int, size: int) -> None:
        bank = self._bank(line)
        name = (table, line)
        if bank.size + size <= self._room and name not in bank.lines:
            bank.add(name, size)
            bank.lines.move_to_end(name, last=False)

    def mark(self, table: int, line: int) -> None:
        self._bank(line).changed.add((table, line))
        if self.log is not None:
            self.log.append((_MARK, table, line, 0, 0))

    def fill(self, table: int, line: int, size: int) -> list[tuple[int, int]]:
        """Bring a line in; return the changed ones that had to leave, as (table, line)."""
        bank = self._bank(line)
        gone = bank.make_room((table, line), size, self._room)
        if self.log is not None:
            self.log.append((_FILL, table, line, size, len(gone)))
        return gone

    def predict(self, accesses: AccessLog, steps: AccessLog, most: int) -> int:
        """Periods, of at most so many, in which lines would be held or not as it says.

        What may leave has to be unchanged.
        """
        if any(step[0] or step[3] or step[4] for step in steps):
            return 0
        fills = [result for what, _, _, _, result in accesses if what == _FILL]
        if fills and (
            any(fills)
            or any(bank.changed for bank in self._banks)
            or any(what == _MARK for what, *_ in accesses)
        ):
            return 0
        return self._go_on([bank.copy() for bank in self._banks], accesses, steps, most)

    def repeat(self, accesses: AccessLog, steps: AccessLog, count: int) -> None:
        self._go_on(self._banks, accesses, steps, count)

    def _go_on(self, banks: list[Bank], accesses: AccessLog, steps: AccessLog, most: int) -> int:
        for turn in range(1, most + 1):
            for (what, table, line, size, result), step in zip(accesses, steps, strict=True):
                name = (table + turn * step[1], line + turn * step[2])
                bank = banks[name[1] % len(banks)]
                if what == _FILL:
                    bank.make_room(name, size, self._room)
                elif what == _MARK:
                    bank.changed.add(name)
                elif bank.touch(name) != (result > 0):
                    return turn - 1
        return most


class Bank:
    """One bank: lines and their bytes by table and number, and which are newer than memory."""

    def __init__(self, policy: Fifo) -> None:
        self.lines: OrderedDict[tuple[int, int], int] = OrderedDict()
        self.changed: set[tuple[int, int]] = set()
        self.size = 0
        self.policy = policy

    def touch(self, name: tuple[int, int]) -> bool:
        if name not in self.lines:
            return False
        self.policy.use(self.lines, name)
        return True

    def add(self, name: tuple[int, int], size: int) -> None:
        if name not in self.lines:
            self.lines[name] = size
            self.size += size

    def make_room(self, name: tuple[int, int], size: int, room: int) -> list[tuple[int, int]]:
        self.add(name, size)
        gone = []
        while self.size > room and len(self.lines) > 1:
            victim = self._leave()
            self.size -= self.lines.pop(victim)
            if victim in self.changed:
                self.changed.discard(victim)
                gone.append(victim)
        return gone

    def _leave(self) -> tuple[int, int]:
        victim: tuple[int, int] = self.policy.choose(self.lines)
        return victim

    def copy(self) -> Bank:
        copy = Bank(self.policy)
        copy.lines = self.lines.copy()
        copy.size = self.size
        return copy


class RandomBank(Bank):
    """A bank of which any line leaves but the newest, drawn as Park and Miller do.

    Its draws can be repeated, so that what leaves can be foreseen as in another.
    """

    def __init__(self, policy: Fifo, drawn: int) -> None:
        super().__init__(policy)
        self._drawn = drawn
        self._names: list[tuple[int, int]] = []

    def touch(self, name: tuple[int, int]) -> bool:
        return name in self.lines

    def add(self, name: tuple[int, int], size: int) -> None:
        if name not in self.lines:
            self._names.append(name)
        super().add(name, size)

    def _leave(self) -> tuple[int, int]:
        self._drawn = self._drawn * 48271 % 0x7FFFFFFF
        names = self._names
        newest = names.pop()
        place = self._drawn % len(names)
        victim = names[place]
        names[place] = names[-1]
        names[-1] = newest
        return victim

    def copy(self) -> Bank:
        copy = RandomBank(self.policy, self._drawn)
        copy.lines = self.lines.copy()
        copy.size = self.size
        copy._names = self._names.copy()
        return copy
