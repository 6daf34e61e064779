"""What results leave out that a reader would expect in them, to be said beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from hcasim.catalog import Machine
from hcasim.catalog.link import EthernetLink

NO_CONGESTION_CONTROL = (
    "Ethernet links neither drop, pause nor mark here: PFC, ECN and DCQCN are not modelled. Where "
    "flows meet, times, their tail and fairness are those of an ideal lossless fabric."
)


class Noted(Protocol):
    """Something to simulate, or its result, with what is to be said beside it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What it leaves out."""


def notes_on(machine: Machine, nodes: int) -> tuple[str, ...]:
    """Return what to say beside a result.

    Parameters:
        machine: what was simulated.
        nodes: how many of its nodes took part; two have a link to themselves.
    """
    meet = nodes > 2 and isinstance(machine.link, EthernetLink)
    return (NO_CONGESTION_CONTROL,) if meet else ()


def all_notes(several: Iterable[Noted]) -> tuple[str, ...]:
    """Return what to say beside several results, each once."""
    return tuple(dict.fromkeys(text for one in several for text in one.notes))
