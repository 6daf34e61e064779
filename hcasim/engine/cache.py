"""A set-associative cache of keys with a named replacement policy."""

from __future__ import annotations

import random
from typing import ClassVar, Final, Literal

_USE: Final = 0
_FILL: Final = 1
_DISCARD: Final = 2

Replacement = Literal["lru", "fifo", "random"]


class SetAssociativeCache:
    """Which keys are held on chip; it stores no data and knows no time.

    A key belongs to the set ``key % sets``.

    Args:
        entries: capacity in entries.
        ways: entries per set; must divide ``entries``. ``ways == entries`` is fully associative.
        replacement: ``lru`` evicts the entry used longest ago, ``fifo`` the one filled longest
            ago, ``random`` any of the set.
        seed: of the random replacement, so that a run can be repeated.

    Attributes:
        last: the key that was used last, if it is held; below 0 if none is known. To use it again
            changes nothing.
        log: what has been done, while somebody wants to know: (what, key, whether it was held).

    Raises:
        ValueError: if a capacity is not positive or the ways do not divide it.
    """

    counts: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, entries: int, ways: int, replacement: Replacement = "lru", seed: int = 0
    ) -> None:
        if entries < 1 or ways < 1:
            raise ValueError(f"a cache needs positive entries and ways, not {entries} and {ways}")
        if entries % ways:
            raise ValueError(f"{ways} ways do not divide {entries} entries")
        self.entries = entries
        self.ways = ways
        self.sets = entries // ways
        self.replacement = replacement
        self.last = -1
        self.log: list[tuple[int, ...]] | None = None
        # Dicts keep insertion order: the first key of a set is the next to go.
        self._sets: dict[int, dict[int, None]] = {}
        self._seed = seed
        self._random: random.Random | None = None

    def __len__(self) -> int:
        return sum(len(held) for held in self._sets.values())

    @property
    def full(self) -> bool:
        """Whether nothing can come in without another key leaving."""
        return len(self) == self.entries

    def __contains__(self, key: int) -> bool:
        return key in self._sets.get(key % self.sets, ())

    def touch(self, key: int) -> bool:
        """Look ``key`` up; return whether it is held, and note the use for the policy."""
        if key == self.last:
            return True
        held = self._sets.get(key % self.sets)
        if held is None or key not in held:
            if self.log is not None:
                self._note(self.log, (_USE, key, False))
            return False
        if self.log is not None:
            self._note(self.log, (_USE, key, True))
        if self.replacement == "lru":
            del held[key]
            held[key] = None
        self.last = key
        return True

    def fill(self, key: int) -> int | None:
        """Bring ``key`` in; return the key that had to leave, or None."""
        if self.log is not None:
            self._note(self.log, (_FILL, key, key in self))
        held = self._sets.setdefault(key % self.sets, {})
        if key in held:
            return None
        victim: int | None = None
        if len(held) >= self.ways:
            if self.replacement == "random":
                # On demand: it is larger than most caches that never have to choose.
                if self._random is None:
                    self._random = random.Random(self._seed)
                victim = self._random.choice(list(held))
            else:
                victim = next(iter(held))
            del held[victim]
        held[key] = None
        self.last = key
        return victim

    def discard(self, key: int) -> None:
        """Let ``key`` go, if it is held."""
        if self.log is not None:
            self._note(self.log, (_DISCARD, key, key in self))
        held = self._sets.get(key % self.sets)
        if held is not None:
            held.pop(key, None)
        if key == self.last:
            self.last = -1

    def _note(self, log: list[tuple[int, ...]], done: tuple[int, ...]) -> None:
        # To do it twice on end changes no more than to do it once.
        if not log or log[-1] != done:
            log.append(done)

    def foresee(self, doings: list[tuple[int, ...]]) -> bool:
        """Whether keys would be held or not as it says, if this was done.

        What leaves for others is not foreseen: of keys used so shortly before, none does.
        """
        came: dict[int, bool] = {}
        for what, key, held in doings:
            if came.get(key, key in self) != bool(held):
                return False
            if what == _FILL and not held and self.replacement == "random":
                return False
            if what != _USE:
                came[key] = what == _FILL
        return True

    def repeat(self, doings: list[tuple[int, ...]]) -> None:
        """Use, fill and discard keys."""
        for what, key, _ in doings:
            if what == _USE:
                self.touch(key)
            elif what == _FILL:
                self.fill(key)
            else:
                self.discard(key)

    def precede(self, key: int) -> None:
        """Have ``key`` held, if there is room, as if it had come before all others of its set."""
        held = self._sets.setdefault(key % self.sets, {})
        if len(held) < self.ways and key not in held:
            self._sets[key % self.sets] = {key: None, **held}
