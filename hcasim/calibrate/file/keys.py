"""The keys of a calibration file beside its fitted values, and what each may hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hcasim.calibrate.intervals.linear import KINDS
from hcasim.calibrate.search.loss import LOSSES
from hcasim.catalog import nearest, one_of


@dataclass(frozen=True)
class Key:
    """What a key may hold.

    Parameters:
        kinds: types of its value.
        allowed: the same in words.
        words: the only words, if they can be listed.
        low: the smallest number.
        many: it holds a list of such values.
    """

    kinds: tuple[type, ...]
    allowed: str
    words: tuple[str, ...] = ()
    low: float | None = None
    many: bool = False

    def fault(self, value: object) -> str | None:
        """Say why a value is not allowed."""
        if self.many and not isinstance(value, list):
            return f"found {value!r}; allowed: {self.allowed}"
        values: list[Any] = value if self.many and isinstance(value, list) else [value]
        for one in values:
            # A boolean is no number here.
            if type(one) not in self.kinds or (self.words and one not in self.words):
                close = nearest(one, self.words) if isinstance(one, str) else ""
                return f"found {one!r}; allowed: {self.allowed}{close}"
            if self.low is not None and not one >= self.low:
                return f"found {one!r}; allowed: {self.allowed}"
        return None


def _word(words: Sequence[str]) -> Key:
    return Key((str,), one_of(words), tuple(words))


_TEXT = Key((str,), "text")
_TRUTH = Key((bool,), "true or false")
_COUNT = Key((int,), "a whole number from 0", low=0)
_NUMBER = Key((int, float), "a number")
_SHARE = Key((int, float), "a number from 0", low=0)

MADE: Mapping[str, Key] = {
    "hcasim": _TEXT,
    "command": _TEXT,
    "testbed": _TEXT,
    "adapter": _TEXT,
    "mtu": Key((int,), "bytes"),
    "no_switch": _TRUTH,
    "seed": _COUNT,
    "loss": _word(list(LOSSES)),
    "floor_percent": _SHARE,
    "intervals": _word(KINDS),
    "converged": _TRUTH,
    "evaluations": _COUNT,
    "observations": _COUNT,
    "held_out": _COUNT,
    "cost": _SHARE,
    "inflation": _SHARE,
    "notes": Key((str,), "a list of text", many=True),
}
"""Of [made]: how a fit to traces was made."""

TRACE: Mapping[str, Key] = {
    "name": _TEXT,
    "sha256": _TEXT,
    "tool": _TEXT,
    "device": _TEXT,
    "points": _COUNT,
}
"""Of each of [[traces]]."""

CURVE: Mapping[str, Key] = {
    "curve": _TEXT,
    "role": _word(("fitted", "held out")),
    "points": _COUNT,
    "mean_error_percent": _NUMBER,
    "worst_error_percent": _NUMBER,
    "rms_deviations": _SHARE,
}
"""Of each of [[curves]]."""


def table_faults(where: str, table: object, keys: Mapping[str, Key]) -> Iterator[str]:
    """Say what is wrong with a table all of whose keys are known and needed.

    Parameters:
        where: the file and the table.
        table: what was found there.
        keys: what it must hold.
    """
    if not isinstance(table, dict):
        yield f"{where}: found {table!r}; allowed: a table"
        return
    yield from name_faults(f"{where}.", table, keys, keys)
    for name, key in keys.items():
        fault = key.fault(table[name]) if name in table else None
        if fault is not None:
            yield f"{where}.{name}: {fault}"


def name_faults(
    where: str, found: Mapping[str, Any], known: Mapping[str, Any], needed: Mapping[str, Any]
) -> Iterator[str]:
    """Say which keys are unknown or missing; what seems to be misspelt is not missing, too.

    Parameters:
        where: what stands before a key in a message.
        found: what the file has.
        known: all keys that there are.
        needed: keys that must be there.
    """
    meant = ""
    for name in found:
        if name not in known:
            left = [one for one in known if one not in found]
            hint = nearest(name, left)
            meant += hint
            yield f"{where}{name}: unknown key; allowed: {one_of(list(known))}{hint}"
    for name in needed:
        if name not in found and repr(name) not in meant:
            yield f"{where}{name}: missing; calibrate writes it"
