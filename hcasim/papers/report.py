"""Reproducing a paper: every scenario replayed, every statement judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from statistics import median
from time import perf_counter
from typing import Any

from hcasim import __version__
from hcasim.papers.experiment import Scenario
from hcasim.papers.plan import Plan, plan_all
from hcasim.papers.replay import Replay, collect
from hcasim.papers.scenario import (
    list_papers,
    load_context,
    load_scenario,
    load_scenarios,
    references,
)
from hcasim.papers.verdict import Verdict, from_context, judge
from hcasim.runs.pool import Progress, run_jobs

STATUSES = ("pass", "fail", "deviation", "context")
COLUMNS = (
    "claim",
    "scenario",
    "system",
    "statement",
    "published",
    "simulated",
    "error",
    "role",
    "status",
)


@dataclass(frozen=True)
class Report:
    """What a reproduction found.

    Parameters:
        verdicts: one for each statement, by number.
        replays: the replayed scenarios, in the order asked for.
        wall_seconds: time that all of it took.
    """

    verdicts: tuple[Verdict, ...]
    replays: tuple[Replay, ...]
    wall_seconds: float

    @property
    def summary(self) -> dict[str, int]:
        """How many statements have each status."""
        return {name: sum(v.status == name for v in self.verdicts) for name in STATUSES}

    @property
    def ok(self) -> bool:
        """Whether no claim is missed without a documented reason."""
        return self.summary["fail"] == 0

    def median_error(self, role: str) -> float | None:
        """Median absolute relative error of the numbers with a role; None if there is none."""
        errors = [abs(v.error) for v in self.verdicts if v.role == role and v.error is not None]
        return median(errors) if errors else None

    @property
    def deviations(self) -> list[Verdict]:
        """The claims that are missed, documented or not."""
        return [v for v in self.verdicts if v.status in ("fail", "deviation")]

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return {
            "hcasim": __version__,
            "wall_seconds": round(self.wall_seconds, 3),
            "summary": self.summary,
            "claims": [verdict.to_dict() for verdict in self.verdicts],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the claims as texts in the order of COLUMNS, without statements of context."""
        return [_row(verdict) for verdict in self.verdicts if verdict.status != "context"]

    def closing_lines(self) -> list[str]:
        """Return the explanations of missed claims and a summary."""
        lines = [_explanation(verdict) for verdict in self.deviations]
        counts = self.summary
        lines.append(
            f"{counts['pass']} pass, {counts['fail']} fail, {counts['deviation']} deviation "
            f"(documented), {counts['context']} context (not replayed)"
        )
        for role in ("fitted", "predicted"):
            error = self.median_error(role)
            if error is not None:
                lines.append(f"median error of {role} numbers: {100 * error:.1f} %")
        return lines

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        closing = "<br>".join(escape(line) for line in self.closing_lines())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{closing}</p>"


def reproduce(
    identifiers: Iterable[str] = (),
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Replay papers or scenarios and compare them with their claims.

    Parameters:
        identifiers: papers such as "liu2004" or scenarios such as "liu2004/fig03"; all papers
            without them.
        jobs: processes to use; all processors without it.
        progress: is told how many points are done.

    Returns:
        Every claim of the scenarios; of whole papers also the statements of context.

    Raises:
        CatalogError: every fault of the request and of the files.
    """
    started = perf_counter()
    wanted = list(dict.fromkeys(identifiers)) or list_papers()
    scenarios = load_scenarios(wanted)
    plans = _plans(scenarios)
    points = run_jobs(
        (job for one in plans.values() for job in one.jobs), workers=jobs, progress=progress
    )
    elapsed = perf_counter() - started
    replays = {name: collect(one, points, elapsed) for name, one in plans.items()}
    curves = {
        f"{scenario}:{series}": curve
        for scenario, one in replays.items()
        for series, curve in one.curves.items()
    }
    verdicts = [judge(claim, one, curves) for one in scenarios for claim in one.claims]
    verdicts += [
        from_context(context, paper)
        for paper in list_papers()
        if paper in wanted
        for context in load_context(paper)
    ]
    verdicts.sort(key=lambda verdict: verdict.id)
    shown = tuple(replays[one.id] for one in scenarios)
    return Report(tuple(verdicts), shown, perf_counter() - started)


def _plans(scenarios: Iterable[Scenario]) -> Mapping[str, Plan]:
    """Plan the scenarios, and of others the series that their claims refer to."""
    scenarios = list(scenarios)
    whole = {scenario.id for scenario in scenarios}
    foreign: dict[str, dict[str, None]] = {}
    for scenario in scenarios:
        for claim in scenario.claims:
            for name, _ in references(claim):
                other, _, series = scenario.qualified(name).partition(":")
                if other not in whole:
                    foreign.setdefault(other, {})[series] = None
    others = [(load_scenario(name), list(series)) for name, series in foreign.items()]
    plans = plan_all([*((scenario, None) for scenario in scenarios), *others])
    return {one.scenario.id: one for one in plans}


def _row(verdict: Verdict) -> tuple[str, ...]:
    return (
        verdict.id,
        verdict.scenario,
        verdict.system,
        verdict.statement,
        _published(verdict),
        _simulated(verdict),
        "" if verdict.error is None else f"{100 * verdict.error:+.1f} %",
        verdict.role,
        verdict.status,
    )


def _explanation(verdict: Verdict) -> str:
    if verdict.status == "deviation":
        return f"{verdict.id}: {verdict.note}"
    details = f" ({verdict.note})" if verdict.note else ""
    return f"{verdict.id}: missed, and no deviation is documented{details}"


def _published(verdict: Verdict) -> str:
    if isinstance(verdict.published, str):
        return verdict.published
    if isinstance(verdict.published, tuple):
        low, high = verdict.published
        return f"{low:g} to {high:g} {verdict.unit}"
    sign = {"=": "", "~": "~ "}.get(verdict.relation, f"{verdict.relation} ")
    return f"{sign}{verdict.published:g} {verdict.unit}"


def _simulated(verdict: Verdict) -> str:
    if verdict.simulated is None:
        return ""
    value = verdict.simulated
    if verdict.kind == "ordering":
        return f"{value:.3f} x"
    digits = {"us": 2, "x": 3, "%": 1, "MiB": 2, "Gbit/s": 2}.get(verdict.unit, 0)
    return f"{value:.{digits}f} {verdict.unit}"
