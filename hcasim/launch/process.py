"""A process of a program: its threads, its node, and what it holds of the adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hcasim.cluster import Node
from hcasim.launch.thread import Thread

if TYPE_CHECKING:
    from hcasim.launch.session import Session


class Process:
    """A process on a node.

    Attributes:
        objects: what its handles stand for, by number.
    """

    def __init__(self, session: Session, pid: int, node: Node, program: str) -> None:
        self.session = session
        self.pid = pid
        self.node = node
        self.program = program
        self.threads: list[Thread] = []
        self.objects: dict[int, Any] = {}
        self._next = 1

    def enter(self, made: object) -> int:
        """Give something a handle."""
        handle, self._next = self._next, self._next + 1
        self.objects[handle] = made
        return handle

    def left(self, thread: Thread) -> None:
        """A thread has ended; what it leaves behind may be new to others."""
        self.threads.remove(thread)
        self.session.touched()
