"""Where a value comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, Self, TypeVar, get_args

from hcasim.ground.units import UNITS

Evidence = Literal["spec", "datasheet", "driver", "fitted", "chosen", "assumed"]
"""spec: a published specification. datasheet: the maker's or the machine's own description, or
what the device reports of itself. driver: the source of a driver for it. fitted: determined from
measurements. chosen: assumed with published numbers in view. assumed: plausible, and no public
source gives it."""

EVIDENCE: tuple[str, ...] = get_args(Evidence)

Value = int | str | bool
T_co = TypeVar("T_co", bound=Value, covariant=True)
T = TypeVar("T", bound=Value)

# Sources of values that a description leaves out, that a setting or an option gives.
UNSAID = "not said; the default of such descriptions"
SET = "--set"
CHOSEN = "chosen for this run"


@dataclass(frozen=True)
class Parameter(Generic[T_co]):
    """One value of a description, in base units and as it is written, with its origin.

    Parameters:
        path: dotted name, such as "adapter.bus.lanes".
        unit: the base unit of `value`, or nothing for a plain number or a word.
        interval: lowest and highest plausible value of a fitted parameter, in base units.
        claims: what determined a fitted parameter, or the statements that one was chosen from.
        inherited_from: id of the description whose file says it, if it is not the own one.
        meaning: what it is.
    """

    path: str
    value: T_co
    text: str
    unit: str
    evidence: Evidence
    source: str
    interval: tuple[int, int] | None = None
    claims: tuple[str, ...] = ()
    inherited_from: str = ""
    meaning: str = ""

    @property
    def shown(self) -> str:
        """The value in the unit of all of its kind, and the interval if it has one."""
        unit = UNITS.get(self.unit)
        text = unit.shown(int(self.value)) if unit else self.text
        return f"{text} ({' to '.join(self.ends)})" if self.ends else text

    @property
    def ends(self) -> tuple[str, str] | None:
        """The interval in words."""
        if self.interval is None:
            return None
        low, high = map(UNITS[self.unit].shown if self.unit else str, self.interval)
        return low, high

    @property
    def origin(self) -> str:
        """The source, and whose file names it."""
        base = self.inherited_from
        return f"from {base}: {self.source}" if base else self.source

    def at(self, path: str) -> Self:
        """Return it with another path; `dataclasses.replace` takes five times as long."""
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__, path=path)
        return moved

    def changed(self, value: T, text: str, source: str) -> Parameter[T]:
        """Return it with another value, which is assumed."""
        meaning = self.meaning
        return Parameter(self.path, value, text, self.unit, "assumed", source, meaning=meaning)
