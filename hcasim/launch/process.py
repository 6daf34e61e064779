"""A process of a program: its threads, its node, and what it holds of the adapter."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from contextlib import suppress
from select import select
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from hcasim.cluster import Node
from hcasim.engine import Event
from hcasim.launch.thread import Thread
from hcasim.launch.timers import Timer
from hcasim.verbs import AsyncEvent, Context
from hcasim.verbs.events import EventQueue

if TYPE_CHECKING:
    from hcasim.launch.session import Session

PAGE: Final = 4096
_PATIENCE_S: Final = 10.0
_EVENT: Final = Struct("=QQ")


class Process:
    """A process on a node, with one of the node's processors.

    Attributes:
        memory: descriptor of its memory.
        objects: what its handles stand for, by number.
        at_end: what is to be done when it has ended.
        waiting: threads that wait until something happens: a write of the adapter to its memory,
            or what another thread does.
        written: how often its memory has been written to.
        timers: those that send it signals, by number.
        changing: whether it is about to run another program.
    """

    def __init__(self, session: Session, pid: int, node: Node, context: Context, name: str) -> None:
        self.session = session
        self.pid = pid
        self.node = node
        self.context = context
        self.name = name
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self.threads: list[Thread] = []
        self.waiting: list[Thread] = []
        self.written = 0
        self.timers: dict[int, Timer] = {}
        self.changing = False
        self.objects: dict[int, Any] = {}
        self.at_end: list[Callable[[], None]] = []
        self._opened: dict[int, int] = {}
        self._cookies: dict[int, int] = {}
        self._places: dict[tuple[int, int], int] = {}
        self._next = 1

    def enter(self, made: object, cookie: int = 0) -> int:
        """Give something a handle; events call it by its cookie."""
        handle, self._next = self._next, self._next + 1
        self.objects[handle] = made
        self._cookies[id(made)] = cookie
        return handle

    def stand_for(self, place: int, length: int) -> int:
        """The simulated address that stands for memory of the process from a place on."""
        page, within = place - place % PAGE, place % PAGE
        key = page, within + length
        if key not in self._places:
            self._places[key] = self.node.allocate(within + length)
        return self._places[key] + within

    def wrote(self) -> None:
        """The adapter, or a thread, has written to its memory: others may wait for that."""
        self.written += 1
        if self.waiting:
            waiting, self.waiting = self.waiting, []
            for one in waiting:
                one.wake()

    @property
    def happened(self) -> int:
        """How much has happened that its threads may wait for."""
        return self.written + self.session.touches

    def pipe(self, descriptor: int) -> int:
        """Open a pipe of the process for writing, by its number there."""
        return os.open(f"/proc/{self.pid}/fd/{descriptor}", os.O_WRONLY)

    def tell(self, events: EventQueue[Any], descriptor: int) -> None:
        """Write events into a pipe of the process, by its number there, as they come."""
        pipe = self.pipe(descriptor)
        self.context.sim.process(self._told(events, lambda: pipe))

    def open(self, descriptor: int) -> int:
        """Open the adapter; its asynchronous events go into the pipe of what was opened last."""
        if not self._opened:
            self.context.sim.process(self._told(self.context.events, self._last_opened))
        handle = self.enter(self.context)
        self._opened[handle] = self.pipe(descriptor)
        return handle

    def close(self, handle: int) -> None:
        """Close the adapter that was opened as a handle."""
        del self.objects[handle]
        os.close(self._opened[handle])
        self._opened[handle] = -1

    def _last_opened(self) -> int:
        return next((pipe for pipe in reversed(self._opened.values()) if pipe >= 0), -1)

    def _told(
        self, events: EventQueue[Any], pipe: Callable[[], int]
    ) -> Generator[Event, object, None]:
        while True:
            event = yield from events.get()
            kind, about = 0, event
            if isinstance(event, AsyncEvent):
                kind, about = event.event_type.value, event.element
            known = about if isinstance(about, int) else self._cookies.get(id(about), 0)
            with suppress(OSError):
                os.write(pipe(), _EVENT.pack(kind, known))
            self.session.touched()

    def ended(self) -> None:
        """Wait in real time until the system knows that it has ended."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        select([descriptor], [], [], _PATIENCE_S)
        os.close(descriptor)
        # Its parent has got its signal when the system has let go of its table of processes.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def left(self, thread: Thread) -> None:
        """A thread has ended; what it leaves behind may be new to others."""
        self.threads.remove(thread)
        if self.changing:
            for one in self.threads:
                one.wake()
        if not self.threads:
            for end in list(self.at_end):
                end()
            os.close(self.memory)
            if not self.changing:
                self.ended()
        self.session.touched()
