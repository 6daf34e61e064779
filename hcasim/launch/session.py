"""Who runs: programs on a cluster, their processes and threads, of which one runs at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import suppress
from signal import SIGKILL, SIGTERM
from struct import Struct
from time import monotonic
from typing import Any, Final

from hcasim.cluster import Cluster, Node
from hcasim.engine import Event, Simulator
from hcasim.ground.errors import Fault
from hcasim.ground.text import printable
from hcasim.launch.channel import CLOCK, PATIENCE_S, TOUCHED, Channel, Listener, Question
from hcasim.launch.circles import Circle, Nothing
from hcasim.launch.computing import Computing
from hcasim.launch.descendants import Descendant, Descendants
from hcasim.launch.keys import Keys
from hcasim.launch.library import calls
from hcasim.launch.memory import Bank, Memory
from hcasim.launch.timer import Timer
from hcasim.verbs import DM, MR, QP, AsyncEvent, Context
from hcasim.verbs.events import EventQueue
from hcasim.workloads.explain import Utilisation

PAGE: Final = 4096
_FIRST_PORT: Final = 32768
_LOOK_S: Final = 0.05
_LAST_PS: Final = 10**12
"""Simulated time in which a server that was sent SIGTERM has to end."""
_WAIT_S: Final = 10.0
"""Real time in which a program that was started has to say that it is there, or to end."""
_EVENT: Final = Struct("=QQ")
_NOT_LOADED: Final = "has not loaded the library"
_REFUSED: Final = "is refused"

Answer = tuple[Any, ...]
"""An errno or 0, words and bytes: compiled, a tuple of three would be no `Nothing` any more."""
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
        waits: what for, if it waits for others.
        signals: of the system, that it is to get with the next answers.
        touches: how often others had done something when it asked.
        seen: how often memory had been written to when it was last answered.
    """

    def __init__(self, process: Process, channel: Channel, context: Context, tid: int) -> None:
        self.process = process
        self.context = context
        self.sim = context.sim
        self.tid = tid
        self.doing = ""
        self.waits = b""
        self.signals: list[int] = []
        self.seen = self.touches = 0
        self.ended = False
        self._circle = Circle()
        self._resting = False
        self.channel = channel
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
                if self._circle.begun:
                    self._circle = Circle()
                if process.waiting:
                    process.wrote()
            self.doing = ""
            self.seen = process.written
            error, words, data = answer
            signal = self.signals.pop(0) if self.signals else 0
            process.session.settle()
            self.channel.answer(self.sim.now, words, data, error, signal)
            question = self.channel.question(self._late)
        self.ended = True
        if self.channel.fault:
            process.session.say(f"{self} {self.channel.fault}: it takes part no more")
        self.channel.close()
        self.process.left(self)

    def __str__(self) -> str:
        process = self.process
        which = f", thread {process.number(self.tid)}" if len(process.threads) > 1 else ""
        return f"{process.name} on node{process.node.index}{which}"

    def _late(self, seconds: float) -> None:
        """It has made no call for so long, in real time, in which simulated time stands still."""
        session = self.process.session
        session.descendants.reap()
        held = self.process.held
        computes = held.state(self.tid) == "R"
        if computes and held.processor_s(self.tid) < PATIENCE_S / 2:
            return  # It has not got its turn on the real processor.
        does = "computes" if computes else "waits for something outside of the simulation"
        if seconds == PATIENCE_S:
            session.say(f"{self} makes no call for {seconds:g} s of real time: it {does}")
        if session.until_ps and seconds >= session.until_ps / 1e12:
            session.fault = f"{self} {does}, and is ended after {seconds:g} s of real time"
            held.signal(SIGKILL)

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


