"""The parameters of a LogGP machine."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from hcasim.ground.errors import CatalogError

_MOST: Final = 1e12
"""Nanoseconds, or bytes, of a parameter."""


@dataclass(frozen=True)
class LogGP:
    """A machine described by the LogGOPS model; times are in nanoseconds, to the picosecond.

    The values that are taken when nothing else is said are those of LogGOPSim.

    Parameters:
        L: from the sender's network interface to the receiver's.
        o: of the processor, for each message sent and each one received.
        g: between the beginnings of two messages at a network interface.
        G: for each byte but the first, at the network interfaces.
        O: for each byte but the first, of the processor.
        S: bytes of the longest message whose sender does not wait for the receiver.

    Raises:
        CatalogError: a parameter that is no number from 0 on.

    Sources: Alexandrov et al., "LogGP", SPAA 1995; Hoefler et al., "LogGOPSim", LSAP 2010.
    """

    L: float = 2500
    o: float = 1500
    g: float = 1000
    G: float = 6
    O: float = 0  # noqa: E741
    S: int = 65535

    def __post_init__(self) -> None:
        faults = []
        for field in fields(self):
            value = getattr(self, field.name)
            kind = int if field.name == "S" else (int, float)
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= _MOST:
                unit = "bytes" if field.name == "S" else "ns"
                faults.append(f"{field.name}: found {value!r}; allowed: 0 to {_MOST:g} {unit}")
        if faults:
            raise CatalogError(faults)

    def __str__(self) -> str:
        return ", ".join(f"{field.name}={getattr(self, field.name):g}" for field in fields(self))


class Times:
    """The same in picoseconds."""

    __slots__ = ("byte", "byte_overhead", "eager", "gap", "latency", "overhead")

    def __init__(self, params: LogGP) -> None:
        self.latency, self.overhead, self.gap, self.byte, self.byte_overhead = (
            round(1000 * value) for value in (params.L, params.o, params.g, params.G, params.O)
        )
        self.eager = params.S
