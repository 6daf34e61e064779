"""Keys of memory and the addresses that programs name by them, and those that are simulated."""

from __future__ import annotations

from typing import Final

from hcasim.host.memory import SOCKET_BITS
from hcasim.verbs import MR, MW

ADDRESSES: Final = 1 << SOCKET_BITS
_FIRST: Final = 1 << 31
"""Keys of windows begin behind those of regions."""
CHOICES: Final = 256
"""How many keys of a window differ in the part that programs choose."""


class Keys:
    """The keys of all regions and windows of a launch.

    A program chooses each new key of a window, so that it is one of 256, and the simulated adapter
    gives it one of its own.
    """

    def __init__(self) -> None:
        self._shifts: dict[int, int] = {}
        self._windows: dict[int, int] = {}
        self._chosen: dict[int, int] = {}
        self._next = _FIRST

    def know(self, mr: MR, named: int) -> None:
        """Note which address requests name by the keys of a region."""
        self._shifts[mr.lkey] = mr.addr - named

    def forget(self, key: int) -> None:
        self._shifts.pop(key, None)

    def named(self, mr: MR) -> int:
        return mr.addr - self._shifts[mr.lkey]

    def address(self, key: int, named: int) -> int:
        """The simulated address that a request names by a key; of an unknown key it is none."""
        return (named + self._shifts.get(self.simulated(key), 0)) % ADDRESSES

    def simulated(self, key: int) -> int:
        """The adapter's key that a program's stands for."""
        return self._windows.get(key, key)

    def of_program(self, key: int) -> int:
        """The program's key that the adapter's stands for."""
        return self._chosen.get(key, key)

    def first(self) -> int:
        """The key of a new window, which is not bound yet."""
        key, self._next = self._next, self._next + CHOICES
        self._windows[key] = 0
        return key

    def bound(self, key: int, mw: MW, mr: MR, start: int | None) -> None:
        """Note which key a program has chosen for what a window opens of a region.

        Parameters:
            start: simulated address that requests name 0, if they do not name those of the region.
        """
        self._windows[key] = mw.rkey
        if not mw.rkey:
            return
        self._chosen[mw.rkey] = key
        self._shifts[mw.rkey] = self._shifts[mr.lkey] if start is None else start
