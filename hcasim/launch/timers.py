"""Timers of processes, which send them signals, and signals that they send each other."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hcasim.engine import Simulator
from hcasim.launch.channel import Question
from hcasim.launch.thread import Answer, Thread, call

if TYPE_CHECKING:
    from hcasim.launch.process import Process

_ASKED: Final = 2**64 - 1


@dataclass(eq=False, slots=True)
class Timer:
    """A timer of a process.

    Attributes:
        due_ps: when it sends its signal; 0 if it is stopped.
        every_ps: what lies between it and the next; 0 if there is none.
        setting: how often it was set, so that what was due before is not.
    """

    process: Process
    due_ps: int = 0
    every_ps: int = 0
    signal: int = 0
    setting: int = 0

    def set(self, sim: Simulator, due_ps: int, every_ps: int, signal: int) -> None:
        self.due_ps, self.every_ps, self.signal = due_ps, every_ps, signal
        self.setting += 1
        if due_ps:
            sim.call_at(max(due_ps, sim.now), self._come, sim, self.setting)

    def _come(self, sim: Simulator, setting: int) -> None:
        if setting != self.setting or not self.process.threads:
            return
        if self.signal:
            self.process.threads[0].interrupt(self.signal)
        next_ps = self.due_ps + self.every_ps if self.every_ps else 0
        self.set(sim, next_ps, self.every_ps, self.signal)


@call("TIMER")
def _set(thread: Thread, question: Question) -> Answer:
    number, due_ps, every_ps, sends = question.words[:4]
    timers = thread.process.timers
    if number not in timers:
        timers[number] = Timer(thread.process)
    timer = timers[number]
    left = max(0, timer.due_ps - thread.sim.now), timer.every_ps
    if due_ps != _ASKED:
        timer.set(thread.sim, due_ps, every_ps, sends)
    return 0, left, b""


@call("KILL")
def _kill(thread: Thread, question: Question) -> Answer:
    """Send a signal to a process, or to one of its threads; 0 if it is none of the simulation."""
    pid, sends, tid = question.words[:3]
    for process in {one.process for one in thread.process.session.threads}:
        if process.pid != pid:
            continue
        if sends in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT):
            os.kill(pid, sends)
            if sends == signal.SIGKILL:
                for one in process.threads:
                    one.wake()
        else:
            found = [one for one in process.threads if tid in (0, one.tid)]
            for one in found[:1]:
                one.interrupt(sends)
        return 0, (1,), b""
    return 0, (0,), b""
