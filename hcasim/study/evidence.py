"""What claims rest on: unpublished values are varied, and those that could overturn one are kept.

`make evidence` writes scenarios/evidence.json; of what has not changed since it keeps the old.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import sqrt
from typing import Final

from hcasim.catalog import CatalogError
from hcasim.catalog.folders import find_file, shipped
from hcasim.catalog.loader import each_file_once
from hcasim.catalog.section import UNSAID
from hcasim.ground.errors import Fault, refuse
from hcasim.ground.writing import written_atomically
from hcasim.papers.evidence import (
    FILE,
    Decisive,
    Rests,
    Studied,
    digest_of,
    lines_of,
    read_evidence,
    source_of,
)
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.scenario import Scenario
from hcasim.papers.verdict import moved
from hcasim.runs.executor import run_points
from hcasim.runs.point import Point
from hcasim.runs.store import usual_store
from hcasim.study.sensitivity.factor import Factor, find_factors
from hcasim.study.sensitivity.subject import Case, Evaluator, Reading, ScenarioSubject, Settings
from hcasim.workloads.registry import WORKLOADS
from hcasim.workloads.result import Result

STEPS = 4
"""Halvings of the way to the end at which a claim turns."""
ITERS: Final = 3
CLASS: Final = "W"
"""Of a shorter run: its iterations, and its class of NAS IS and FT."""
NEAR = 0.02
"""How far a shorter run may be from the whole one; else that point is run whole."""
AT_MOST = 4
"""A change of results at the ends and the middle of curves is taken to be this many times as much
elsewhere; what turns nothing even then is not studied further."""
TOGETHER = 8
"""Counts and words that are tried in one run, as most do nothing."""
End = tuple[str, int]
"""A parameter and another value of it."""
Results = Mapping[Point, Result]


class _Runner:
    """Simulates points, each once."""

    def __init__(self, jobs: int | None) -> None:
        self._run = partial(run_points, workers=jobs, store=usual_store())
        self._known: dict[Point, Result] = {}

    def __call__(self, points: Iterable[Point]) -> dict[Point, Result]:
        wanted = dict.fromkeys(points)
        for point, one in self._run(dict.fromkeys(wanted.keys() - self._known.keys())).items():
            self._known[point] = Result(one.row, one.counters)
        return {point: self._known[point] for point in wanted}


class _Shortened(ScenarioSubject):
    """The claims of a scenario, whose points change as shorter runs of them do.

    Attributes:
        scenario: as it was given.
        shortened: points that shorter runs stand for.
    """

    def __init__(
        self,
        scenario: Scenario,
        run: Callable[[Iterable[Point]], dict[Point, Result]],
        only: Iterable[str] | None = None,
    ) -> None:
        super().__init__(scenario, only=None if only is None else {*only})
        self.scenario = scenario
        whole = super().case(lambda _: {}).points
        found = run([*whole, *map(_shorter, whole)])
        self._ratios = [_ratios(point, found) for point in whole]
        self.shortened = sum(one is not None for one in self._ratios)

    def case(self, settings: Settings) -> Case:
        """Return what to simulate with settings, shorter where that stands for the whole."""
        whole = super().case(settings)
        pairs = [*zip(whole.points, self._ratios, strict=True)]
        points = [point if ratio is None else _shorter(point) for point, ratio in pairs]

        def read(found: Results) -> list[Reading]:
            return whole.read(
                {
                    point: found[own] if ratio is None else _scaled(found[own], ratio)
                    for (point, ratio), own in zip(pairs, points, strict=True)
                }
            )

        return Case(points, read, whole.probes)

    def turns(self, usual: Reading, other: Reading) -> bool:
        """Whether its one claim is overturned between two readings, or at the other."""
        (claim,) = self._claims
        low, high = claim.ends
        below, above = sorted((usual.value, other.value))
        # A number that is missed on both sides is met between them.
        return other.holds != usual.holds or (not usual.holds and below < low and above > high)

    def near(
        self,
        base: Sequence[Reading],
        at: Mapping[End, Sequence[Reading]],
        factors: Mapping[str, Factor],
    ) -> list[str]:
        """Return the parameters that turn no claim by themselves, but might with a range twice as
        wide."""
        found: dict[str, None] = {}
        for (path, end), own in at.items():
            factor = factors[path]
            wider = _doubled(factor)
            far = wider.low if end < factor.base else wider.high
            times = AT_MOST / 2 * abs(far - factor.base) / abs(end - factor.base)
            for claim, usual, one in zip(self._claims, base, own, strict=True):
                change = moved(claim, usual.value, one.value)
                if one.holds == usual.holds and change and times * change >= usual.room:
                    found[path] = None
        return [*found]


def _shorter(point: Point) -> Point:
    """Return a point with few iterations, of kernels with less work."""
    if point.workload in ("nas_is", "nas_ft"):
        return replace(point, options=replace(point.options, nas_class=CLASS))
    fewer = min(point.options.iters, ITERS), min(point.options.warmup, 1)
    return replace(point, options=replace(point.options, iters=fewer[0], warmup=fewer[1]))


def _ratios(point: Point, found: Results) -> dict[str, float] | None:
    """Return what a whole run measures over what a shorter one does, if that may stand for it."""
    shorter = _shorter(point)
    long, short = found[point].row, found[shorter].row
    names = [name for name in WORKLOADS[point.workload].fields if long.get(name)]
    if not all(short.get(name) for name in names):
        return None
    ratios = {name: long[name] / short[name] for name in names}
    like = point.options.nas_class == shorter.options.nas_class
    far = like and any(abs(one - 1) > NEAR for one in ratios.values())
    return None if far or shorter == point or not ratios else ratios


def _scaled(result: Result, ratios: Mapping[str, float]) -> Result:
    row = {
        name: value * ratios.get(name, 1.0)
        for name, value in result.row.items()
        if isinstance(value, int | float)
    }
    return replace(result, row=result.row | row)


def study(scenario: Scenario, jobs: int | None = None) -> Studied:
    """Vary each unpublished value of the machines of a scenario over its range, and twice as far.

    Parameters:
        jobs: processes; all processors without it.
    """
    run = _Runner(jobs)
    subject = _Shortened(scenario, run)
    possible = find_factors(subject.machines, words=True)
    factors = possible.factors
    evaluate = Evaluator(subject, factors, run)
    ends, refused = _possible(factors, evaluate)
    (base,) = evaluate([{}])
    changes = _moving(ends, factors, evaluate)
    found: dict[str, Rests] = {}
    # Those that tell how far they are from turning are spared what changes results by much less.
    for told in (True, False):
        own = {
            output.name: reading
            for output, reading in zip(subject.outputs, base, strict=True)
            if (reading.room > 0) == told
        }
        if own:
            least = min(one.room for one in own.values())
            moving = [one for one in ends if AT_MOST * changes.get(one[0], -1.0) >= least]
            found |= _study(_Shortened(scenario, run, own), moving, factors, run)
    return Studied(
        digest=digest_of(scenario, lines_of(scenario)),
        varied=len({path for path, _ in ends}),
        refused=refused | {path: why for path, why in possible.fixed.items() if why != UNSAID},
        shortened=subject.shortened,
        claims=found,
    )


def _study(
    subject: _Shortened,
    moving: Sequence[End],
    factors: Mapping[str, Factor],
    run: _Runner,
) -> dict[str, Rests]:
    """Return what the claims of a subject rest on, of values that move anything."""
    evaluate = Evaluator(subject, factors, run)
    base, *readings = evaluate([{}, *map(_value, moving)])
    at = dict(zip(moving, readings, strict=True))
    wider = {path: _doubled(factors[path]) for path in subject.near(base, at, factors)}
    evaluate_wider = Evaluator(subject, wider, run)
    further, _ = _possible(wider, evaluate_wider)
    at_further = dict(zip(further, evaluate_wider([*map(_value, further)]), strict=True))
    found = {}
    for number, (output, reading) in enumerate(zip(subject.outputs, base, strict=True)):
        alone = _Shortened(subject.scenario, run, {output.name})
        only = Evaluator(alone, factors, run)
        whole = ScenarioSubject(subject.scenario, only={output.name})
        surely, wider_surely = (Evaluator(whole, one, run) for one in (factors, wider))
        own_at = {end: own[number] for end, own in at.items()}
        turning = _turning(alone, reading, own_at, surely)
        own_further = {end: own[number] for end, own in at_further.items()}
        doubled = {path for path, _ in _turning(alone, reading, own_further, wider_surely)}
        decisive: dict[str, Decisive] = {}
        nearest: dict[str, float] = {}
        for path, end in turning:
            turn = _turn(factors[path], end, only, bool(reading.holds))
            far = abs(turn - factors[path].base)
            if far <= nearest.get(path, far):
                nearest[path] = far
                decisive[path] = _decisive(factors[path], turn, end)
        swings = {end: abs(own.value - reading.value) for end, own in own_at.items()}
        found[output.name] = Rests(
            holds=bool(reading.holds),
            value=reading.value,
            decisive=decisive,
            doubled=tuple(sorted(doubled - {*decisive})),
            together=() if decisive else _corner(swings, surely, bool(reading.holds)),
        )
    return found


def _turning(
    subject: _Shortened, usual: Reading, at: Mapping[End, Reading], sure: Evaluator
) -> list[End]:
    """Return the ends that turn the claim of a subject; whole runs have the last word."""
    found = [end for end, own in at.items() if subject.turns(usual, own)]
    readings = sure([*map(_value, found)])
    return [end for end, (own,) in zip(found, readings, strict=True) if subject.turns(usual, own)]


def _value(end: End) -> dict[str, int]:
    return {end[0]: end[1]}


def _possible(
    factors: Mapping[str, Factor], evaluate: Evaluator
) -> tuple[list[End], dict[str, str]]:
    """Return the ends that a machine can have, nearer ones where it cannot, and why it cannot."""
    ends: list[End] = []
    refused: dict[str, str] = {}
    with each_file_once():
        for one in factors.values():
            for end in one.others:
                while end != one.base and (fault := evaluate.fault(one.path, end)):
                    refused.setdefault(one.path, fault)
                    end = one.base if one.is_word else _middle(one.base, end)
                if end != one.base:
                    ends.append((one.path, end))
    return ends, refused


def _moving(
    ends: Sequence[End], factors: Mapping[str, Factor], evaluate: Evaluator
) -> dict[str, float]:
    """Return the parameters that change anything, with the largest relative change of a result.

    Sizes are tried at every point, all others at the first, the middle and the last of each curve.
    Of a time or a rate only the farther end is tried.
    """
    found: dict[str, float] = {}
    far = {path: end for path, end in ends if end == _farther(factors[path])}
    for everywhere in (True, False):
        own = [one for one in ends if factors[one[0]].is_size == everywhere]
        # A continuous value mostly acts, a count or a word mostly does not.
        stepped = [one for one in own if not factors[one[0]].continuous]
        rest = {path: end for path, end in own if factors[path].continuous}
        groups = [[(path, far.get(path, end))] for path, end in rest.items()] + _groups(stepped)
        while groups:
            changes = evaluate.moving([dict(group) for group in groups], everywhere)
            halves = []
            for group, change in zip(groups, changes, strict=True):
                if change and len(group) == 1:
                    ((path, _),) = group
                    found[path] = max(change, found.get(path, 0.0))
                elif change:
                    halves += [group[: len(group) // 2], group[len(group) // 2 :]]
            groups = halves
    return found


def _farther(factor: Factor) -> int:
    """Return the end that is farther from the value."""
    return max(factor.low, factor.high, key=lambda end: abs(end - factor.base))


def _groups(ends: Sequence[End]) -> list[list[End]]:
    """Return ends in groups, each with one end of a parameter."""
    groups: list[list[End]] = []
    for one in ends:
        free = (g for g in groups if len(g) < TOGETHER and one[0] not in dict(g))
        group = next(free, None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return groups


def _doubled(factor: Factor) -> Factor:
    """Return a factor whose ends are twice as far, as multiples of the value."""
    if factor.is_word or not factor.base:
        return factor.model_copy(update={"low": factor.base, "high": factor.base})
    low, high = (round(end**2 / factor.base) for end in (factor.low, factor.high))
    return factor.model_copy(update={"low": low, "high": high})


def _middle(base: int, end: int) -> int:
    """Return a value between two, the first if there is none."""
    middle = round(sqrt(max(base, 1) * max(end, 1)))
    return base if middle == end else middle


def _turn(factor: Factor, end: int, evaluate: Evaluator, holds: bool) -> int:
    """Return the value towards an end that is nearest of those found at which a claim turns."""
    kept, turned = factor.base, end
    for _ in range(STEPS if factor.continuous else 0):
        middle = _middle(kept, turned)
        if middle == kept or evaluate.fault(factor.path, middle):
            break
        ((reading,),) = evaluate([{factor.path: middle}])
        kept, turned = (middle, turned) if reading.holds == holds else (kept, middle)
    return turned


def _decisive(factor: Factor, turn: int, end: int) -> Decisive:
    return Decisive(
        name=factor.name,
        evidence=factor.evidence,
        value=factor.text(factor.base),
        turns=factor.text(turn),
        end=factor.text(end),
        informed=factor.informed,
        sources=tuple(sorted({*map(source_of, factor.informed)})),
    )


def _corner(swings: Mapping[End, float], evaluate: Evaluator, holds: bool) -> tuple[str, ...]:
    """Return the two parameters that move a claim most if both together could overturn it."""
    most: dict[str, list[int]] = {}
    for path, end in sorted(swings, key=lambda one: -swings[one]):
        if swings[path, end] and (path in most or len(most) < 2):
            most.setdefault(path, []).append(end)
    if len(most) < 2:
        return ()
    first, second = most
    for a in most[first]:
        for b in most[second]:
            try:
                ((reading,),) = evaluate([{first: a, second: b}])
            except CatalogError:
                continue
            if reading.holds != holds:
                return first, second
    return ()


def make(names: Iterable[str] = (), jobs: int | None = None) -> None:
    """Study the scenarios of papers, or single ones, that have changed since they were.

    Raises:
        CatalogError: what is no scenario, or none that comes with hcasim.
    """
    kept = dict(read_evidence())
    wanted = [one for name in names for one in ([name] if "/" in name else list_scenarios(name))]
    own = [one for one in wanted if shipped() not in find_file(one, "scenarios").parents]
    refuse(*(Fault("evidence", one, "scenarios that come with hcasim") for one in own))
    for name in wanted:
        scenario = load_scenario(name)
        if not scenario.claims:
            continue
        if name in kept and kept[name].digest == digest_of(scenario, lines_of(scenario)):
            continue
        kept[name] = study(scenario, jobs)
        text = json.dumps({one: kept[one].to_dict() for one in sorted(kept)}, indent=1)
        with written_atomically(FILE) as file:
            file.write(f"{text}\n".encode())
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    make(sys.argv[1:])
