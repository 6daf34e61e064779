"""The simulator's end of the connections of programs' threads."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Final

WORDS: Final = 8
_MOST: Final = 1024
"""Descriptors that ``select`` knows."""
LARGEST: Final = 64 << 10
_QUESTION: Final = Struct("=IIQ8Q")
_ANSWER: Final = Struct("=iiQ8Q")

Words = tuple[int, ...]

TOUCHED: Final = 1
FOUND: Final = 2
CLOCK: Final = 4


@dataclass(slots=True)
class Question:
    """What a thread asks: which call, its eight words and bytes.

    Attributes:
        notes: whether others may find something new (TOUCHED), whether it has found something
            itself (FOUND), and whether it has read the clock.
        spent_ps: time that the thread has taken since the last answer.
    """

    what: int
    notes: int
    spent_ps: int
    words: Words
    data: bytes


class Channel:
    """The connection of one thread, which waits for the answer to each question."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def question(self, look: Callable[[], float] | None = None) -> Question | None:
        """Wait for the next; None if the thread has ended.

        Args:
            look: called in real time as long as nothing comes, and says when again, in s.
        """
        try:
            while look is not None and not self._comes(look()):
                pass
            message = self._connection.recv(_QUESTION.size + LARGEST)
        except ConnectionError:
            return None
        if not message:
            return None
        what, notes, spent, *words = _QUESTION.unpack_from(message)
        return Question(what, notes, spent, tuple(words), message[_QUESTION.size :])

    def _comes(self, seconds: float) -> bool:
        descriptor = self._connection.fileno()
        if descriptor < _MOST:
            return bool(select.select([descriptor], [], [], seconds)[0])
        many = select.poll()
        many.register(descriptor, select.POLLIN)
        return bool(many.poll(max(1, seconds * 1000)))

    def answer(
        self, now_ps: int, words: Words = (), data: bytes = b"", error: int = 0, signal: int = 0
    ) -> None:
        padded = (*words, *(0,) * (WORDS - len(words)))
        message = _ANSWER.pack(error, signal, now_ps, *padded) + data
        with suppress(ConnectionError):  # If it has been killed, the next question is None.
            self._connection.send(message)

    def close(self) -> None:
        self._connection.close()


class Listener:
    """Where threads connect; programs find it by its ``name``."""

    def __init__(self) -> None:
        self.name = f"hcasim-{os.getpid()}-{os.urandom(4).hex()}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(f"\0{self.name}")
        self._socket.listen(1024)

    def accept(self, seconds: float) -> Channel | None:
        """Wait for the next thread, at most so long."""
        self._socket.settimeout(seconds)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            return None
        connection.settimeout(None)
        return Channel(connection)

    def close(self) -> None:
        self._socket.close()
