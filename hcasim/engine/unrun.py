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
        # The call itself: what is made after a forgotten one is gone may have the same id.
        self._steps: object = None
        self._name = ""
        self._call = ""

    def made(self, steps: Generator[Any, Any, Any], name: str, call: str) -> str:
        """Note a call, such as ``qp.post_send``; return what is wrong with the one before."""
        if self._steps is not None:
            return self.fault()
        self._steps = steps
        self._name = name
        self._call = call
        return ""

    def handed(self, steps: object) -> None:
        if self._steps is steps:
            self._steps = None

    def run(self) -> None:
        self._steps = None

    def fault(self) -> str:
        if self._steps is None:
            return ""
        self._steps = None
        call = self._call
        what = call.rpartition(".")[2]
        return f"{self._name}: {what}: it has not been run; needed: `yield from` before {call}(...)"
