"""Judging a replay: each claim against the curves it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan
from typing import Any, Literal

from hcasim.papers.claim import Claim, Context, Measure, Published
from hcasim.papers.compare import Comparison, compare
from hcasim.papers.experiment import Scenario
from hcasim.papers.reading import Reader, Reading
from hcasim.runs.curve import Curve

Status = Literal["pass", "fail", "deviation", "context"]

STALE = "meets the claim although a deviation is documented"


@dataclass(frozen=True)
class Verdict:
    """A published statement beside what was simulated.

    Parameters:
        id: number of the statement.
        scenario: where it is replayed, or the paper's context.
        section: where the paper makes it.
        system: the hardware it is about.
        statement: what is stated.
        quantity: what was measured.
        kind: as of the claim, or "context".
        published: the number, range or words.
        unit: of `published` and `simulated`.
        relation: how the paper relates the number or the series.
        simulated: the same number; for an ordering, the ratio of both sides where it is
            tightest; of several readings, the worst.
        error: relative and signed; None where only an order or a limit is stated.
        tolerance: largest absolute error that passes, or None.
        role: "fitted", "predicted" or "context".
        status: "pass", "fail", "deviation" (a documented miss) or "context".
        note: all readings, the mechanism of a deviation, or the reason of a context.
    """

    id: str
    scenario: str
    section: str
    system: str
    statement: str
    quantity: str
    kind: str
    published: Published
    unit: str
    relation: str
    simulated: float | None
    error: float | None
    tolerance: float | None
    role: str
    status: Status
    note: str

    @property
    def stale(self) -> bool:
        """Whether a deviation is documented that is none."""
        return self.status == "pass" and STALE in self.note

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        fields = dict(vars(self))
        if isinstance(self.published, tuple):
            fields["published"] = list(self.published)
        return fields


@dataclass(frozen=True)
class _Finding:
    """What one reading gave.

    Parameters:
        simulated: in the unit of the claim.
        passed: whether it meets the claim.
        severity: orders findings of one claim, the worst last.
        error: relative, where there is one.
        text: the reading in words.
    """

    simulated: float
    passed: bool
    severity: float
    error: float | None
    text: str


def judge(claim: Claim, scenario: Scenario, curves: Mapping[str, Curve]) -> Verdict:
    """Compare a claim with a replay.

    Parameters:
        claim: what was published.
        scenario: the scenario that the claim belongs to.
        curves: by series and scenario, such as "liu2004/fig06:pcie".
    """
    findings = [_find(claim, measure, Reader(scenario, curves, claim)) for measure in claim.measure]
    worst = max(findings, key=lambda one: (not one.passed, one.severity))
    passed = all(one.passed for one in findings)
    notes = [one.text for one in findings if one.text]
    if claim.contradiction:
        notes.append(f"the paper says {claim.contradiction}")
    status: Status = "pass" if passed else "fail"
    if claim.deviation is not None:
        status = "pass" if passed else "deviation"
        notes += [STALE] if passed else [claim.deviation.reason, claim.deviation.mechanism]
    return Verdict(
        id=claim.id,
        scenario=scenario.id,
        section=claim.section,
        system=claim.system,
        statement=claim.statement,
        quantity=claim.quantity,
        kind=claim.kind,
        published=claim.published,
        unit=claim.unit,
        relation=claim.relation,
        simulated=worst.simulated,
        error=worst.error,
        tolerance=None if worst.error is None else claim.allowed_error,
        role=claim.role,
        status=status,
        note="; ".join(notes),
    )


def from_context(context: Context, paper: str) -> Verdict:
    """Report a statement that nothing replays, with its reason."""
    return Verdict(
        id=context.id,
        scenario=f"{paper}/context",
        section=context.section,
        system=context.system,
        statement=context.statement,
        quantity="",
        kind="context",
        published=context.published,
        unit=context.unit,
        relation=context.relation,
        simulated=None,
        error=None,
        tolerance=None,
        role="context",
        status="context",
        note=context.reason,
    )


def _find(claim: Claim, measure: Measure, reader: Reader) -> _Finding:
    readings = reader.readings(measure)
    if claim.kind == "ordering":
        return _find_order(claim, measure, readings)
    if claim.kind == "threshold":
        found = [_find_threshold(claim, measure, one) for one in readings]
    else:
        found = [_find_number(claim, measure, one) for one in readings]
        # "Up to" and "at least" are about the extreme of all points.
        if claim.relation in ("<=", ">=") and all(one.severity < inf for one in found):
            extreme = max if claim.relation == "<=" else min
            found = [extreme(found, key=lambda one: one.simulated)]
    return max(found, key=lambda one: (not one.passed, one.severity))


def _find_number(claim: Claim, measure: Measure, reading: Reading) -> _Finding:
    published, text = _numbers(claim), ""
    compared = simulated = reading.left
    if claim.kind == "difference":
        compared = simulated = reading.left - reading.right
    elif measure.against is not None:
        compared = simulated = reading.ratio
        if claim.change is not None:
            # A change of 24 % is a ratio of 1.24: that is what was measured twice and divided.
            sign = 1 if claim.change == "gain" else -1
            published = _as_ratio(published, sign)
            simulated = sign * 100 * (reading.ratio - 1)
            text = f"compared as the ratio {reading.ratio:.3f}"
    comparison = compare(compared, published, claim.allowed_error)
    if len(claim.measure) > 1 or reading.where:
        own = f"{_name(measure)} {simulated:.4g} {claim.unit}{reading.where}"
        text = own + (f", {text}" if text else "")
    return _Finding(simulated, comparison.passed, _severity(comparison), comparison.error, text)


def _severity(comparison: Comparison) -> float:
    error = comparison.error
    return inf if isnan(error) else abs(error)


def _find_order(claim: Claim, measure: Measure, readings: list[Reading]) -> _Finding:
    ratios = [(one.left / (measure.factor * one.right), one.where) for one in readings]
    tightest, where = min(ratios, key=lambda one: _slack(claim, one[0]))
    slack = _slack(claim, tightest)
    passed = slack >= 0 if claim.relation == "~" else slack > 0
    text = f"{_name(measure)} {tightest:.3f}{where}"
    if len(ratios) > 1:
        low, high = min(ratio for ratio, _ in ratios), max(ratio for ratio, _ in ratios)
        text = f"{_name(measure)} {low:.3f} to {high:.3f}"
    error = tightest - 1 if claim.relation == "~" else None
    return _Finding(tightest, passed, -slack, error, text)


def _slack(claim: Claim, ratio: float) -> float:
    """How far a ratio of two sides is on the right side of their stated order."""
    if isnan(ratio):
        return -inf
    if claim.relation == "<":
        return 1 - ratio
    if claim.relation == ">":
        return ratio - 1
    return claim.allowed_error - abs(ratio - 1)


def _find_threshold(claim: Claim, measure: Measure, reading: Reading) -> _Finding:
    limit = _numbers(claim)
    assert isinstance(limit, float)
    simulated = reading.left
    if measure.against is not None:
        simulated = 100 * abs(reading.ratio - 1)
    passed = {
        "<": simulated < limit,
        "<=": simulated <= limit,
        ">=": simulated >= limit,
        "=": simulated == limit,
    }
    excess = limit - simulated if claim.relation == ">=" else simulated - limit
    if claim.relation == "=":
        excess = abs(excess)
    several = len(claim.measure) > 1 or reading.where
    text = f"{_name(measure)} {simulated:.4g} {claim.unit}{reading.where}" if several else ""
    return _Finding(simulated, passed[claim.relation], excess, None, text)


def _numbers(claim: Claim) -> float | tuple[float, float]:
    assert not isinstance(claim.published, str)
    return claim.published


def _as_ratio(percent: float | tuple[float, float], sign: int) -> float | tuple[float, float]:
    if isinstance(percent, tuple):
        low, high = sorted(1 + sign * one / 100 for one in percent)
        return low, high
    return 1 + sign * percent / 100


def _name(measure: Measure) -> str:
    own = " or ".join(measure.series)
    if measure.against is None:
        return own
    factor = f"{measure.factor:g} x " if measure.factor != 1 else ""
    return f"{own} / {factor}{' or '.join(measure.against)}"
