"""A cache of lines of several tables, whose capacity is in bytes."""

from __future__ import annotations

from random import Random
from typing import ClassVar, Final

from hcasim.catalog.adapter import IcmCache
from hcasim.engine.cache import Replacement

_USE: Final = 0
_FILL: Final = 1
_MARK: Final = 2


class LineCache:
    """Lines of all tables on the chip, in banks of so many bytes.

    Args:
        description: capacity in bytes, banks, policy.

    Attributes:
        latency: of a line that is held, in ps.
        accesses: look-ups so far.
        misses: of those, of lines that were not held.
        log: what has been done, while somebody wants to know: (what, table, line, bytes, result).
    """

    counts: ClassVar[tuple[str, ...]] = ("accesses", "misses")

    def __init__(self, description: IcmCache) -> None:
        self.latency = description.latency
        self.accesses = 0
        self.misses = 0
        self.log: list[tuple[int, ...]] | None = None
        self._policy = description.policy
        self._room = max(1, description.size // description.banks)
        self._banks = [Bank(description.policy) for _ in range(description.banks)]

    def _bank(self, line: int) -> Bank:
        return self._banks[line % len(self._banks)]

    def touch(self, table: int, line: int) -> bool:
        """Look a line up; return whether it is held."""
        self.accesses += 1
        held = self._bank(line).touch((table, line))
        if self.log is not None:
            self.log.append((_USE, table, line, 0, held))
        if not held:
            self.misses += 1
        return held

    def holds(self, table: int, line: int) -> bool:
        """Whether a line is held, without counting it as used."""
        return (table, line) in self._bank(line).lines

    def mark(self, table: int, line: int) -> None:
        """Note that a line which is held has changed."""
        self._bank(line).changed.add((table, line))
        if self.log is not None:
            self.log.append((_MARK, table, line, 0, 0))

    def fill(self, table: int, line: int, size: int) -> list[tuple[int, int]]:
        """Bring a line of so many bytes in.

        Returns:
            The changed ones that had to leave, as (table, line).
        """
        bank = self._bank(line)
        bank.add((table, line), size)
        gone = []
        while bank.size > self._room and len(bank.lines) > 1:
            victim = bank.evict()
            if victim in bank.changed:
                bank.changed.discard(victim)
                gone.append(victim)
        if self.log is not None:
            self.log.append((_FILL, table, line, size, len(gone)))
        return gone

    def foresee(self, doings: list[tuple[int, ...]]) -> bool:
        """Whether lines would be held or not as it says, and none be written back."""
        came: set[tuple[int, int]] = set()
        for what, table, line, _, result in doings:
            name = (table, line)
            bank = self._bank(line)
            if what == _USE and (name in bank.lines or name in came) != bool(result):
                return False
            if what == _FILL:
                if result or bank.changed or self._policy == "random":
                    return False
                came.add(name)
        return True

    def repeat(self, doings: list[tuple[int, ...]]) -> None:
        """Use and fill lines; what is counted is counted elsewhere."""
        for what, table, line, size, _ in doings:
            if what == _USE:
                self._bank(line).touch((table, line))
            elif what == _FILL:
                self.fill(table, line, size)
            else:
                self.mark(table, line)


class Bank:
    """One bank: lines of several sizes, and which of them have changed.

    Attributes:
        lines: bytes of each that is held, by table and number.
        changed: those that are newer than the memory behind.
        size: bytes of all.
    """

    def __init__(self, policy: Replacement) -> None:
        self.lines: dict[tuple[int, int], int] = {}
        self.changed: set[tuple[int, int]] = set()
        self.size = 0
        self._policy = policy
        self._random: Random | None = None
        self._names: list[tuple[int, int]] = []
        self._place: dict[tuple[int, int], int] = {}

    def touch(self, name: tuple[int, int]) -> bool:
        """Look a line up; return whether it is held, and note the use for the policy."""
        size = self.lines.get(name)
        if size is None:
            return False
        if self._policy == "lru":
            del self.lines[name]
            self.lines[name] = size
        return True

    def add(self, name: tuple[int, int], size: int) -> None:
        """Hold one more line."""
        if name not in self.lines:
            self.lines[name] = size
            self.size += size
            if self._policy == "random":
                self._place[name] = len(self._names)
                self._names.append(name)

    def evict(self) -> tuple[int, int]:
        """Let a line go, but not the newest; return its name."""
        if self._policy == "random":
            if self._random is None:
                self._random = Random(0)
            index = self._random.randrange(len(self._names) - 1)
            victim, last = self._names[index], self._names.pop()
            self._names[index] = last
            self._place[last] = index
            del self._place[victim]
        else:
            victim = next(iter(self.lines))
        self.size -= self.lines.pop(victim)
        return victim
