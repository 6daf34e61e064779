"""Threads and processes that programs start: the simulator waits for each to say hello."""

from __future__ import annotations

from typing import Final

from hcasim.launch.channel import Question
from hcasim.launch.session import DONE, Answer, Thread, call

_MILLIONTHS: Final = 1_000_000
_FREQUENCY: Final = 2_000_000_000
"""Of a processor's clock where no source tells the host's, in Hz."""


@call("HELLO")
def _hello(thread: Thread, question: Question) -> Answer:
    """Tell a thread of the node it runs on.

    Words: the frequency of its clock in Hz, its number, how many there are, what sockets are named
    after, and what real processor time costs, in millionths.
    """
    process = thread.process
    session = process.session
    core = process.node.group.host.core
    hertz = core.frequency if core is not None else _FREQUENCY
    factor = round(session.computing.factor * _MILLIONTHS)
    words = hertz, process.node.index, len(session.cluster.nodes), session.network, factor
    return 0, words, b""


@call("BORN")
def _born(thread: Thread, question: Question) -> Answer:
    """Take a thread, or a process, that was started by another; the word is 0 if it is not taken.

    Words: its process, as far as the program knows.
    """
    session = thread.process.session
    return 0, (int(not session.meet(session.descendants.find(question.words[0]))),), b""


@call("EXEC")
def _exec(thread: Thread, question: Question) -> Answer:
    """The process is about to run another program, or could not."""
    thread.process.changing = bool(question.words[0])
    return DONE


@call("PORT")
def _port(thread: Thread, question: Question) -> Answer:
    """A port that nobody has asked for, of the node of a process."""
    session = thread.process.session
    return 0, (session.next_port(thread.process.node.index),), b""
