"""What each claim says of the model, from where the values of its machines come: its role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from hcasim.catalog import nearest, resolve
from hcasim.ground.errors import refuse
from hcasim.ground.quantities import QUANTITIES
from hcasim.papers.claim import Claim, Measure, Points
from hcasim.papers.evidence import Basis, rests_of
from hcasim.papers.loader import load_context
from hcasim.papers.plan import Line, Plan
from hcasim.papers.scenario import Scenario

Role = Literal["fitted", "derived", "predicted"]
Node = object
"""A number that a claim is about, equal where it is measured alike, in whatever scenario."""

KNOWN: Node = "known"
"""Stands for all numbers that are known by themselves."""


@dataclass(frozen=True)
class Standing:
    """What a claim says of the model.

    Parameters:
        role: "fitted", if parameters were fitted to it or chosen from it, or to another claim about
            the same numbers; "derived", if it follows by arithmetic from such claims alone;
            "predicted" otherwise.
        first: the first claim about the same numbers, which may be itself.
        basis: what could overturn it, if that was computed.
        decisive: the parameters that could by themselves.
    """

    role: Role
    first: str
    basis: Basis = "not computed"
    decisive: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What could overturn it, or its role where that was not computed."""
        return self.role if self.basis == "not computed" else self.basis


def standings(plans: Iterable[Plan]) -> dict[str, Standing]:
    """Return the standing of each claim of all scenarios of the catalogue.

    Raises:
        CatalogError: a value was chosen from a statement that does not exist.
    """
    plans = list(plans)
    lines = {one.scenario.qualified(line.name): line for one in plans for line in one.lines}
    claims = {claim.id: (one.scenario, claim) for one in plans for claim in one.scenario.claims}
    pairs = {name: list(_pairs(*claims[name], lines)) for name in sorted(claims)}
    used = _used(plans, claims)
    # Sets of numbers of which each follows from any other, as trees.
    parents: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while node in parents:
            node = parents[node]
        return node

    for name in filter(lambda name: _says_numbers(claims[name][1]), used & {*pairs}):
        for left, right in pairs[name]:
            if root(left) != root(right):
                parents[root(left)] = root(right)

    def role(name: str) -> Role:
        if numbers[name] in fitted:
            return "fitted"
        known = all(root(left) == root(right) for left, right in pairs[name])
        return "derived" if known else "predicted"

    numbers = {name: frozenset(map(frozenset, own)) for name, own in pairs.items()}
    fitted = {numbers[name] for name in used & numbers.keys()}
    first: dict[object, str] = {}
    found = {n: Standing(role(n), first.setdefault(numbers[n], n)) for n in pairs}
    for scenario in (one.scenario for one in plans):
        for name, one in rests_of(scenario, lines).items():
            names = tuple(value.name for value in one.decisive.values())
            basis = one.basis(scenario.publication)
            # The interval of a fit is where the claim holds to which it was fitted.
            if found[name].role != "predicted" and basis != "not computed":
                basis = "informed"
            found[name] = replace(found[name], basis=basis, decisive=names)
    return found


def _used(plans: Iterable[Plan], claims: Iterable[str]) -> set[str]:
    """Return the claims that a value of a machine, or an option of a scenario, was fitted to or
    chosen from."""
    lines = [line for plan in plans for line in plan.lines]
    machines = {
        (one.scenario.testbed_of(one.name), one.series.adapter, one.jobs[0].machine.stack.id)
        for one in lines
    }
    # As described: what a scenario's authors set has no provenance but that.
    parameters = {
        one
        for testbed, adapter, stack in machines
        for one in resolve(testbed, adapter=adapter, stack=stack).parameters
    }
    papers = {one.scenario.paper for one in lines}
    known = {*claims, *(one.id for paper in papers for one in load_context(paper))}
    faults = sorted(
        f"{one.path}: claims: found no {name!r} in the scenarios{nearest(name, known)}"
        for one in parameters
        for name in one.informed
        if name not in known and (one.evidence == "chosen" or name not in one.claims)
    )
    options = {name for plan in plans for name in plan.scenario.chosen_from}
    faults += [
        f"chosen_from: found no {name!r} in the scenarios{nearest(name, known)}"
        for name in sorted(options - known)
    ]
    refuse(*faults)
    return options | {name for one in parameters for name in one.informed}


def _pairs(
    scenario: Scenario, claim: Claim, lines: Mapping[str, Line]
) -> Iterator[tuple[Node, Node]]:
    """Yield the numbers of a claim, each with that which it is stated beside."""
    for measure in claim.measure:
        for here, there in scenario.readings(measure, lines):
            left, right = (_node(claim, measure, *side) for side in (here, there))
            if measure.against and claim.kind != "difference":
                yield left, right
            else:
                yield left, KNOWN
                if measure.against:
                    yield right, KNOWN


def _node(claim: Claim, measure: Measure, lines: Iterable[Line], points: Points) -> Node:
    """Return what stands for the best result at some points of some series."""
    found = set()
    for line in lines:
        job = line.jobs[0]
        # The peak of a curve is the same at whichever points two figures show it.
        at: Any = {line.axis: points[0] if len(points) == 1 else 0}
        options = replace(job.options, iters=1, warmup=0, **at)
        over = line.series.over if claim.quantity == "overhead" else None
        what: Any = line.series.result
        if claim.quantity == "counter":
            what = line.series.counters, line.series.per
        found.add((job.workload, job.machine.digest, options, over, what))
    peak = (measure.below, measure.above) if len(points) > 1 else None
    # A bandwidth is the rate times the size: a line of perftest's output states both.
    quantity = "bandwidth" if claim.quantity == "rate" else claim.quantity
    return QUANTITIES[quantity].field, peak, frozenset(found)


def _says_numbers(claim: Claim) -> bool:
    """Whether more follows from a claim than itself: from orders, limits and extremes nothing."""
    if claim.kind == "ordering":
        return claim.relation == "~"
    extreme = claim.extreme and any(one.select == "all" for one in claim.measure)
    return claim.kind in ("value", "ratio", "percent") and not extreme
