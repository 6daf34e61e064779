"""Judging a replay: each claim against the curves it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hcasim.study.claims import Claim, Context, Measure, Published
from hcasim.study.compare import TOLERANCES, Comparison, compare
from hcasim.study.curve import Curve
from hcasim.study.scenario import Scenario
from hcasim.study.sizes import axis_label

Status = Literal["pass", "fail", "deviation", "context"]

FIELDS = {"latency": "latency_us", "bandwidth": "bandwidth_MBps"}
BEST = {"latency": min, "bandwidth": max}
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
        kind: "value", "ratio", "percent", "ordering", "threshold" or "context".
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
    findings = [
        _find(claim, measure, _Reader(scenario, curves, claim)) for measure in claim.measure
    ]
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
        tolerance=None if worst.error is None else _tolerance(claim),
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


def _tolerance(claim: Claim) -> float:
    return TOLERANCES["ratio" if claim.kind in ("ratio", "percent") else claim.quantity]


@dataclass(frozen=True)
class _Reader:
    """Reads numbers off the curves for one claim."""

    scenario: Scenario
    curves: Mapping[str, Curve]
    claim: Claim

    def points(self, names: tuple[str, ...], below: int | None) -> dict[int, float]:
        """The best value over the named series, by size."""
        field, best = FIELDS[self.claim.quantity], BEST[self.claim.quantity]
        points: dict[int, float] = {}
        for name in names:
            for row in self.curves[self.scenario.qualified(name)].rows:
                size, value = row["size"], row[field]
                if below is None or size < below:
                    points[size] = best(points.get(size, value), value)
        return dict(sorted(points.items()))

    def select(self, names: tuple[str, ...], measure: Measure) -> float:
        """The one value that a measure selects."""
        points = self.points(names, measure.below)
        if measure.select == "smallest":
            return points[min(points)]
        if measure.select == "largest":
            return points[max(points)]
        return BEST[self.claim.quantity](points.values())


def _find(claim: Claim, measure: Measure, reader: _Reader) -> _Finding:
    if claim.kind == "ordering":
        return _find_order(claim, measure, reader)
    if claim.kind == "threshold":
        return _find_threshold(claim, measure, reader)
    return _find_number(claim, measure, reader)


def _find_number(claim: Claim, measure: Measure, reader: _Reader) -> _Finding:
    simulated = reader.select(measure.series, measure)
    published, text = _numbers(claim), ""
    if measure.against is None:
        comparison = compare(simulated, published, _tolerance(claim))
    else:
        ratio = simulated / reader.select(measure.against, measure)
        simulated = ratio
        if claim.change is not None:
            # A change of 24 % is a ratio of 1.24: that is what was measured twice and divided.
            sign = 1 if claim.change == "gain" else -1
            published = _as_ratio(published, sign)
            simulated = sign * 100 * (ratio - 1)
            text = f"compared as the ratio {ratio:.3f}"
        comparison = compare(ratio, published, _tolerance(claim))
    if len(claim.measure) > 1:
        text = f"{_name(measure)} {simulated:.4g} {claim.unit}" + (f", {text}" if text else "")
    return _Finding(simulated, comparison.passed, _severity(comparison), comparison.error, text)


def _severity(comparison: Comparison) -> float:
    error = comparison.error
    return float("inf") if error != error else abs(error)


def _find_order(claim: Claim, measure: Measure, reader: _Reader) -> _Finding:
    assert measure.against is not None
    if measure.select == "all":
        left = reader.points(measure.series, measure.below)
        right = reader.points(measure.against, measure.below)
        ratios = {
            size: left[size] / (measure.factor * right[size]) for size in left if size in right
        }
        if not ratios:
            raise ValueError(f"{claim.id}: the two series share no size")
    else:
        one = reader.select(measure.series, measure)
        ratios = {0: one / (measure.factor * reader.select(measure.against, measure))}
    size, tightest = min(ratios.items(), key=lambda item: _slack(claim, item[1]))
    slack = _slack(claim, tightest)
    passed = slack >= 0 if claim.relation == "~" else slack > 0
    where = f" at {axis_label(size)}" if size else ""
    text = f"{_name(measure)} {tightest:.3f}{where}"
    if len(ratios) > 1:
        text = f"{_name(measure)} {min(ratios.values()):.3f} to {max(ratios.values()):.3f}"
    error = tightest - 1 if claim.relation == "~" else None
    return _Finding(tightest, passed, -slack, error, text)


def _slack(claim: Claim, ratio: float) -> float:
    """How far a ratio of two sides is on the right side of their stated order."""
    if claim.relation == "<":
        return 1 - ratio
    if claim.relation == ">":
        return ratio - 1
    return _tolerance(claim) - abs(ratio - 1)


def _find_threshold(claim: Claim, measure: Measure, reader: _Reader) -> _Finding:
    limit = _numbers(claim)
    assert isinstance(limit, float)
    simulated = reader.select(measure.series, measure)
    passed = {"<=": simulated <= limit, ">=": simulated >= limit, "=": simulated == limit}
    excess = simulated - limit if claim.relation == "<=" else limit - simulated
    text = f"{_name(measure)} {simulated:.4g} {claim.unit}" if len(claim.measure) > 1 else ""
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
