"""What a bus leads to: the chipset, or a bridge and what is behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from hcasim.engine import Action, Args


class Transfer(Action):
    """A read or a write, as what it has been handed to sees it.

    Whoever makes it says which of the calls it waits for.
    """

    __slots__ = ()

    def act(self) -> None:
        """Go on when its time has come."""
        raise NotImplementedError

    def fetched(self, last_at: int, address: int, size: int) -> None:
        """Learn that a part of what is read can begin to be passed on.

        Args:
            last_at: when its last byte is there, in ps.
            address: of its first byte.
            size: its bytes.
        """
        raise NotImplementedError

    def taken(self, at_ps: int) -> None:
        """Learn that the room of what is written is free again at ``at_ps``."""
        raise NotImplementedError


class Upstream(ABC):
    """The side of a bus that is nearer to memory and to the processor."""

    @abstractmethod
    def read(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        """Fetch ``size`` bytes for a request that arrives at ``at_ps``.

        The transfer learns of each part, in the order of addresses.
        """

    @abstractmethod
    def write(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        """Write ``size`` bytes that arrive at ``at_ps``.

        The transfer learns when their room is free again; ``visible`` is done when a polling
        processor can see them.
        """

    @abstractmethod
    def mmio(self, size: int, then: Callable[[*Args], None], *args: *Args) -> None:
        """Bring an access by the processor here, then call ``then(*args)``."""

    def counters(self) -> dict[str, int]:
        """Transactions and bytes so far, by name."""
        return {}
