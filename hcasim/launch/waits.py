"""Threads that let time pass, or wait for others."""

from __future__ import annotations

from hcasim.launch.channel import Question
from hcasim.launch.circles import Nothing
from hcasim.launch.session import DONE, Answer, Steps, Thread, call


@call("SPEND")
def _spend(thread: Thread, question: Question) -> Answer:
    return DONE


@call("PARK")
def _park(thread: Thread, question: Question) -> Steps:
    """Wait until others have done something since the question was asked, or until a time."""
    thread.waits = question.data
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
