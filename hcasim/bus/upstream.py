"""What a bus leads to: the chipset, or a bridge and what is behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Part = Callable[..., None]
"""Called with (time in ps of the last byte, address, bytes, further arguments)."""


class Upstream(Protocol):
    """The side of a bus that is nearer to memory and to the processor."""

    def read(self, at_ps: int, address: int, size: int, then: Part, *args: Any) -> None:
        """Fetch ``size`` bytes for a request that arrives at ``at_ps``.

        ``then(last_at, address, size, *args)`` is called for each part, in the order of addresses,
        when it can begin to be passed on; its last byte is there at ``last_at``.
        """

    def write(
        self,
        at_ps: int,
        address: int,
        size: int,
        on_visible: Callable[[], None] | None,
        taken: Callable[..., None],
        *args: Any,
    ) -> None:
        """Write ``size`` bytes that arrive at ``at_ps``.

        ``taken(time, *args)`` is called with the time in ps at which their room is free again,
        ``on_visible`` when a polling processor can see them.
        """

    def mmio(self, size: int, then: Callable[..., None], *args: Any) -> None:
        """Bring an access by the processor here, then call ``then(*args)``."""

    def answer(self, size: int, then: Callable[..., None], *args: Any) -> None:
        """Bring what the processor has read back to it, then call ``then(*args)``."""

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that each serial resource was in use so far, by name."""

    def waiting_ps(self) -> dict[str, int]:
        """Time in ps that requests waited for each pool of credits or tags so far, by name."""

    def counters(self) -> dict[str, int]:
        """Transactions and bytes so far, by name."""
