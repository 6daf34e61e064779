"""What is said when input is wrong: every fault at once, the nearest name, the shortest path."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import Any

from hcasim.ground.text import plain

ID = "an id, or the path of a file"
SHOWN = 20
"""Faults of an error that are printed."""


class Fault(str):
    """What is wrong, where, and what is allowed: a line for people whose parts programs can ask.

    Attributes:
        place: what is wrong: an option, a path, a key of a file; empty if that is not known yet.
        found: what was found there, as a value.
        allowed: what is allowed, in words; empty if nothing else would do.
        hint: the nearest valid name, as `nearest` says it, or nothing.
        said: what is wrong, in words, such as "found 3" or "missing".
    """

    place: str
    found: object
    allowed: str
    hint: str
    said: str

    def __new__(
        cls,
        place: str,
        found: object,
        allowed: str,
        hint: str = "",
        text: str = "",
        *,
        said: str = "",
    ) -> Fault:
        """Put a fault into words.

        Parameters:
            text: how what was found was written, if not as Python writes it.
            said: what is wrong, if not that something was found, such as "missing".
        """
        words = said or f"found {text or shorten(written(found), 100)}"
        rest = f"; allowed: {allowed}{hint}" if allowed else hint
        fault = super().__new__(cls, f"{place}: {words}{rest}".removeprefix(": "))
        fault.place, fault.found, fault.allowed, fault.hint = place, found, allowed, hint
        fault.said = words
        return fault

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, str]]:
        return (self.place, self.found, self.allowed, self.hint), {"said": self.said}

    def at(self, place: str) -> Fault:
        return Fault(place, self.found, self.allowed, self.hint, said=self.said)


class FaultError(ValueError):
    """A value is wrong, whose place the caller knows.

    Parameters:
        found: the value, or the fault; further arguments are those of `Fault`.
    """

    def __init__(self, found: object, allowed: str = "", *words: str, **more: str) -> None:
        if not isinstance(found, Fault):
            found = Fault("", found, allowed, *words, **more)
        self.fault = found
        super().__init__(self.fault)


class CatalogError(Exception):
    """Every fault found in one pass, each once."""

    def __init__(self, faults: Iterable[str]) -> None:
        one = (one if isinstance(one, Fault) else Fault("", None, "", said=one) for one in faults)
        self.faults: list[Fault] = list(dict.fromkeys(one))
        super().__init__(self.faults)

    @property
    def lines(self) -> list[str]:
        """The first faults, and how many more there are."""
        more = len(self.faults) - SHOWN
        return [*self.faults[:SHOWN], *([f"and {more} more"] if more > 0 else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def written(found: object) -> str:
    """Return how Python writes an object, or its class if it cannot be written."""
    try:
        return repr(found)
    except Exception:  # noqa: BLE001
        return f"an object of {type(found).__name__}"


def is_one(given: object, known: Collection[str]) -> bool:
    """Whether an object is one of some words."""
    return isinstance(given, str) and given in known


def file_name(given: object) -> str | None:
    """Return the text of a name or a path; None if it is neither."""
    try:
        name = given.__fspath__() if isinstance(given, PathLike) else given
    except Exception:  # noqa: BLE001
        return None
    return name if isinstance(name, str) else None


def words_of(error: BaseException) -> str:
    """Return the kind of an exception and what it says, if that can be found out."""
    name = type(error).__name__
    try:
        return f"{name}: {error}".removesuffix(": ")
    except Exception:  # noqa: BLE001
        return name


def nearest(name: object, known: Iterable[str], before: int = 0) -> str:
    """Return `; did you mean 'x'?` for the first of the closest known names, if any is close.

    A search takes a millisecond, so there is none for a fault that has as many `before` it that it
    is not printed.
    """
    searched = isinstance(name, str) and before < SHOWN
    return _nearest(str(name).lower(), tuple(known)) if searched else ""


# A sweep may ask the same thousands of times.
@lru_cache(maxsize=64)
def _nearest(wanted: str, names: tuple[str, ...]) -> str:
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    matches = difflib.get_close_matches(wanted, folded, n=5, cutoff=0.5)
    if not matches:
        return ""
    order = {candidate: place for place, candidate in enumerate(map(str.lower, names))}
    matches.sort(key=order.__getitem__)
    closest = max(matches, key=lambda one: difflib.SequenceMatcher(None, one, wanted).ratio())
    return f"; did you mean {folded[closest]!r}?"


def one_of(allowed: Sequence[str]) -> str:
    """Write alternatives as `a, b or c`."""
    *most, last = allowed or ["nothing"]
    return f"{', '.join(most)} or {last}" if most else last


def display(path: Path) -> str:
    """Write a path as short as it can be and still be opened from the current folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def refuse(*faults: str) -> None:
    """Raise a CatalogError of those faults that say something, if any does."""
    if found := [fault for fault in faults if fault]:
        raise CatalogError(found)


def name_fault(what: str, given: object, allowed: str = ID) -> str:
    """Say that an argument names nothing: it is neither text nor a path object."""
    return _fault(file_name(given) is not None, what, given, allowed)


def text_fault(what: str, given: object, allowed: str = "text") -> str:
    """Say that an argument is no text."""
    return _fault(isinstance(given, str), what, given, allowed)


def flag_fault(what: str, given: object, beside: str = "") -> str:
    """Say that an argument is neither true nor false, nor what else is allowed beside them."""
    allowed = f"True, False or {beside}" if beside else "True or False"
    return _fault(isinstance(plain(given), bool), what, given, allowed)


def count_fault(what: str, given: object, *, needed: bool = False) -> str:
    """Say that an argument, if it is given or needed, is no positive number of things."""
    number = plain(given)
    whole = isinstance(number, int) and not isinstance(number, bool) and number > 0
    allowed = "a whole number from 1" if needed else "a whole number from 1, or None"
    return _fault(whole or (given is None and not needed), what, given, allowed)


def words_fault(what: str, given: object) -> str:
    """Say that an argument is no list of words."""
    words = isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)
    return _fault(words, what, given, "a list of text")


def table_fault(what: str, given: object, example: str) -> str:
    """Say that an argument, if it is given, is no dictionary whose keys are names."""
    named = isinstance(given, Mapping) and all(isinstance(one, str) for one in given)
    return _fault(given is None or named, what, given, f"a dictionary such as {example}")


def settings_fault(given: object) -> str:
    """Say that what-if settings, if they are given, are no values by path."""
    return table_fault("overrides", given, "{'adapter.bus.lanes': 4}, of values by path")


def call_fault(what: str, given: object) -> str:
    """Say that an argument, if it is given, cannot be called."""
    return _fault(given is None or callable(given), what, given, "a function, or None")


def _fault(fits: bool, what: str, given: object, allowed: str) -> str:
    return "" if fits else Fault(what, given, allowed)
