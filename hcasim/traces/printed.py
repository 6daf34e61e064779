"""Numbers as tools print them, and what a user knows that they do not print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from hcasim.ground.errors import nearest, one_of
from hcasim.ground.faults import shown
from hcasim.traces.header import Device
from hcasim.traces.schema import UNITS, Measured, Statistics
from hcasim.traces.source import CUT

_FIGURE = re.compile(r"[0-9]+(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,2}))?", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,15}", re.ASCII)
_SETTING = re.compile(r"# \[ ([a-z_]{1,40}): (\S{1,200}) \]")
_SIMULATED = re.compile(r"# (simulated: \S.{0,2000})")
_LONGEST = 40

UNIT_FACTORS: dict[str, tuple[str, Decimal]] = {
    "ns": ("latency", Decimal(1)),
    "us": ("latency", Decimal(1000)),
    "ms": ("latency", Decimal(1_000_000)),
    "s": ("latency", Decimal(1_000_000_000)),
    "MB/s": ("bandwidth", Decimal(1)),
    "MiB/s": ("bandwidth", Decimal(2**20).scaleb(-6)),
    "Mbit/s": ("bandwidth", Decimal("0.125")),
    "Gbit/s": ("bandwidth", Decimal(125)),
    "Mibit/s": ("bandwidth", Decimal(2**17).scaleb(-6)),
    "M/s": ("rate", Decimal(1)),
    "1/s": ("rate", Decimal("1e-6")),
}
"""The units that tools print, as a trace writes them, and what one of them is in the trace's."""


class Unreadable(Exception):
    """What cannot be read at a place; the message says what was found and what is allowed."""


@dataclass(frozen=True)
class Hints:
    """What a user knows and the tool did not print.

    Parameters:
        workload: of figures without a title.
        unit: of bandwidths that are printed without one.
        cpu_mhz: cycles in a microsecond, if times are cycles.
        device, transport: of the adapter.
        nodes, processes: on how many nodes an MPI benchmark ran, and how many processes on each.
        algorithm: of the collective.
        partial: take what there is of an output that was cut short.
    """

    workload: str = ""
    unit: str = ""
    cpu_mhz: Decimal | None = None
    device: str = ""
    transport: str = ""
    nodes: int | None = None
    processes: int | None = None
    algorithm: str = ""
    partial: bool = False

    @property
    def adapter(self) -> Device:
        """The adapter, as far as it is known."""
        return Device.model_validate({"name": self.device, "transport": self.transport})


@dataclass(frozen=True)
class Figure:
    """A number as it was printed: its digits say how exact it is."""

    text: str
    value: Decimal
    step: Decimal

    def between(self, factor: Decimal | int = 1) -> tuple[Decimal, Decimal]:
        """Return the least and the greatest number that is printed so, times a factor."""
        half = self.step * Decimal("0.500001")
        return max(self.value - half, Decimal(0)) * factor, (self.value + half) * factor

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return len(self.text.partition(".")[2])


def figure(text: str, what: str) -> Figure:
    """Read a number that is not negative.

    Parameters:
        text: what was printed.
        what: the column, for messages.

    Raises:
        Unreadable: no such number.
    """
    if re.fullmatch(r"-[0-9.]+(e[+-]?[0-9]+)?", text, re.ASCII):
        raise Unreadable(f"{what}: found {shown(text)}; it cannot be negative")
    match = _FIGURE.fullmatch(text)
    if not match or len(text) > _LONGEST:
        raise Unreadable(f"{what}: found {shown(text)}; allowed: a number")
    exponent = int(match[2] or 0) - len(match[1] or "")
    return Figure(text, Decimal(text), Decimal(1).scaleb(exponent))


def count(text: str, what: str, least: int = 0) -> int:
    """Read a whole number.

    Raises:
        Unreadable: no such number.
    """
    if not _COUNT.fullmatch(text) or int(text) < least:
        kind = "a whole number" if least == 0 else f"a whole number from {least}"
        raise Unreadable(f"{what}: found {shown(text)}; allowed: {kind}")
    return int(text)


def is_simulated(line: str) -> bool:
    """Whether a line is a comment in which `hcasim bench` says what was simulated."""
    return bool(_SETTING.fullmatch(line) or _SIMULATED.fullmatch(line))


def simulated_setting(line: str) -> dict[str, bool | int | str]:
    """Return the option that a comment of `hcasim bench` says, such as "# [ verb: read ]"."""
    match = _SETTING.fullmatch(line)
    if not match:
        return {}
    value = match[2]
    return {match[1]: True if value == "yes" else int(value) if _COUNT.fullmatch(value) else value}


