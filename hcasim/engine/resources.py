"""What of a machine is used: how long each resource was busy, and how long others waited for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol


class Busy(Protocol):
    """A resource that serves one thing after the other, with the time in ps of its use so far."""

    @property
    def busy_ps(self) -> int: ...


class Awaited(Protocol):
    """Credits, room or entries, with the time in ps that work has waited for them so far."""

    @property
    def wait_ps(self) -> int: ...


class Resources:
    """The resources of a simulated machine, which each block enters when it is built.

    Attributes:
        queues: those of links, which are as long again where a machine repeats itself.
    """

    looks_on: ClassVar[bool] = True

    def __init__(self) -> None:
        self.queues: list[list[list[Any]]] = []
        self._busy: dict[str, Busy] = {}
        self._awaited: dict[str, list[Awaited]] = {}
        self._settled: list[Callable[[], None]] = []

    def serves(self, name: str, resource: Busy) -> None:
        """Enter what serves one thing after the other, under a name of its own."""
        if self._busy.setdefault(name, resource) is not resource:
            raise ValueError(f"two resources have the name {name}")

    def succeeds(self, name: str, resource: Busy) -> None:
        """Enter what goes on with the time of the resource that had a name before."""
        self._busy[name] = resource

    def keeps_waiting(self, name: str, resource: Awaited) -> None:
        """Enter what work may have to wait for; the times of equal names add up."""
        self._awaited.setdefault(name, []).append(resource)

    def queued(self) -> int:
        """How much waits in all queues of links."""
        number = 0
        for queues in self.queues:
            for queue in queues:
                number += len(queue)
        return number

    def settle(self, function: Callable[[], None]) -> None:
        """Have a function called before times are read, which accounts for what has been done."""
        self._settled.append(function)

    def busy_ps(self) -> dict[str, int]:
        for function in self._settled:
            function()
        return {name: one.busy_ps for name, one in self._busy.items()}

    def waiting_ps(self) -> dict[str, int]:
        return {name: sum([one.wait_ps for one in all_]) for name, all_ in self._awaited.items()}
