"""The processes that take part: the programs of a launch and their descendants, and nobody else.

Memory, descriptors and signals of a process are reached through a `Descendant` only.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from select import POLLIN, poll
from signal import pidfd_send_signal
from threading import active_count
from typing import Final

from hcasim.ground.errors import CatalogError

_SET_SUBREAPER: Final = 36
_GET_SUBREAPER: Final = 37
_END_S: Final = 1.0
"""Real time in which a process that was sent SIGKILL ends."""


class Descendant:
    """A process that is held: another that gets its number later is never taken for it.

    Args:
        handle: a descriptor of the process, as of pidfd_open.
        folder: a descriptor of its folder in /proc, which is of no use once it has ended.
        started: whether somebody else waits for its exit code.
    """

    def __init__(self, pid: int, handle: int, folder: int, started: bool) -> None:
        self.pid = pid
        self.started = started
        self._handle = handle
        self._folder = folder

    def ended(self, seconds: float = 0.0) -> bool:
        """Whether it has ended, or ends within so much real time."""
        return self._handle < 0 or ended(self._handle, seconds)

    def signal(self, number: int) -> None:
        """Send it a signal of the system, if it has not ended."""
        if self._handle >= 0:
            with suppress(ProcessLookupError):
                pidfd_send_signal(self._handle, number)

    def open(self, name: str, flags: int) -> int:
        """Open a file of its folder in /proc, such as mem; OSError if it has none, or has ended."""
        return os.open(name, flags | os.O_CLOEXEC, dir_fd=self._folder)

    def state(self, tid: int) -> str:
        """The letter that the system has for what a thread does; X if it has ended."""
        return self._status(tid)[0].decode()

    def processor_s(self, tid: int) -> float:
        """Real processor time that a thread has had, in s."""
        return sum(map(int, self._status(tid)[11:13])) / os.sysconf("SC_CLK_TCK")

    def _status(self, tid: int) -> list[bytes]:
        try:
            with os.fdopen(self.open(f"task/{tid}/stat", os.O_RDONLY), "rb") as file:
                return _behind_name(file.read())
        except OSError:
            return [b"X"]

    def close(self) -> None:
        """Let go of it; the system forgets it, if it has ended and nobody else waits for it."""
        if not self.started:
            with suppress(ChildProcessError):
                os.waitid(os.P_PIDFD, self._handle, os.WEXITED | os.WNOHANG)
        os.close(self._folder)
        os.close(self._handle)
        self._folder = self._handle = -1


class Descendants:
    """All processes of a launch; those whose parent has ended become children of this one."""

    def __init__(self) -> None:
        self._own = os.getpid()
        if Path("/proc/self").resolve().name != str(self._own):
            raise CatalogError(["launch: /proc is of another pid namespace; needed: its own"])
        self._held: dict[int, Descendant] = {}
        children = _children()
        self._single = children is not None and active_count() == 1
        self._adopts = children is not None and not any(map(_lives, children))
        self._waited = children or set()
        self._system = ctypes.CDLL(None)
        before = ctypes.c_int()
        self._system.prctl(_GET_SUBREAPER, ctypes.byref(before))
        self._before = before.value
        self._system.prctl(_SET_SUBREAPER, 1)

    def start(self, pid: int) -> Descendant:
        """Hold a program that was started, whose exit code nobody has asked for yet."""
        self._waited.add(pid)
        return self._hold(pid, os.pidfd_open(pid), True)

    def find(self, pid: int) -> Descendant | None:
        """Decide whether a process takes part: return it if it descends from a program.

        Of any other process only the line of its ancestors is read.
        """
        known = self._held.get(pid)
        if known is not None:
            if not known.ended():
                return known
            self.release(known)
        line = self._line(pid)
        if not line:
            return None
        try:
            known = self._hold(pid, os.pidfd_open(pid), False)
        except (ProcessLookupError, FileNotFoundError):
            return None
        # None of the line has ended meanwhile, whose number another process could have now.
        if not known.ended() and self._line(pid) == line:
            return known
        self.release(known)
        return None

    def _hold(self, pid: int, handle: int, started: bool) -> Descendant:
        try:
            folder = os.open(f"/proc/{pid}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            os.close(handle)
            raise
        self._held[pid] = made = Descendant(pid, handle, folder, started)
        return made

    def _line(self, pid: int) -> list[int]:
        """Numbers of a process and its ancestors up to one that is held; empty without one."""
        line = [pid]
        while (parent := _parent(line[-1])) > 0:
            if parent == self._own:
                # An orphan of the programs, if nobody else can have started it or its parents.
                return line if self._adopts and self._alone() else []
            line.append(parent)
            held = self._held.get(parent)
            if held is not None and not held.ended():
                return line
        return []

    def _alone(self) -> bool:
        """Whether no other thread can have started a child of this process."""
        return self._single and active_count() == 1

    def reap(self) -> None:
        """Reap orphans that have ended: others may wait until their numbers are free."""
        if self._alone():
            for pid in (_children() or set()) - self._waited:
                with suppress(ChildProcessError):
                    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG)

    def release(self, one: Descendant) -> None:
        """Let go of a process that has ended."""
        if self._held.get(one.pid) is one:
            del self._held[one.pid]
            one.close()

    def close(self) -> None:
        """Let go of all."""
        for one in self._held.values():
            if not one.started:
                one.ended(_END_S)
            one.close()
        self._held.clear()
        self.reap()
        self._system.prctl(_SET_SUBREAPER, self._before)


def ended(handle: int, seconds: float = 0.0) -> bool:
    """Whether a process has ended, by its pidfd, or ends within so much real time."""
    look = poll()
    look.register(handle, POLLIN)
    return bool(look.poll(1000 * seconds))


def _behind_name(status: bytes) -> list[bytes]:
    """What the system tells of a process or thread behind its name (proc(5), stat)."""
    return status.rpartition(b")")[2].split()


def _parent(pid: int) -> int:
    """The number of a process's parent; 0 if there is none that can be seen."""
    try:
        return int(_behind_name(Path(f"/proc/{pid}/stat").read_bytes())[1])
    except (ProcessLookupError, FileNotFoundError, PermissionError):
        return 0


def _lives(child: int) -> bool:
    """Whether a child of this process has not ended yet, and can have children of its own."""
    with suppress(ChildProcessError):
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    return False


def _children() -> set[int] | None:
    """The children of this process; None where the system does not list them."""
    found = set[int]()
    try:
        for one in Path("/proc/self/task").iterdir():
            found.update(map(int, (one / "children").read_bytes().split()))
    except OSError:
        return None
    return found
