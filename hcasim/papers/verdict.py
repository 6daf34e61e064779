"""Judging a replay: each claim against the curves it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isclose, isfinite, isnan, nan
from operator import itemgetter
from typing import Any, Literal

from hcasim.ground.quantities import QUANTITIES, RESTS_ON, ends
from hcasim.papers.claim import Claim, Context, Measure, Points, Statement
from hcasim.papers.evidence import Basis
from hcasim.papers.roles import Role, Standing
from hcasim.papers.scenario import Scenario
from hcasim.runs.curve import Curve
from hcasim.workloads.options import AXES

Status = Literal["pass", "fail", "deviation", "context"]
Number = float | tuple[float, float]
"""A published number, or the lower and upper end of a published range."""

NUMBERS = ("value", "ratio", "percent", "difference")
"""The kinds of claims that state a number; the others state an order or a limit."""

STALE = "meets the claim although a deviation is documented"


class Verdict(Statement):
    """A published statement beside what was simulated.

    Parameters:
        scenario: where it is replayed, or the paper's context.
        quantity: what was measured.
        kind: as of the claim, or "context".
        simulated: the number that was published; for an ordering, the ratio of both sides where
            it is tightest; of several numbers, the worst.
        error: relative and signed; None where only an order or a limit is stated.
        tolerance: largest absolute error that passes, or None.
        low, high: ends of a simulated number at 90 %, if they are known; none of two numbers.
        bound_by, evidence: what binds there, and what is known of that.
        role: "fitted", "derived", "predicted" or "context".
        first: the first claim about the same numbers, which may be itself.
        basis, decisive: what could overturn it, and which parameters could by themselves.
        status: "pass", "fail", "deviation" (a documented miss) or "context".
        note: all numbers, the mechanism of a deviation, or the reason of a context.
    """

    scenario: str
    quantity: str = ""
    kind: str = "context"
    simulated: float | None = None
    error: float | None = None
    tolerance: float | None = None
    low: float | None = None
    high: float | None = None
    bound_by: str = ""
    evidence: str = ""
    role: Role | Literal["context"] = "context"
    first: str
    basis: Basis = "not computed"
    decisive: tuple[str, ...] = ()
    status: Status = "context"
    note: str

    @property
    def label(self) -> str:
        """What could overturn it, or its role where that was not computed."""
        return self.role if self.basis == "not computed" else self.basis

    @property
    def texts(self) -> tuple[str, str, str]:
        """What was published, what was simulated and the error, in words; "" for what is not."""
        low, high = self.ends
        sign = "" if self.relation == "=" else f"{self.relation} "
        published = f"{low:g} to {high:g}" if low < high else f"{sign}{low:g}"
        simulated = ""
        if self.simulated is not None:
            unit = {"ordering": "x", "cause": "%"}.get(self.kind, self.unit)
            digits = {"x": 3, "%": 1}.get(unit)
            if digits is None:
                digits = QUANTITIES[self.quantity].units.get(unit, (1, 0))[1]
            # What is not the limit does not read like it.
            if self.kind == "threshold" and not isclose(self.simulated, low):
                while round(self.simulated, digits) == low:
                    digits += 1
            simulated = f"{self.simulated:.{digits}f} {unit}"
        return (
            self.published if isinstance(self.published, str) else f"{published} {self.unit}",
            simulated,
            "" if self.error is None else f"{100 * self.error:+.1f} %",
        )


@dataclass(frozen=True)
class _Finding:
    """What one number, or pair of numbers, gave, in the unit of the claim.

    The severity orders findings of one claim, the worst last; the text is empty where the report
    says as much. The row is that of a single number.
    """

    simulated: float
    passed: bool
    severity: float
    error: float | None
    text: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[bool, float]:
        """A miss comes behind all that passed."""
        return not self.passed, self.severity


def relative_error(simulated: float, published: Number) -> float:
    """Return the relative error of a simulated number: the one comparison of both.

    Parameters:
        simulated: the simulated number.
        published: in the same unit; of a range the nearer end counts, and inside is no error.

    Raises:
        ValueError: a published number that is not positive, or a range that is upside down.
    """
    low, high = published if isinstance(published, tuple) else (published, published)
    if not 0 < low <= high:
        raise ValueError(f"cannot compare with {published!r}: a positive number is needed")
    nearest = min(max(simulated, low), high)
    return (simulated - nearest) / nearest


def judge(
    claim: Claim, scenario: Scenario, curves: Mapping[str, Curve], standing: Standing
) -> Verdict:
    """Compare a claim of a scenario with a replay.

    Parameters:
        curves: by scenario and series, such as "liu2004/fig06:pcie".

    Raises:
        ValueError: two series of which each point is wanted share none.
    """
    if claim.kind == "cause":
        findings = []
        for own in _effects(claim, scenario, curves):
            several = (_judge_cause(claim, *one) for one in own)
            findings.append(max(several, key=lambda one: one.rank))
    else:
        findings = [_find(claim, measure, scenario, curves) for measure in claim.measure]
    worst = max(findings, key=lambda one: one.rank)
    passed = all(one.passed for one in findings)
    notes = [one.text for one in findings if one.text]
    if claim.contradiction:
        notes.append(f"the paper says {claim.contradiction}")
    status: Status = "pass" if passed else "fail"
    if claim.deviation is not None:
        status = "pass" if passed else "deviation"
        notes += [STALE] if passed else [claim.deviation.reason, claim.deviation.mechanism]
    quantity = QUANTITIES[claim.quantity]
    known = ends(worst.row, quantity.field) or (None, None)
    low, high = (one if one is None else quantity.factor(claim.unit) * one for one in known)
    return Verdict(
        **claim.stated,
        scenario=scenario.id,
        low=low,
        high=high,
        **{name: worst.row[name] for name in RESTS_ON if name in worst.row},
        quantity=claim.quantity,
        kind=claim.kind,
        simulated=worst.simulated,
        error=worst.error,
        tolerance=None if worst.error is None else claim.allowed_error,
        role=standing.role,
        first=standing.first,
        basis=standing.basis,
        decisive=standing.decisive,
        status=status,
        note="; ".join(notes),
    )


def moved(claim: Claim, simulated: float, other: float) -> float:
    """Return about how much a measured value changes, relative to itself, if the number that a
    claim reads becomes another one; infinite where that cannot be told. Of a cause it is the change
    of the share that goes, which is no less as long as one side is below twice the other."""
    if claim.kind == "cause":
        # What is alike because of it is one number, and what differs without it another.
        return inf if claim.relation == "~" else abs(other - simulated) / 100
    if claim.kind == "percent" or claim.unit == "%":
        return abs(other - simulated) / (100 + abs(simulated))
    return abs(other / simulated - 1) if simulated else inf


def room(claim: Claim, simulated: float, scenario: Scenario, curves: Mapping[str, Curve]) -> float:
    """Return about how much a measured value has to change, relative to itself, to change the
    verdict on a claim; 0 where that cannot be told."""
    if not isfinite(simulated) or not simulated or claim.kind == "difference":
        return 0.0
    if claim.kind == "cause":
        several = (one for own in _effects(claim, scenario, curves) for one in own)
        return min(_room_of_cause(claim, effect, rest) for _, effect, rest in several)
    low, high = (1.0, 1.0) if claim.kind == "ordering" else claim.ends
    exact = claim.kind == "threshold" or (claim.kind == "ordering" and claim.relation != "~")
    off = 0.0 if exact else claim.allowed_error
    return min(moved(claim, simulated, one) for one in (low * (1 - off), high * (1 + off)))


def errors_of(verdicts: Iterable[Verdict]) -> list[float]:
    """Return the absolute relative error of each number, the worst of those that repeat it."""
    errors: dict[str, float] = {}
    for one in verdicts:
        if one.kind in NUMBERS and one.error is not None:
            errors[one.first] = max(abs(one.error), errors.get(one.first, 0.0))
    return list(errors.values())


def from_context(context: Context, paper: str) -> Verdict:
    """Report a statement that nothing replays, with its reason."""
    where = f"{paper}/context"
    return Verdict(**context.stated, scenario=where, first=context.id, note=context.reason)


def _find(
    claim: Claim, measure: Measure, scenario: Scenario, curves: Mapping[str, Curve]
) -> _Finding:
    """Judge the numbers of one measure; the worst counts, but of an extreme only itself."""
    found = []
    names = _name(measure)
    axis = AXES[curves[scenario.qualified(measure.series[0])].axis]
    for here, there in scenario.readings(measure, curves):
        row = {} if measure.against else _best(claim, *here)
        sides = (_value(claim, _best(claim, *side)) for side in (here, there))
        one = replace(_judge(claim, measure, *sides), row=row)
        where = f" at {axis.label(here[1][0])}" if measure.select == "all" else ""
        if measure.against_at is not None:
            where = f" at {axis.label(here[1][0])} / {axis.label(there[1][0])}"
        text = one.text
        if claim.kind == "ordering":
            text = f"{names} {one.simulated:.3f}{where}"
        elif len(claim.measure) > 1 or where:
            own = f"{names} {one.simulated:.4g} {claim.unit}{where}"
            text = f"{own}, {text}" if text else own
        found.append(replace(one, text=text))
    if not found:
        raise ValueError(f"{claim.id}: the two series share no {axis.name}")
    worst = max(found, key=lambda one: one.rank)
    if claim.kind == "ordering" and len(found) > 1:
        low, high = (end(one.simulated for one in found) for end in (min, max))
        return replace(worst, text=f"{names} {low:.3f} to {high:.3f}")
    if claim.kind != "threshold" and claim.extreme and worst.severity < inf:
        worst = claim.extreme(found, key=lambda one: one.simulated)
    return worst


def _best(claim: Claim, curves: Iterable[Curve], points: Points) -> Mapping[str, Any]:
    """Return the row of the best result at some points; an empty one without curves."""
    quantity = QUANTITIES[claim.quantity]
    found = [row for one in curves for row in one.rows if row[one.axis] in points]
    row: Mapping[str, Any] = quantity.best(found, key=itemgetter(quantity.field), default={})
    return row


def _value(claim: Claim, row: Mapping[str, Any]) -> float:
    """Return what a claim is about in its unit; NaN of an empty row."""
    quantity = QUANTITIES[claim.quantity]
    return float(quantity.factor(claim.unit) * row.get(quantity.field, nan))


def _judge(claim: Claim, measure: Measure, left: float, right: float) -> _Finding:
    """Judge one number, or pair of numbers."""
    if claim.kind == "ordering":
        return _judge_order(claim, left, measure.factor * right)
    if claim.kind == "threshold":
        return _judge_limit(claim, left if measure.against is None else 100 * abs(left / right - 1))
    simulated = left
    if claim.kind == "difference":
        simulated = left - right
    elif claim.kind == "ratio":
        simulated = left / right
    elif claim.kind == "percent":
        sign = 1 if claim.change == "gain" else -1
        simulated = sign * 100 * (left / right - 1)
    error = relative_error(simulated, claim.ends)
    severity = inf if isnan(error) else abs(error)
    return _Finding(simulated, abs(error) <= claim.allowed_error, severity, error)


def _judge_cause(claim: Claim, name: str, effect: float, rest: float) -> _Finding:
    """Judge how much of a difference goes with its cause, in percent of it; of what is alike
    because of it, whether it differs without it, and by how many percent."""
    error = None
    if claim.relation == "~":
        off, error = claim.allowed_error, effect
        gone, passed, severity = abs(rest), abs(effect) <= off < abs(rest), abs(effect) - abs(rest)
    else:
        gone = 1 - rest / effect if effect > 0 else nan
        passed, severity = gone >= claim.goes, claim.goes - gone
    text = f"{name}: {100 * effect:.1f} %, without the cause {100 * rest:.1f} %"
    return _Finding(100 * gone, passed, inf if isnan(gone) else severity, error, text)


def _room_of_cause(claim: Claim, effect: float, rest: float) -> float:
    if claim.relation == "~":
        off = claim.allowed_error
        return min(abs(abs(one) - off) / (1 + abs(one)) for one in (effect, rest))
    kept = 1 - claim.goes
    more = 1 + abs(rest) + kept * (1 + abs(effect))
    return min(abs(rest - kept * effect) / more, abs(effect) / (1 + abs(effect)))


def _effects(
    claim: Claim, scenario: Scenario, curves: Mapping[str, Curve]
) -> list[list[tuple[str, float, float]]]:
    """Return of each measure the names of what is compared, how far it is apart, as the claim has
    it, and how far without the cause."""
    found = []
    for measure, without in zip(claim.measure, claim.without, strict=True):
        effects, rests = (dict(_apart(claim, one, scenario, curves)) for one in (measure, without))
        if not effects or effects.keys() != rests.keys():
            raise ValueError(f"{claim.id}: with the cause and without it sizes differ, or none is")
        name = _name(measure)
        found.append([(f"{name}{at}", one, rests[at]) for at, one in effects.items()])
    return found


def _apart(
    claim: Claim, measure: Measure, scenario: Scenario, curves: Mapping[str, Curve]
) -> Iterator[tuple[str, float]]:
    """Yield where both sides are compared, and how far they are apart, as the claim has them."""
    axis = AXES[curves[scenario.qualified(measure.series[0])].axis]
    for here, there in scenario.readings(measure, curves):
        left, right = (_value(claim, _best(claim, *side)) for side in (here, there))
        ratio = left / (measure.factor * right)
        where = f" at {axis.label(here[1][0])}" if measure.select == "all" else ""
        yield where, 1 - ratio if claim.relation == "<" else ratio - 1


def _judge_order(claim: Claim, left: float, right: float) -> _Finding:
    # An overhead may be negative, or nothing.
    ratio, above = (left / right, (left - right) / abs(right)) if right else (nan, nan)
    if claim.relation == "~":
        room = claim.allowed_error - abs(above)
        return _Finding(ratio, room >= 0, inf if isnan(room) else -room, above)
    room = -above if claim.relation == "<" else above
    return _Finding(ratio, room > 0, inf if isnan(room) else -room, None)


def _judge_limit(claim: Claim, simulated: float) -> _Finding:
    excess = simulated - claim.ends[0]
    excess = {">=": -excess, "=": abs(excess)}.get(claim.relation, excess)
    passed = excess < 0 if claim.relation == "<" else excess <= 0
    return _Finding(simulated, passed, excess, None)


def _name(measure: Measure) -> str:
    own = " or ".join(measure.series)
    if measure.against is None:
        return own
    factor = f"{measure.factor:g} x " if measure.factor != 1 else ""
    return f"{own} / {factor}{' or '.join(measure.against)}"
