"""Which part of a run a timeline is to show."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hcasim.ground.units import UnitError, format_time, parse_time


@dataclass(frozen=True)
class Choice:
    """A part of a run.

    Parameters:
        begin_ps: the first moment.
        end_ps: the last; None goes on to the end of the run.
        nodes: numbers of the nodes; None stands for all, with the switches.
    """

    begin_ps: int = 0
    end_ps: int | None = None
    nodes: Collection[int] | None = None

    def has_part(self, name: str) -> bool:
        """Whether it has a part of the machine, such as node3 or a switch."""
        return self.nodes is None or name in {f"node{number}" for number in self.nodes}


def read_choice(
    time: str | None,
    nodes: str | None,
    count: int | None,
    faults: list[str],
    names: tuple[str, str] = ("time", "nodes"),
) -> Choice:
    """Read which part of a run is wanted.

    Parameters:
        time: such as "10us..50us", where either end may be left out.
        nodes: such as "0,1".
        count: nodes of the machine; None if they are not known.
        faults: what is wrong is added.
        names: of the two, for messages.
    """
    begin_ps, end_ps = _span(time, faults, names[0]) if time is not None else (0, None)
    chosen = None if nodes is None else _numbers(nodes, count, faults, names[1])
    return Choice(begin_ps, end_ps, chosen)


def _span(time: str, faults: list[str], name: str) -> tuple[int, int | None]:
    allowed = "allowed: BEGIN..END, such as 10us..50us"
    first, dots, last = (part.strip() for part in time.partition(".."))
    if not dots or not (first or last):
        faults.append(f"{name}: found {time!r}; {allowed}")
        return 0, None
    ends: list[int | None] = []
    for text in (first, last):
        try:
            ends.append(parse_time(text) if text else None)
        except UnitError as error:
            faults.append(f"{name}: {error}")
            ends.append(None)
    begin_ps, end_ps = ends[0] or 0, ends[1]
    if end_ps is not None and end_ps <= begin_ps:
        span = f"{format_time(begin_ps)}..{format_time(end_ps)}"
        faults.append(f"{name}: found {span}, which ends before it begins; {allowed}")
    return begin_ps, end_ps


def _numbers(nodes: str, count: int | None, faults: list[str], name: str) -> set[int]:
    found = set()
    most = "" if count is None else f" to {count - 1}"
    for text in nodes.split(","):
        number = text.strip()
        fits = number.isascii() and number.isdigit() and len(number) < 10
        if fits and (count is None or int(number) < count):
            found.add(int(number))
        else:
            allowed = f"numbers of nodes from 0{most}, with commas between them"
            faults.append(f"{name}: found {text!r}; allowed: {allowed}")
    return found
