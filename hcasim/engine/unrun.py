"""Calls of programs that were made but not run: a ``yield from`` was forgotten."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any


class Unrun:
    """The last call of any program, a generator, that has been made and has not begun to run.

    What ``yield from`` gets begins at once, so no other call is made in between.
    """

    __slots__ = ("_call", "_name", "_steps")

    def __init__(self) -> None:
        self._steps = 0
        self._name = ""
        self._call = ""

    def made(self, steps: Generator[Any, Any, Any], name: str, call: str) -> str:
        """Note a call, such as ``qp.post_send``; return what is wrong with the one before."""
        if self._steps:
            return self.fault()
        # Not the generator itself, which might then never end.
        self._steps = id(steps)
        self._name = name
        self._call = call
        return ""

    def handed(self, steps: object) -> None:
        if self._steps == id(steps):
            self._steps = 0

    def run(self) -> None:
        self._steps = 0

    def fault(self) -> str:
        if not self._steps:
            return ""
        self._steps = 0
        call = self._call
        what = call.rpartition(".")[2]
        return f"{self._name}: {what}: it has not been run; needed: `yield from` before {call}(...)"
