"""Arguments of programs, which may be anything: what is wrong with one, in words."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from textwrap import shorten

from hcasim.ground.errors import CatalogError
from hcasim.ground.plain import plain

ID = "an id, or the path of a file"


def refuse(*faults: str) -> None:
    """Raise a CatalogError of those faults that say something, if any does."""
    found = [fault for fault in faults if fault]
    if found:
        raise CatalogError(found)


def name_fault(what: str, given: object, allowed: str = ID) -> str:
    """Say that an argument names nothing: it is neither text nor a path object."""
    # A path object may be of bytes.
    named = isinstance(given, PathLike) and isinstance(given.__fspath__(), str)
    return "" if isinstance(given, str) or named else _fault(what, given, allowed)


def flag_fault(what: str, given: object, beside: str = "") -> str:
    """Say that an argument is neither true nor false, nor what else is allowed beside them."""
    allowed = f"True, False or {beside}" if beside else "True or False"
    return "" if isinstance(plain(given), bool) else _fault(what, given, allowed)


def count_fault(what: str, given: object) -> str:
    """Say that an argument, if it is given, is no positive number of things."""
    number = plain(given)
    whole = isinstance(number, int) and not isinstance(number, bool) and number > 0
    return "" if given is None or whole else _fault(what, given, "a whole number from 1, or None")


def words_fault(what: str, given: object) -> str:
    """Say that an argument is no list of words."""
    words = isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)
    return "" if words else _fault(what, given, "a list of text")


def table_fault(what: str, given: object, example: str) -> str:
    """Say that an argument, if it is given, is no dictionary whose keys are names."""
    named = isinstance(given, Mapping) and all(isinstance(one, str) for one in given)
    return "" if given is None or named else _fault(what, given, f"a dictionary such as {example}")


def call_fault(what: str, given: object) -> str:
    """Say that an argument, if it is given, cannot be called."""
    return "" if given is None or callable(given) else _fault(what, given, "a function, or None")


def settings_fault(given: object) -> str:
    """Say that what-if settings, if they are given, are no values by path."""
    allowed = "values by path, such as {'adapter.bus.lanes': 4}"
    if given is None or (isinstance(given, Mapping) and all(isinstance(one, str) for one in given)):
        return ""
    return _fault("overrides", given, allowed)


def _fault(what: str, given: object, allowed: str) -> str:
    return f"{what}: found {shorten(repr(given), 100)}; allowed: {allowed}"
