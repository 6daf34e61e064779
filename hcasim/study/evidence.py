"""What claims rest on: unpublished values are varied, and those that could overturn one are kept.

`make evidence` writes scenarios/evidence.json; of what has not changed since it keeps the old.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import sqrt
from typing import Any

from hcasim.catalog import CatalogError
from hcasim.catalog.loader import each_file_once
from hcasim.ground.writing import written_atomically
from hcasim.papers.evidence import FILE, Decisive, Rests, Studied, digest_of, read_evidence
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.scenario import Scenario
from hcasim.runs.executor import run_points
from hcasim.runs.store import usual_store
from hcasim.study.sensitivity.factor import Factor, find_factors
from hcasim.study.sensitivity.result import Effect
from hcasim.study.sensitivity.study import tornado
from hcasim.study.sensitivity.subject import Evaluator, ScenarioSubject

STEPS = 4
"""Halvings of the way to the end at which a claim turns."""


def study(scenario: Scenario, jobs: int | None = None) -> Studied:
    """Vary each unpublished value of the machines of a scenario over its range, and twice as far.

    Parameters:
        jobs: processes; all processors without it.
    """
    subject = ScenarioSubject(scenario)
    run = partial(run_points, workers=jobs, store=usual_store())
    factors = _possible(subject, find_factors(subject.machines).factors, run)
    varied = len(factors)
    factors = _moving(factors, Evaluator(subject, factors, run))
    base, effects = tornado(subject, factors, Evaluator(subject, factors, run))
    moving = {one.parameter for one in effects if one.swing}
    wider = {path: _doubled(one) for path, one in factors.items() if path in moving}
    wider = _possible(subject, wider, run)
    _, further = tornado(subject, wider, Evaluator(subject, wider, run))
    found = {}
    for output, reading in zip(subject.outputs, base, strict=True):
        own = [one for one in effects if one.output == output.name]
        turning = {one.parameter: int(one.turns) for one in own if one.turns is not None}
        alone = ScenarioSubject(scenario, only={output.name})
        evaluate = Evaluator(alone, factors, run)
        found[output.name] = Rests(
            holds=bool(reading.holds),
            value=reading.value,
            decisive={
                path: _decisive(factors[path], end, evaluate, bool(reading.holds))
                for path, end in turning.items()
            },
            doubled=tuple(
                one.parameter
                for one in further
                if one.output == output.name
                and one.turns is not None
                and one.parameter not in turning
            ),
            together=() if turning else _corner(own, factors, evaluate, bool(reading.holds)),
        )
    return Studied(digest=digest_of(scenario), varied=varied, claims=found)


def _possible(
    subject: ScenarioSubject, factors: Mapping[str, Factor], run: Any
) -> dict[str, Factor]:
    """Return the factors between ends that a machine can have."""
    evaluate = Evaluator(subject, factors, run)
    with each_file_once():
        kept = {p: one.within(partial(evaluate.fault, p))[0] for p, one in factors.items()}
    return {path: one for path, one in kept.items() if one.low < one.high}


def _moving(factors: Mapping[str, Factor], evaluate: Evaluator) -> dict[str, Factor]:
    """Return the factors one of whose ends changes something at all."""
    ends = [(path, end) for path, one in factors.items() for end in (one.low, one.high)]
    moves = evaluate.moving([{path: end} for path, end in ends])
    moved = {path for (path, _), moves in zip(ends, moves, strict=True) if moves}
    return {path: one for path, one in factors.items() if path in moved}


def _doubled(factor: Factor) -> Factor:
    """Return a factor whose ends are twice as far, as multiples of the value."""
    low = round(factor.low**2 / factor.base) if factor.base else factor.low
    high = round(factor.high**2 / factor.base) if factor.base else factor.high
    return factor.model_copy(update={"low": low, "high": high})


def _decisive(factor: Factor, end: int, evaluate: Evaluator, holds: bool) -> Decisive:
    """Return how far a factor may move towards an end at which a claim turns."""
    kept, turned = factor.base, end
    for _ in range(STEPS):
        middle = round(sqrt(max(kept, 1) * max(turned, 1)))
        if middle in (kept, turned) or not factor.continuous:
            break
        try:
            ((reading,),) = evaluate([{factor.path: middle}])
        except CatalogError:
            break
        kept, turned = (middle, turned) if reading.holds == holds else (kept, middle)
    return Decisive(
        name=factor.name,
        evidence=factor.evidence,
        value=factor.text(factor.base),
        turns=factor.text(turned),
        end=factor.text(end),
        informed=factor.informed,
    )


def _corner(
    effects: Sequence[Effect], factors: Mapping[str, Factor], evaluate: Evaluator, holds: bool
) -> tuple[str, ...]:
    """Return the two factors that move a claim most if both together could overturn it."""
    most = tuple(one.parameter for one in effects if one.swing)[:2]
    if len(most) < 2:
        return ()
    first, second = (factors[path] for path in most)
    corners = [
        {first.path: a, second.path: b}
        for a in (first.low, first.high)
        for b in (second.low, second.high)
    ]
    return most if any(one.holds != holds for (one,) in evaluate(corners)) else ()


def make(names: Iterable[str] = (), jobs: int | None = None) -> None:
    """Study the scenarios of papers, or single ones, that have changed since they were."""
    kept = dict(read_evidence())
    wanted = [one for name in names for one in ([name] if "/" in name else list_scenarios(name))]
    for name in wanted:
        scenario = load_scenario(name)
        if not scenario.claims:
            continue
        if name in kept and kept[name].digest == digest_of(scenario):
            continue
        kept[name] = study(scenario, jobs)
        text = json.dumps({one: kept[one].to_dict() for one in sorted(kept)}, indent=1)
        with written_atomically(FILE) as file:
            file.write(f"{text}\n".encode())
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    make(sys.argv[1:])