def simulated_machine(line: str) -> str:
    """Return what a comment of `hcasim bench` says of the machine, or nothing."""
    match = _SIMULATED.fullmatch(line)
    return match[1].rstrip() if match else ""


def is_row(line: str) -> bool:
    """Whether a line holds three numbers or more and nothing else, as those of tables do."""
    words = line.split()
    return len(words) >= 3 and all(map(is_number, words))


def is_number(word: str) -> bool:
    """Whether a word is a number, be it negative."""
    try:
        figure(word.removeprefix("-"), "")
    except Unreadable:
        return False
    return True


def is_cut(above: Sequence[Figure] | None, last: Sequence[Figure]) -> bool:
    """Whether the end of a line without a newline may be missing.

    A tool prints as many decimals in each line of a table.

    Parameters:
        above: the figures of another line of the table, if there is one.
        last: those of the line.
    """
    whole = above is not None and _decimals(above) == _decimals(last)
    return not (whole and last[-1].decimals)


def same_decimals(rows: Sequence[tuple[int, Sequence[Figure]]]) -> tuple[int, str] | None:
    """Find a line whose last figure was cut.

    Parameters:
        rows: line and figures of each row of a table.
    """
    if len(rows) < 2:
        return None
    line, last = rows[-1]
    above = rows[-2][1]
    if len(last) == len(above) and _decimals(last) != _decimals(above):
        return line, f"found {shown(last[-1].text)} with fewer or more decimals than above: {CUT}"
    return None


def _decimals(row: Sequence[Figure]) -> list[int]:
    return [one.decimals for one in row]


def agree(one: tuple[Decimal, Decimal], other: tuple[Decimal, Decimal]) -> bool:
    """Whether two numbers, each known within its digits, can be the same."""
    slack = Decimal("1.000001")
    return one[0] <= other[1] * slack and other[0] <= one[1] * slack


def converted(number: Figure, unit: str) -> float:
    """Return a printed number in the unit of the trace."""
    return float(number.value * UNIT_FACTORS[unit][1])


@dataclass
class Quantity:
    """One quantity of one line while it is read.

    Parameters:
        unit: as printed, one of UNIT_FACTORS.
        main: the number that counts.
        kind: "latency", "time", "bandwidth" or "rate"; that of the unit without it.
        name: of the quantity if there are several.
        count: samples.
        parts: further statistics by their name, as printed.
        percentiles: as printed, by percent.
    """

    unit: str
    main: Figure
    mean: bool = True
    kind: str = ""
    name: str = ""
    count: int | None = None
    parts: dict[str, Figure] = field(default_factory=dict)
    percentiles: dict[str, Figure] = field(default_factory=dict)

    def measured(self) -> Measured:
        """Return it in the form of a trace."""
        kind = self.kind or UNIT_FACTORS[self.unit][0]
        own = {"mean" if self.mean else "median": self.main}
        numbers = {name: converted(one, self.unit) for name, one in (own | self.parts).items()}
        percentiles = {name: converted(one, self.unit) for name, one in self.percentiles.items()}
        statistics = Statistics(count=self.count, percentiles=percentiles, **numbers)
        return Measured.model_validate(
            {
                "quantity": kind,
                "unit": UNITS[kind],
                "name": self.name,
                "statistics": statistics,
                "printed": f"{self.main.text} {self.unit}",
            }
        )


def ordered(figures: Iterable[tuple[str, Figure | None]]) -> None:
    """Check that the numbers there are do not fall.

    Raises:
        Unreadable: they do: columns are swapped, or the line is damaged.
    """
    known = [(name, one) for name, one in figures if one is not None]
    for (low, least), (high, most) in pairwise(known):
        if least.between()[0] > most.between()[1]:
            raise Unreadable(
                f"found {low} {least.text} above {high} {most.text}: "
                "the line is damaged, or its columns are swapped"
            )


def check_title(hints: Hints, workload: str) -> None:
    """Refuse a workload that contradicts a title.

    Raises:
        Unreadable: the title says another.
    """
    if hints.workload not in ("", workload):
        raise Unreadable(f"found {workload}; --workload says {hints.workload}")


def known_word(option: str, found: str, allowed: Sequence[str]) -> list[str]:
    """Say that an option's word is unknown, or nothing."""
    if found in allowed:
        return []
    return [f"{option}: found {shown(found)}; allowed: {one_of(allowed)}{nearest(found, allowed)}"]