class Process:
    """A process on a node, with one of the node's processors.

    Attributes:
        held: the process of the system.
        objects: what its handles stand for, by number.
        at_end: what is to be done when it has ended.
        waiting: threads that wait until something happens: a write of the adapter to its memory,
            or what another thread does.
        written: how often its memory has been written to.
        timers: those that send it signals, by number.
        changing: whether it is about to run another program.
    """

    def __init__(
        self, session: Session, held: Descendant, node: Node, context: Context, name: str
    ) -> None:
        self.session = session
        self.held = held
        self.node = node
        self.context = context
        self.name = name
        file = held.open("mem", os.O_RDWR)
        self.memory = Memory(file, session.banks[node.index], self.wrote)
        self.threads: list[Thread] = []
        self.waiting: list[Thread] = []
        self.written = self._completions = 0
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

    def interrupt(self, signal: int) -> None:
        """Give its first thread a signal."""
        if self.threads:
            self.threads[0].interrupt(signal)

    def kill(self, signal: int = SIGKILL) -> None:
        """Have the system send it a signal; what is killed waits no longer."""
        self.held.signal(signal)
        if signal == SIGKILL:
            for one in self.threads:
                one.wake()

    def wrote(self) -> None:
        """The adapter, or a thread, has written to its memory: others may wait for that."""
        self.written += 1
        self._wake()

    def completes(self) -> None:
        """There is a completion: whoever polls finds it."""
        self._completions += 1
        self._wake()

    def _wake(self) -> None:
        if self.waiting:
            waiting, self.waiting = self.waiting, []
            for one in waiting:
                one.wake()

    def number(self, tid: int) -> int:
        """Which of its threads one is, from 1 on; 0 if it is none of them."""
        return next((place for place, one in enumerate(self.threads, 1) if one.tid == tid), 0)

    @property
    def happened(self) -> int:
        """How much has happened that its threads may wait for."""
        return self.written + self._completions + self.session.touches

    def pipe(self, descriptor: int) -> int:
        """Open a pipe of the process for writing, by its number there."""
        return self.held.open(f"fd/{descriptor}", os.O_WRONLY)

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

    def _give_up(self) -> None:
        """Destroy what a process has left, as the system does."""
        for one in reversed(self.objects.values()):
            if isinstance(one, QP):
                one.destroy()
            elif isinstance(one, MR):
                self.session.keys.forget(one.lkey)
                one.dereg()
            elif isinstance(one, DM):
                one.free()
        self.objects.clear()

    def left(self, thread: Thread) -> None:
        """A thread has ended; what it leaves behind may be new to others."""
        self.threads.remove(thread)
        if self.changing:
            for one in self.threads:
                one.wake()
        if not self.threads:
            for end in list(self.at_end):
                end()
            for timer in self.timers.values():
                timer.set(0, 0, 0)
            self._give_up()
            self.memory.close()
            if not self.changing:
                self.session.await_end(self.held)
        self.session.touched()


