"""What a bus leads to: the chipset, or a bridge and what is behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from hcasim.engine import Action, Args
from hcasim.engine.changes import Changes, alike


class Transfer(Action):
    """A read or a write, as what it has been handed to sees it; it says what it waits for."""

    __slots__ = ("address", "size")

    changes: ClassVar[Changes] = Changes(addresses="address")

    address: int
    size: int

    def alike(self) -> int:
        return alike(self.address, self.size)

    def fetched(self, last_at: int, address: int, size: int) -> None:
        """Learn that a part can be passed on, whose last byte is there at ``last_at``, in ps."""
        raise NotImplementedError

    def taken(self, at_ps: int) -> None:
        """Learn that the room of what is written is free again at ``at_ps``."""
        raise NotImplementedError


class Upstream(ABC):
    """The side of a bus that is nearer to memory and to the processor."""

    @abstractmethod
    def read(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        """Fetch for a request that arrives at ``at_ps``, and tell of each part, by address."""

    @abstractmethod
    def write(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        """Write what arrives at ``at_ps``; ``visible`` is done when processors can see it."""

    @abstractmethod
    def mmio(self, size: int, then: Callable[[*Args], None], *args: *Args) -> None:
        """Bring an access by the processor here, then call ``then(*args)``."""

    def counters(self) -> dict[str, int]:
        return {}
