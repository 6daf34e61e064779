"""A thread of a program as the simulator runs it: while it computes, time stands still."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from hcasim.engine import Event
from hcasim.launch.channel import CLOCK, TOUCHED, Channel, Question, Words
from hcasim.launch.circles import Circle, Nothing
from hcasim.launch.library import calls
from hcasim.launch.looks import PATIENCE_S, SPINNING_S, look_at
from hcasim.verbs import Context

if TYPE_CHECKING:
    from hcasim.launch.process import Process

Answer = tuple[int, Words, bytes]
"""An errno or 0, words and bytes."""
Steps = Generator[Event, object, Answer]
Handler = Callable[["Thread", Question], "Answer | Steps"]

HANDLERS: Final[dict[str, Handler]] = {}
DONE: Final[Answer] = (0, (), b"")
_TELLING: Final = "SPEND"
"""It only tells that time has passed: a circle goes on."""


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
        signals: of the system, that it is to get with the next answers.
        touches: how often others had done something when it asked.
        patience_s: real time without a question, in s, after which it is looked at.
        seen: how often memory had been written to when it was last answered.
    """

    def __init__(self, process: Process, channel: Channel, context: Context, tid: int) -> None:
        self.process = process
        self.context = context
        self.sim = context.sim
        self.tid = tid
        self.doing = ""
        self.signals: list[int] = []
        self.seen = self.touches = 0
        self.ended = False
        self.patience_s = PATIENCE_S
        self._circle = Circle()
        self._resting = False
        self._channel = channel
        self._wake: Event | None = None

    def run(self, first: Question) -> Generator[Event, object, None]:
        """Answer its questions until it ends."""
        question: Question | None = first
        names = calls()
        process = self.process
        while question is not None:
            if question.notes & TOUCHED:
                process.session.touched()
            self.touches = process.session.touches
            if question.spent_ps:
                yield self.context.core.work(question.spent_ps)
            name = names[question.what]
            self.doing = name
            stamp = process.happened
            made: Any = HANDLERS[name](self, question)
            answer = made if isinstance(made, tuple) else (yield from made)
            if isinstance(answer, Nothing) and not question.notes & ~CLOCK and not self.signals:
                key = (name, question.words, question.data, answer)
                clock = bool(question.notes & CLOCK)
                if self._circle.add(key, self.sim.now, stamp, clock):
                    yield from self._rest()
            elif name != _TELLING:
                self._circle.end()
                if process.waiting:
                    process.wrote()
            self.doing = ""
            self.seen = process.written
            error, words, data = answer
            signal = self.signals.pop(0) if self.signals else 0
            self._channel.answer(self.sim.now, words, data, error, signal)
            question = self._channel.question(None if process.changing else look_at(self))
        self.ended = True
        self._channel.close()
        self.process.left(self)

    def has_spun(self) -> None:
        """It has waited for memory by a loop, and may again: it is looked at soon."""
        self.patience_s = SPINNING_S

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

    def interrupt(self, signal: int) -> None:
        """Give it a signal with its next answer, which comes soon, if it waits."""
        self.signals.append(signal)
        self.wake()

    def resume(self) -> bool:
        """Have it go round once more, if it rests, though nothing has happened."""
        if not self._resting or not self._circle.resume():
            return False
        self.wake()
        return True

    def _rest(self) -> Generator[Event, object, None]:
        """Leave out rounds that find nothing, until something has happened."""
        circle, process = self._circle, self.process
        if circle.began() != process.happened:
            return
        began_ps, longest_ps = self.sim.now, circle.longest_ps()
        self._resting = True
        process.waiting.append(self)
        yield from self.wait(longest_ps and began_ps + longest_ps)
        self._resting = False
        left_ps = (began_ps - self.sim.now) % circle.round_ps()
        if left_ps:
            yield self.sim.timeout(left_ps)
        circle.rested(self.sim.now - began_ps)

    def _due(self, event: Event) -> None:
        if self._wake is event:
            self._wake = None
            event.succeed(False)


@call("SPEND")
def _spend(thread: Thread, question: Question) -> Answer:
    return DONE


@call("PARK")
def _park(thread: Thread, question: Question) -> Steps:
    """Wait until others have done something since the question was asked, or until a time."""
    woken = bool(thread.signals) or thread.process.session.touches != thread.touches
    if not woken:
        woken = yield from thread.wait(question.words[0])
    return 0, (int(woken),), b""


@call("SLEEP")
def _sleep(thread: Thread, question: Question) -> Steps:
    until_ps = question.words[0]
    while thread.sim.now < until_ps and not thread.signals:
        yield from thread.wait(until_ps)
    return DONE


@call("NOTHING")
def _nothing(thread: Thread, question: Question) -> Answer:
    return Nothing()
