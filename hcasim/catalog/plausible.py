"""How far from its value what nobody has published may plausibly be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase, translate
from functools import cache
from typing import NamedTuple

from hcasim.catalog.section import CHOSEN, SET, UNPUBLISHED, Parameter, Value


class Plausible(NamedTuple):
    """The ends at 90 %, as multiples of the value.

    Parameters:
        paths: pattern of the paths that it is for, as of `Machine.parameters`.
        low, high: the ends.
        reason: why they are no nearer, and no farther.
    """

    paths: str
    low: float
    high: float
    reason: str


_TABLE = (
    Plausible(
        "*stack.cycles.*",
        0.7,
        3.0,
        "counted on the leanest path: locks, checks, counters and other compilers add to it",
    ),
    Plausible("*host.core.frequency", 0.6, 1.25, "a core that is not pinned stays at its base"),
    Plausible("*host.core.all_busy", 0.85, 1.1, "no less than the base, which is as much lower"),
    Plausible("*host.core.*", 0.7, 2.2, "rings, meshes and dies joined by links differ so"),
    Plausible("*stack.mpi.c*.*", 0.7, 1.8, "matching and progress differ between versions"),
    Plausible("*stack.*", 0.75, 1.6, "processors of one time differ in clock and memory"),
    Plausible(
        "*host.memory.read_latency",
        0.75,
        1.5,
        "hosts of pcie-bench differ by 1.3, the near and the far socket by as much",
    ),
    Plausible("*host.memory.write_latency", 0.5, 2.5, "into a cache, or to memory"),
    Plausible(
        "*host.root_port.completion", 0.5, 2.0, "chipsets send one or several lines of the cache"
    ),
    Plausible("*host.chipset.mmio_latency", 0.6, 1.7, "root ports and switches differ in depth"),
    Plausible("*host.computing.*", 0.75, 1.3, "compilers differ"),
    Plausible("*.bandwidth", 0.8, 1.15, "memory reaches 70 to 90 % of what modules say"),
    Plausible("*host.*", 0.7, 1.4, "chipsets of one time differ so"),
    Plausible("*adapter.doorbell.latency", 0.5, 1.6, "it is known in a sum with others only"),
    Plausible("*switch.latency", 0.7, 1.4, "models of one time differ so"),
    Plausible("link.*", 0.8, 1.2, "cables of one rack"),
    Plausible("*", 0.7, 1.45, "chips of one time differ so"),
)


_WHOLE = tuple(
    f".{name}"
    for name in (
        *("generation", "lanes", "width", "gigabits", "ports", "count", "cpus", "sockets"),
        "adapter_socket",
        *("max_payload", "max_read_request", "address_bits", "page"),
    )
)
"""Names of what a machine has or has not, which anybody can look up on it."""
_COMPLETION = ".root_port.completion"
LEAST_COMPLETION = 64
"""Bytes: completions end at multiples of that (PCI Express Base 1.0a, 2.3.1.1), or of 128."""


class Doubts:
    """The values among some parameters that nobody has published.

    Parameters:
        parameters: of a machine.
        range_of: says how far from a value what nobody has published may be.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter[Value]],
        range_of: Callable[[Parameter[Value]], Plausible | None] | None = None,
    ) -> None:
        find = range_of or plausible
        self._every = [(one, find(one)) for one in parameters]
        self._found: dict[str, list[tuple[Parameter[Value], Plausible | None]]] = {}

    def of(self, patterns: str) -> list[tuple[Parameter[Value], Plausible | None]]:
        """Return the parameters whose path, with or without the group of nodes before it, is like
        one of some patterns, between which are spaces; with their ranges, if nobody knows them."""
        if patterns not in self._found:
            every = "|".join(map(translate, patterns.split())) or "(?!)"
            like = re.compile(f"(?:[^.]+\\.)?(?:{every})")
            self._found[patterns] = [one for one in self._every if like.match(one[0].path)]
        return self._found[patterns]


@cache
def _usual(path: str) -> Plausible:
    return next(one for one in _TABLE if fnmatchcase(path, one.paths))


def plausible(parameter: Parameter[Value]) -> Plausible | None:
    """Return the range of a value that nobody has published; none of one that is known."""
    value = parameter.value
    if parameter.evidence not in UNPUBLISHED or parameter.source in (SET, CHOSEN):
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not value:
        return None
    if parameter.path.endswith(_WHOLE):
        return None
    if parameter.interval is not None:
        low, high = (end / value for end in parameter.interval)
        return Plausible(parameter.path, max(0.5, low), min(2.0, high), "the interval of the fit")
    usual = _usual(parameter.path)
    if parameter.path.endswith(_COMPLETION):
        return usual._replace(low=max(usual.low, LEAST_COMPLETION / value))
    return usual
