"""Which algorithm a collective uses: rules by size and number of processes, in words.

Rules are tried in order and divided by semicolons; the last one has no condition::

    binomial if size < 12 KiB or processes < 8; scatter_ring_allgather

``size`` is the message of one process in bytes, ``total`` that of all together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import ge, gt, le, lt

from hcasim.ground.errors import Fault, FaultError, nearest, one_of
from hcasim.ground.units import UnitError, parse_size

NAMES: dict[str, tuple[str, ...]] = {
    "bcast": ("binomial", "scatter_ring_allgather", "scatter_recursive_doubling_allgather"),
    "allgather": ("ring", "recursive_doubling", "bruck"),
    "alltoall": ("linear", "pairwise_xor", "pairwise_shift", "bruck", "recursive_doubling"),
    "reduce": ("binomial", "rabenseifner"),
    "allreduce": ("recursive_doubling", "rabenseifner", "ring", "reduce_broadcast", "tree"),
    "reduce_scatter": ("pairwise", "recursive_halving"),
    "gather": ("binomial", "linear"),
    "scatter": ("binomial", "linear"),
    "barrier": ("dissemination", "tree"),
}
"""The algorithms of each collective."""


def algorithm_fault(collective: str, algorithm: str) -> Fault | None:
    """Say that a collective has no such algorithm, and which it has; nothing if it has it."""
    known = NAMES[collective]
    fault = Fault("", algorithm, one_of(known), nearest(algorithm, known))
    return None if algorithm in known else fault


def algorithm_faults(algorithms: Mapping[str, str]) -> list[str]:
    """Return a line for each collective that there is not, and for each algorithm that it lacks."""
    faults: list[str] = []
    for collective, algorithm in algorithms.items():
        if collective not in NAMES:
            hint = nearest(collective, NAMES)
            faults.append(Fault("algorithms", collective, one_of([*NAMES]), hint))
        elif fault := algorithm_fault(collective, algorithm):
            faults.append(fault.at(f"algorithms[{collective!r}]"))
    return faults


Condition = Callable[[int, int], bool]
"""Of the bytes of a message and the number of processes."""
_COMPARISONS: dict[str, Condition] = {"<=": le, "<": lt, ">=": ge, ">": gt}
_CONDITION = re.compile(r"(size|total|processes)\s*(<=|<|>=|>)\s*(\S.*)")


@cache
def parse_rules(collective: str, text: str) -> tuple[tuple[str, Condition], ...]:
    """Return algorithms, each with the condition under which it is used; or raise ValueError."""
    rules = []
    for part in text.split(";"):
        name, condition, rest = part.strip().partition(" if ")
        if fault := algorithm_fault(collective, name.strip()):
            raise FaultError(fault)
        rules.append((name.strip(), _any_of(rest) if condition else lambda *_: True))
    if condition:
        said = "the last rule has a condition"
        raise FaultError(part, "one for all that is left", said=said)
    return tuple(rules)


def _any_of(text: str) -> Condition:
    ways = [[_condition(one.strip()) for one in way.split(" and ")] for way in text.split(" or ")]
    return lambda size, processes: any(all(one(size, processes) for one in way) for way in ways)


def _condition(text: str) -> Condition:
    if text == "power_of_two":
        return lambda size, processes: not processes & (processes - 1)
    found = _CONDITION.fullmatch(text)
    if not found:
        allowed = "size, total or processes with <, <=, > or >= and a number, or power_of_two"
        raise FaultError(text, allowed)
    what, sign, written = found.groups()
    try:
        limit = int(written) if what == "processes" else parse_size(written)
    except (ValueError, UnitError):
        raise FaultError(written, "a number or a size such as 12K") from None
    compare = _COMPARISONS[sign]
    if what == "processes":
        return lambda size, processes: compare(processes, limit)
    return lambda size, processes: compare(size * processes if what == "total" else size, limit)


def choose(collective: str, text: str, size: int, processes: int) -> str:
    """The algorithm for messages of ``size`` bytes among so many processes."""
    rules = parse_rules(collective, text)
    return next(name for name, holds in rules if holds(size, processes))
