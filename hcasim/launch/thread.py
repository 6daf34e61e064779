"""A thread of a program, as the simulator runs it: while it computes, simulated time stands still."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from hcasim.engine import Event
from hcasim.launch.channel import Channel, Question, Words
from hcasim.launch.library import calls
from hcasim.verbs import Context

if TYPE_CHECKING:
    from hcasim.launch.process import Process

Answer = tuple[int, Words, bytes]
"""An errno or 0, words and bytes."""
Steps = Generator[Event, object, Answer]
Handler = Callable[["Thread", Question], "Answer | Steps"]

HANDLERS: Final[dict[str, Handler]] = {}
DONE: Final[Answer] = (0, (), b"")


def call(name: str) -> Callable[[Handler], Handler]:
    """Make a function the one that answers a call of the library."""

    def enter(handler: Handler) -> Handler:
        HANDLERS[name] = handler
        return handler

    return enter


class Thread:
    """A thread of a process, with a processor of its own.

    Attributes:
        doing: the call that it waits in, for those who ask why nothing goes on; "" if it runs.
        signal: of the system, that it is to get with the next answer; 0 is none.
    """

    def __init__(self, process: Process, channel: Channel, context: Context, tid: int) -> None:
        self.process = process
        self.context = context
        self.sim = context.sim
        self.tid = tid
        self.doing = ""
        self.signal = 0
        self.ended = False
        self._channel = channel
        self._wake: Event | None = None

    def run(self, first: Question) -> Generator[Event, object, None]:
        """Answer its questions until it ends."""
        question: Question | None = first
        names = calls()
        while question is not None:
            if question.touched:
                self.process.session.touched()
            if question.spent_ps:
                yield self.context.core.work(question.spent_ps)
            name = names[question.what]
            self.doing = name
            made: Any = HANDLERS[name](self, question)
            error, words, data = made if isinstance(made, tuple) else (yield from made)
            self.doing = ""
            signal, self.signal = self.signal, 0
            self._channel.answer(self.sim.now, words, data, error, signal)
            question = self._channel.question()
        self.ended = True
        self._channel.close()
        self.process.left(self)

    def wait(self, until_ps: int = 0) -> Generator[Event, object, bool]:
        """Wait until somebody wakes it, or until a time, if that is not 0; False if that came."""
        self._wake = event = self.sim.event()
        if until_ps:
            self.sim.call_at(max(until_ps, self.sim.now), self._due, event)
        woken = yield event
        return bool(woken)

    def wake(self) -> None:
        """Have it go on, if it waits."""
        event, self._wake = self._wake, None
        if event is not None:
            event.succeed(True)

    def _due(self, event: Event) -> None:
        if self._wake is event:
            self._wake = None
            event.succeed(False)


@call("SPEND")
def _spend(thread: Thread, question: Question) -> Answer:
    return DONE


@call("PARK")
def _park(thread: Thread, question: Question) -> Steps:
    woken = yield from thread.wait(question.words[0])
    return 0, (int(woken),), b""


@call("SLEEP")
def _sleep(thread: Thread, question: Question) -> Steps:
    until_ps = max(question.words[0], thread.sim.now)
    yield thread.sim.timeout(until_ps - thread.sim.now)
    return DONE
