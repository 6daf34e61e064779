"""The simulator's end of the connections of programs' threads."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from struct import Struct
from typing import Final

WORDS: Final = 8
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

    def question(self) -> Question | None:
        """Wait for the next; None if the thread has ended."""
        try:
            message = self._connection.recv(_QUESTION.size + LARGEST)
        except ConnectionError:
            return None
        if not message:
            return None
        what, notes, spent, *words = _QUESTION.unpack_from(message)
        return Question(what, notes, spent, tuple(words), message[_QUESTION.size :])

    def answer(
        self, now_ps: int, words: Words = (), data: bytes = b"", error: int = 0, signal: int = 0
    ) -> None:
        padded = (*words, *(0,) * (WORDS - len(words)))
        message = _ANSWER.pack(error, signal, now_ps, *padded) + data
        try:
            self._connection.send(message)
        except ConnectionError:
            pass  # It has been killed: the next question is None.

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
