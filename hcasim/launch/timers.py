"""Timers of processes, which send them signals, and signals that they send each other."""

from __future__ import annotations

import signal
from typing import Final

from hcasim.launch.channel import Question
from hcasim.launch.session import Answer, Thread, call
from hcasim.launch.timer import Timer

_ASKED: Final = 2**64 - 1


@call("TIMER")
def _set(thread: Thread, question: Question) -> Answer:
    number, due_ps, every_ps, sends = question.words[:4]
    timers = thread.process.timers
    if number not in timers:
        timers[number] = Timer(thread.sim, thread.process.interrupt)
    timer = timers[number]
    left = max(0, timer.due_ps - thread.sim.now), timer.every_ps
    if due_ps != _ASKED:
        timer.set(due_ps, every_ps, sends)
    return 0, left, b""


@call("KILL")
def _kill(thread: Thread, question: Question) -> Answer:
    """Send a signal to a process, or to one of its threads; 0 if it is none of the simulation."""
    pid, sends, tid = question.words[:3]
    for process in {one.process for one in thread.process.session.threads}:
        if process.held.pid != pid:
            continue
        if sends in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT):
            process.kill(sends)
        else:
            found = [one for one in process.threads if tid in (0, one.tid)]
            for one in found[:1]:
                one.interrupt(sends)
        return 0, (1,), b""
    return 0, (0,), b""