class Session:
    """Programs that run on a cluster, one thread at a time.

    Attributes:
        network: what names of sockets have in common, so that two launches do not meet.
        touches: how often a program has done something that others may find.
        used: what was busy up to the last completion, if it was asked for.
        kept: what all programs share, by the module whose it is.
        computing: what programs take for what they compute.
        until_ps: when programs that go on are ended; 0 is never. A thread that makes no call may do
            so for as long, in real time.
        fault: why a program has been ended before; "" if none has.
        servers: programs that end when all others have.
        dismissed: those of them that have been told to.
    """

    def __init__(
        self,
        sim: Simulator,
        cluster: Cluster,
        explain: bool,
        computing: Computing,
        until_ps: int = 0,
    ) -> None:
        self.sim = sim
        self.until_ps = until_ps
        self.fault = ""
        self.cluster = cluster
        self.computing = computing
        self.threads: list[Thread] = []
        self.network = int.from_bytes(os.urandom(7), "little")
        self.keys = Keys()
        self.touches = 0
        self.ended_ps = 0
        self.used: dict[str, Any] = {}
        self.kept: dict[str, object] = {}
        self._explain = explain
        self._usage = Utilisation(sim)
        self._measured_ps = -1
        self._looked_s = 0.0
        self.descendants = Descendants()
        try:
            self.listener = Listener(self.descendants)
        except BaseException:
            self.descendants.close()
            raise
        self.programs: list[Descendant] = []
        self.servers: set[Descendant] = set()
        self.dismissed: set[Descendant] = set()
        self._unsettled: list[Bank] = []
        self.banks = [Bank(self._unsettled) for _ in cluster.nodes]
        self._ports = [_FIRST_PORT] * len(cluster.nodes)
        self._said: set[str] = set()
        self._strangers: list[Descendant] = []

    def meet(self, expected: Descendant | None) -> str:
        """Take the thread that connects next, while a process lives; say why none is taken."""
        since = monotonic()
        while expected is not None and not expected.ended() and monotonic() < since + _WAIT_S:
            came = self.listener.accept(_LOOK_S)
            if came is None:
                self.descendants.reap()
                continue
            channel, held = came
            if held is None:
                self.say("refused a process that descends from none of the programs")
            elif (question := channel.question()) is not None or channel.fault:
                fault = channel.fault and f"refused a process that {channel.fault}"
                if question is not None and not (fault := self._admit(channel, held, question)):
                    return ""
                self.say(fault)
                if held not in self._strangers:  # The expected one may be next, each time once.
                    since = monotonic()
                self._strangers.append(held)
                channel.close()
                if question is not None:
                    self.await_end(held)
                self.touched()
                if held is expected:
                    return _REFUSED
            channel.close()
        if expected is not None:  # It takes part in nothing, and ends with us.
            self._strangers.append(expected)
        return _NOT_LOADED

    def _admit(self, channel: Channel, held: Descendant, question: Question) -> str:
        """Have a thread take part that says hello; or say why it may not."""
        if calls()[question.what] != "HELLO":
            return "refused a process that says no hello"
        named, _, at = question.data.partition(b"\0")
        name = printable(named.decode(errors="backslashreplace"))
        pid, tid = question.words[:2]
        if pid != held.pid:
            return f"{name}: it runs in a pid namespace of its own; needed: that of the launch"
        process = next((one.process for one in self.threads if one.process.held is held), None)
        if process is None:
            last = len(self.cluster.nodes) - 1
            if not at.isdigit() or len(at) > len(str(last)) or int(at) > last:
                place = f"{name}: HCASIM_NODE"
                return Fault(place, at.decode(errors="backslashreplace"), f"0 to {last}")
            node = self.cluster.nodes[int(at)]
            context = Context(self.sim, node, self._free_core(node.index))
            context.costs.run(self.computing.cycles(name))
            try:
                process = Process(self, held, node, context, name)
            except OSError as error:
                return f"{name}: its memory cannot be read: {error.strerror}"
        thread = Thread(process, channel, process.context, tid)
        process.threads.append(thread)
        self.threads.append(thread)
        self.sim.process(self._run(thread, question))
        return ""

    def _free_core(self, place: int) -> int:
        """The first processor of a node that no process has; of more processes some share one."""
        taken = {one.process.context.core for one in self.threads}
        cores = self.cluster.nodes[place].cores
        free = (number for number in range(len(cores)) if cores[number] not in taken)
        return next(free, len(taken) % len(cores))

    def next_port(self, place: int) -> int:
        """A port of a node that nobody has asked for."""
        self._ports[place] += 1
        return self._ports[place]

    def _run(self, thread: Thread, question: Question) -> Generator[Event, object, None]:
        yield self.sim.timeout(0)
        yield from thread.run(question)
        self.threads.remove(thread)
        self.ended_ps = self.sim.now
        process = thread.process
        if process.changing and not process.threads and (why := self.meet(process.held)):
            if why == _NOT_LOADED:
                self.say(f"a program that {process.name} runs {why}; it takes no time")
            self.await_end(process.held)
            self.touched()
        if self.servers and all(one.ended() or one in self.servers for one in self.programs):
            self.dismissed, self.servers = {one for one in self.servers if not one.ended()}, set()
            for one in {one.process: None for one in self.threads}:
                if one.held in self.dismissed:
                    one.interrupt(SIGTERM)
                    self.sim.call_at(self.sim.now + _LAST_PS, one.kill)

    def await_end(self, held: Descendant) -> None:
        """Wait in real time until the system knows that a process has ended."""
        if held.ended(_WAIT_S) and not held.started:
            self.descendants.release(held)
        self.descendants.reap()
        # Its parent has got its signal when the system has let go of its table of processes.
        with suppress(ChildProcessError):
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def posts(self) -> None:
        """A request is posted; from the first one on it is measured what is busy."""
        if self._measured_ps < 0:
            self._measured_ps = self.sim.now
            self._usage.mark()

    def completes(self) -> None:
        """A program has found a completion: look at what is busy, if time has gone on by 1 %."""
        elapsed_ps = self._usage.elapsed_ps
        if self._explain and self.sim.now - self._measured_ps >= elapsed_ps // 100:
            self._measured_ps = self.sim.now
            self.used = self._usage.report()

    def settle(self) -> None:
        """Before a program goes on, its memory is as the adapters have left it."""
        if monotonic() > self._looked_s + _LOOK_S:
            self.descendants.reap()
            self._looked_s = monotonic()
        for bank in self._unsettled:
            bank.settle()
        self._unsettled.clear()

    def touched(self) -> None:
        """Wake all who wait for something that others do."""
        self.touches += 1
        for one in self.threads:
            one.wake()

    def say(self, text: str) -> None:
        """Say something on standard error, once."""
        if text not in self._said:
            self._said.add(text)
            sys.stderr.write(f"hcasim: {text}\n")

    def close(self) -> None:
        """End what still runs, and let go of all that is open."""
        programs = self.programs if self.threads else []
        processes = [one.process.held for one in self.threads]
        for held in (*self._strangers, *programs, *processes):
            held.signal(SIGKILL)
        for process in {one.process: None for one in self.threads}:
            process.memory.close()
        for one in self.threads:
            one.channel.close()
        self.listener.close()
        self.descendants.close()
