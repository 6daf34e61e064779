"""The simulator's end of the connections of programs' threads."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from typing import Final

from hcasim.launch.descendants import Descendant, Descendants, ended
from hcasim.launch.folders import fresh_folder, remove_left
from hcasim.launch.library import calls

WORDS: Final = 8
LARGEST: Final = 64 << 10
PATIENCE_S: Final = 10.0
"""Real time without a question after which it is told that none comes."""
_TIME: Final = Struct("@ll")
_CREDENTIALS: Final = Struct("=iII")
_PEER_PIDFD: Final = 77
"""SO_PEERPIDFD of Linux 6.5: a descriptor of the process that has connected."""
_NAME: Final = "channel"
_OTHERS: Final = "t7f000101.ffff"
"""A name of a socket of programs, in the same folder."""
_LONGEST: Final = 107 - len("/") - len(_OTHERS)
"""Bytes of the folder of sockets. Source of those of a path: manual page unix."""
_QUESTION: Final = Struct("=IIQ8Q")
_ANSWER: Final = Struct("=iiQ8Q")

Words = tuple[int, ...]

_NO_WORDS: Final[Words] = (0,) * WORDS

TOUCHED: Final = 1
FOUND: Final = 2
CLOCK: Final = 4


class Question:
    """What a thread asks: which call, its eight words and bytes.

    Attributes:
        notes: whether others may find something new (TOUCHED), whether it has found something
            itself (FOUND), and whether it has read the clock.
        spent_ps: time that the thread has taken since the last answer.
    """

    __slots__ = ("data", "notes", "spent_ps", "what", "words")

    def __init__(self, what: int, notes: int, spent_ps: int, words: Words, data: bytes) -> None:
        self.what = what
        self.notes = notes
        self.spent_ps = spent_ps
        self.words = words
        self.data = data


class Channel:
    """The connection of one thread, which waits for the answer to each question.

    Attributes:
        fault: what is wrong with what came, or has not come; nothing is read any more. Else "".
    """

    def __init__(self, connection: socket.socket) -> None:
        self.fault = ""
        self._connection = connection
        self._room = bytearray(_QUESTION.size + LARGEST)

    def question(self, late: Callable[[float], None] | None = None) -> Question | None:
        """Wait for the next; None if the thread has ended, or there is a fault.

        Args:
            late: told for how long nothing has come, in s of real time, again and again; without
                it nothing is waited for any longer.
        """
        room, length, waited_s = self._room, -1, 0.0
        while length < 0:
            try:
                length = self._connection.recv_into(room)
            except ConnectionError:
                return None
            except BlockingIOError:
                waited_s += PATIENCE_S
                if late is None:
                    self.fault = f"says nothing for {waited_s:g} s of real time"
                    return None
                late(waited_s)
        if not length:
            return None
        if length >= _QUESTION.size:
            what, notes, spent, *words = _QUESTION.unpack_from(room)
            if what < len(calls()):
                data = room[_QUESTION.size : length]
                return Question(what, notes, spent, tuple(words), bytes(data))
        self.fault = "says what is no call of the library"
        return None

    def answer(
        self, now_ps: int, words: Words = (), data: bytes = b"", error: int = 0, signal: int = 0
    ) -> None:
        padded = words + _NO_WORDS[len(words) :]
        message = _ANSWER.pack(error, signal, now_ps, *padded) + data
        with suppress(ConnectionError):  # If it has been killed, the next question is None.
            self._connection.send(message)

    def close(self) -> None:
        self._connection.close()


class Listener:
    """Where threads connect: a socket with a path, in a folder that only this user can enter.

    Args:
        descendants: decides who may connect.
    """

    def __init__(self, descendants: Descendants) -> None:
        self._descendants = descendants
        remove_left(_NAME)
        self._folder = fresh_folder(_LONGEST)
        self.path = self._folder / _NAME
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(os.fspath(self.path))
        self._socket.listen(1024)

    def accept(self, seconds: float) -> tuple[Channel, Descendant | None] | None:
        """Wait for the next thread, at most so long.

        Returns:
            Its connection and process; None in place of a process that may not connect.
        """
        self._socket.settimeout(seconds)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            return None
        connection.settimeout(None)
        patience = _TIME.pack(*divmod(int(PATIENCE_S * 1e6), 10**6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
        return Channel(connection), self._process(connection)

    def _process(self, connection: socket.socket) -> Descendant | None:
        """Who has connected, by the word of the system."""
        said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, user, _ = _CREDENTIALS.unpack(said)
        if user != os.geteuid():
            return None
        try:
            handle = connection.getsockopt(socket.SOL_SOCKET, _PEER_PIDFD)
        except OSError as error:
            if error.errno == errno.EMFILE:
                raise
            # A kernel before 6.5, or it has ended.
            return self._descendants.find(pid) if error.errno == errno.ENOPROTOOPT else None
        try:
            found = self._descendants.find(pid)
            return None if ended(handle) else found  # Else nobody has got its number since.
        finally:
            os.close(handle)

    def close(self) -> None:
        """Refuse all who come, and leave nothing behind."""
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)
