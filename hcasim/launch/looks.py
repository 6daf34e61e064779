"""Looks at threads that make no call for long, in real time: they may spin on memory.

What a look finds does not depend on its time: the library proves that a loop goes on for ever, or
leaves the thread alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 300e-6
SPINNING_S: Final = 50e-6
_LONGEST_S: Final = 0.2
_SIGNAL: Final = 61
"""LOOK_SIGNAL of the library."""
_TGKILL: Final = 234
_system: Final = ctypes.CDLL(None)


def look_at(pid: int, tid: int, patience: Callable[[], float]) -> Callable[[], float]:
    """A function that looks at a thread each time but the first, and says when next.

    Args:
        patience: says how long the thread may go on before the first look, in s.
    """
    seconds = 0.0

    def look() -> float:
        nonlocal seconds
        if seconds:
            _system.syscall(_TGKILL, pid, tid, _SIGNAL)
            seconds = min(2 * seconds, _LONGEST_S)
        else:
            seconds = patience()
        return seconds

    return look
