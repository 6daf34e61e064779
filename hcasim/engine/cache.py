"""A set-associative cache of keys with a named replacement policy."""

from __future__ import annotations

import random
from typing import Literal

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

    Raises:
        ValueError: if a capacity is not positive or the ways do not divide it.
    """

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
            return False
        if self.replacement == "lru":
            del held[key]
            held[key] = None
        self.last = key
        return True

    def fill(self, key: int) -> int | None:
        """Bring ``key`` in; return the key that had to leave, or None."""
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
        held = self._sets.get(key % self.sets)
        if held is not None:
            held.pop(key, None)
        if key == self.last:
            self.last = -1

    def precede(self, key: int) -> None:
        """Have ``key`` held, if there is room, as if it had come before all others of its set."""
        held = self._sets.setdefault(key % self.sets, {})
        if len(held) < self.ways and key not in held:
            self._sets[key % self.sets] = {key: None, **held}
