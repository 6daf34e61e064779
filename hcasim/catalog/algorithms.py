"""Which algorithm a collective uses: rules by size and number of processes, in words.

Rules are tried in order and divided by semicolons; the last one has no condition::

    binomial if size < 12 KiB or processes < 8; scatter_ring_allgather

``size`` is the message of one process in bytes, ``total`` that of all together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import ge, gt, le, lt

from hcasim.ground.errors import nearest, one_of
from hcasim.ground.units import UnitError, parse_size

NAMES: dict[str, tuple[str, ...]] = {
    "bcast": (
        "binomial",
        "scatter_ring_allgather",
        "scatter_recursive_doubling_allgather",
    ),
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


def algorithm_fault(collective: str, algorithm: str) -> str:
    """Say that a collective has no such algorithm, and which it has; nothing if it has it."""
    known = NAMES[collective]
    if algorithm in known:
        return ""
    return f"found {algorithm!r}; allowed: {one_of(known)}{nearest(algorithm, known)}"


def algorithm_faults(algorithms: Mapping[str, str]) -> list[str]:
    """Return a line for each collective that there is not, and for each algorithm that it lacks."""
    faults = []
    for collective, algorithm in algorithms.items():
        if collective not in NAMES:
            allowed = f"{one_of([*NAMES])}{nearest(collective, NAMES)}"
            faults.append(f"algorithms: found {collective!r}; allowed: {allowed}")
        elif fault := algorithm_fault(collective, algorithm):
            faults.append(f"algorithms[{collective!r}]: {fault}")
    return faults


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {"<=": le, "<": lt, ">=": ge, ">": gt}
_CONDITION = re.compile(r"(size|total|processes)\s*(<=|<|>=|>)\s*(\S.*)")


@dataclass(frozen=True)
class Rule:
    """An algorithm and when it is used.

    Parameters:
        algorithm: its name.
        when: alternatives, each of conditions that all have to hold; none: always.
    """

    algorithm: str
    when: tuple[tuple[Callable[[int, int], bool], ...], ...]

    def holds(self, size: int, processes: int) -> bool:
        """Whether it is for messages of ``size`` bytes among so many processes."""
        return not self.when or any(
            all(condition(size, processes) for condition in one) for one in self.when
        )


@cache
def parse_rules(collective: str, text: str) -> tuple[Rule, ...]:
    """Read rules.

    Raises:
        ValueError: what was found and what is allowed.
    """
    rules = [_rule(collective, part.strip()) for part in text.split(";")]
    if rules[-1].when:
        raise ValueError("the last rule has a condition; allowed: one for all that is left")
    return tuple(rules)


def _rule(collective: str, text: str) -> Rule:
    name, condition, rest = text.partition(" if ")
    name = name.strip()
    if fault := algorithm_fault(collective, name):
        raise ValueError(fault)
    if not condition:
        return Rule(name, ())
    ways = tuple(
        tuple(_condition(one.strip()) for one in way.split(" and ")) for way in rest.split(" or ")
    )
    return Rule(name, ways)


def _condition(text: str) -> Callable[[int, int], bool]:
    if text == "power_of_two":
        return lambda size, processes: not processes & (processes - 1)
    found = _CONDITION.fullmatch(text)
    if not found:
        allowed = "size, total or processes with <, <=, > or >= and a number, or power_of_two"
        raise ValueError(f"found {text!r}; allowed: {allowed}")
    what, sign, written = found.groups()
    try:
        limit = int(written) if what == "processes" else parse_size(written)
    except (ValueError, UnitError):
        raise ValueError(f"found {written!r}; allowed: a number or a size such as 12K") from None
    compare = _COMPARISONS[sign]
    if what == "processes":
        return lambda size, processes: compare(processes, limit)
    if what == "total":
        return lambda size, processes: compare(size * processes, limit)
    return lambda size, processes: compare(size, limit)


def choose(collective: str, text: str, size: int, processes: int) -> str:
    """The algorithm for messages of ``size`` bytes among so many processes."""
    rules = parse_rules(collective, text)
    return next(rule.algorithm for rule in rules if rule.holds(size, processes))
