"""What a run costs the computer: calls and time by block, and packets."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

SOFTWARE: Final = "software"
"""The block of the steps of processes, and of what SimPy does for them."""


class Profile:
    """Counts what the calls of simulators cost.

    The time of a call is that of the block it is made to, with what that has others do at once.

    Attributes:
        calls: made so far, by block.
        ns: time that they took, in ns, by block.
        queue_ns: time between calls: of the queue of events, and of counting.
        sent: each returns the packets that a part of the machine has sent so far.
        left_out: packets that were accounted for without being run.
    """

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.ns: dict[str, int] = {}
        self.queue_ns = 0
        self.sent: list[Callable[[], int]] = []
        self.left_out = 0

    def count(self, block: str, took_ns: int) -> None:
        """Note that something done by a block took ``took_ns`` nanoseconds."""
        self.calls[block] = self.calls.get(block, 0) + 1
        self.ns[block] = self.ns.get(block, 0) + took_ns

    def packets(self) -> int:
        """Packets sent so far, with those that were left out."""
        return sum([sent() for sent in self.sent])


def block_of(action: Any) -> str:
    """The block that a call is made to: the class of the object, or the function's own.

    A function outside all classes is a block of its own.
    """
    owner = getattr(action, "__self__", None)
    # Compiled functions are methods of their modules.
    if owner is not None and not isinstance(owner, ModuleType):
        return (owner if isinstance(owner, type) else type(owner)).__name__
    name: str = getattr(action, "__qualname__", "")
    if not name:
        # The class of a compiled closure is named <function>_<method>_<class>_obj.
        return type(action).__name__.removesuffix("_obj").rpartition("_")[2]
    return name.partition(".")[0].lstrip("_")
