"""Threads that read memory in a loop, until something else changes it."""

from __future__ import annotations

from hcasim.launch.channel import Question
from hcasim.launch.session import DONE, Steps, Thread, call


@call("SPIN")
def _spin(thread: Thread, question: Question) -> Steps:
    """Wait until something has happened to the thread's memory since it was last answered."""
    process = thread.process
    while process.written == thread.seen and not thread.signals:
        process.waiting.append(thread)
        yield from thread.wait()
    costs = process.context.costs
    yield process.context.core.work(costs.poll_memory + costs.line)
    return DONE
