"""Which entry of a full cache leaves, one class for each policy."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any, ClassVar, Final

Held = dict[Any, Any]
"""What a cache, a set or a bank of it holds; what came last is at the end."""


class Fifo:
    """The entry leaves that was filled longest ago.

    Args:
        seed: of what is left to chance, so that a run can be repeated.

    Attributes:
        ordered: whether the order of what is held alone tells which entry leaves.
    """

    ordered: ClassVar[bool] = True

    def __init__(self, seed: int = 0) -> None:
        pass

    def use(self, held: Held, key: Any) -> None:
        """Note that a key which is held is used."""

    def choose(self, held: Held) -> Any:
        """Return the key that leaves; the newest stays."""
        return next(iter(held))


class Lru(Fifo):
    """The entry leaves that was used longest ago."""

    def use(self, held: Held, key: Any) -> None:
        """Move a key to the end."""
        held[key] = held.pop(key)


class Chance(Fifo):
    """Any entry leaves but the newest."""

    ordered: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        # On demand: it is larger than most caches that never have to choose.
        self._random: Random | None = None

    def choose(self, held: Held) -> Any:
        """Return a key that is drawn."""
        if self._random is None:
            self._random = Random(self._seed)
        return next(islice(held, self._random.randrange(len(held) - 1), None))


POLICIES: Final[dict[str, type[Fifo]]] = {"fifo": Fifo, "lru": Lru, "random": Chance}
"""By their names in descriptions."""
