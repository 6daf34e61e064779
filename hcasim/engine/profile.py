"""What a run costs the computer: calls and time by block, packets, and looking for garbage.

A simulation makes hardly any garbage that reference counts do not free, and keeps millions of
objects, all of which Python would look at again and again: more often, and each time longer.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

SOFTWARE: Final = "software"
"""The block of the steps of processes, and of what SimPy does for them."""


class Profile:
    """Counts calls of simulators and their time in ns by block, with what each has others do at
    once.

    Attributes:
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
        self.calls[block] = self.calls.get(block, 0) + 1
        self.ns[block] = self.ns.get(block, 0) + took_ns

    def packets(self) -> int:
        return sum([sent() for sent in self.sent])


def block_of(action: Any) -> str:
    """The block that a call is made to: the class of the object, or a function by itself."""
    owner = getattr(action, "__self__", None)
    # Compiled functions are methods of their modules.
    if owner is not None and not isinstance(owner, ModuleType):
        return (owner if isinstance(owner, type) else type(owner)).__name__
    name: str = getattr(action, "__qualname__", "")
    if not name:
        # The class of a compiled closure is named <function>_<method>_<class>_obj.
        return type(action).__name__.removesuffix("_obj").rpartition("_")[2]
    return name.partition(".")[0].lstrip("_")


OBJECTS: Final = 200_000
"""Objects made before the young ones are looked at."""

_usual: tuple[int, int, int] | None = None
_inside = 0


def collect_seldom() -> None:
    """Look for garbage seldom until a `seldom_collected` ends: for machines before they run."""
    global _usual
    before = gc.get_threshold()
    if 0 < before[0] < OBJECTS:
        _usual = before
        gc.set_threshold(OBJECTS, *before[1:])


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage seldom, and as often as before at the end, unless inside of another one."""
    global _inside, _usual
    collect_seldom()
    _inside += 1
    try:
        yield
    finally:
        _inside -= 1
        if not _inside and _usual is not None:
            gc.set_threshold(*_usual)
            _usual = None
