"""Asking on which parameters a benchmark, or a published figure, rests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from os import PathLike, fspath
from typing import Any, get_args

from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import CatalogError
from hcasim.ground.errors import (
    count_fault,
    flag_fault,
    name_fault,
    nearest,
    one_of,
    refuse,
    settings_fault,
    table_fault,
    words_fault,
)
from hcasim.papers.loader import load_scenario
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import unexplained
from hcasim.runs.store import usual_store
from hcasim.study.sensitivity.effects import Effect, Evaluator, sampled, tornado, usable
from hcasim.study.sensitivity.factor import SPREAD, Factor, find_factors
from hcasim.study.sensitivity.result import MATTERS, Method, Output, Sensitivity
from hcasim.study.sensitivity.subject import BenchmarkSubject, Reading, ScenarioSubject, Subject
from hcasim.workloads import find_workload, unknown_workload

METHODS = get_args(Method)
USUAL = 64
"""Samples of Sobol before they are combined, unless the user says otherwise."""
MOST = 12
"""Parameters that are varied all at once, unless the user names them."""
MOST_MACHINES = 100_000
"""Machines of a study, each a value for every parameter that is varied."""
_OF_SCENARIOS = ("testbed", "adapter", "overrides", "size")


def sensitivity(
    subject: str | PathLike[str],
    testbed: str | PathLike[str] | None = None,
    *,
    method: Method = "tornado",
    ranges: Mapping[str, str] | None = None,
    spread: float = SPREAD,
    only: str | Iterable[str] = (),
    quantity: str | None = None,
    samples: int | None = None,
    sampling_seed: int = 1,
    calibration: Calibration | None = None,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **options: Any,
) -> Sensitivity:
    """Ask on which parameters a result rests, as in `sensitivity("liu2004/fig09", size="1M")`.

    What was fitted is varied over its interval; what was chosen or assumed is divided and
    multiplied by `spread`, powers of two to the next ones. What somebody has published stays.

    Parameters:
        subject: a workload, or a scenario, of whose claims it asks then.
        testbed: id or file; of a scenario another one than the authors had.
        method: "tornado" varies one parameter at a time; "sobol" those that matter in it all at
            once.
        ranges: by path, such as {"adapter.bus.lanes": "4..16"}, also of published values.
        spread: of values without an interval; more than 1.
        only: patterns of the paths to vary, such as "host.*"; all without them.
        quantity: which of what a workload measures, such as "rate_Mps"; its first without it.
        samples: of Sobol before they are combined (64 without it); best a power of two.
        sampling_seed: of the draws.
        calibration: whose values and intervals a benchmark has, from `hcasim.calibration`.
        jobs: processes to use; all processors without it.
        scheduler: address or file of a Dask scheduler whose workers simulate, in place of `jobs`.
        progress: is told how many points are done.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        options: of a workload those of `hcasim.bench`; of a scenario `adapter`, `overrides` and
            `size`, the values of its x axis.

    Raises:
        CatalogError: every fault of the request.
    """
    patterns: Any = [only] if isinstance(only, str) else only
    patterns = list(patterns) if isinstance(patterns, Iterable) else patterns
    width: Any = spread
    texts: Any = ranges if isinstance(ranges, Mapping) else {}
    above = isinstance(width, int | float) and 1 < width < float("inf")
    drawn_by = "found with the method tornado, which draws none; allowed: with sobol"
    fit = calibration is None or isinstance(calibration, Calibration)
    refuse(
        unexplained("sensitivity", options),
        words_fault("only", patterns),
        table_fault("ranges", ranges, "{'adapter.bus.lanes': '4..16'}"),
        *(
            f"ranges: {path}: found {given!r}; allowed: text such as '4..16'"
            for path, given in texts.items()
            if not isinstance(given, str)
        ),
        ""
        if fit
        else f"calibration: found {calibration!r}; allowed: a fit that hcasim.calibration has read",
        name_fault("subject", subject, "a workload, or a scenario"),
        "" if testbed is None else name_fault("testbed", testbed),
        ""
        if method in METHODS
        else f"method: found {method!r}; allowed: {one_of(METHODS)}{nearest(method, METHODS)}",
        "" if above else f"spread: found {spread!r}; allowed: a number above 1",
        settings_fault(options.get("overrides")),
        count_fault("samples", samples),
        "" if samples is None or method != "tornado" else f"samples: {drawn_by}",
        flag_fault("cache", cache),
    )
    asked = _subject(fspath(subject), testbed, quantity, calibration, options)
    varied = find_factors(
        asked.machines, ranges=ranges, only=patterns, spread=spread, calibration=calibration
    )
    store = usual_store() if cache else None
    run = partial(run_points, workers=jobs, progress=progress, store=store)
    evaluate = Evaluator(asked, varied.factors, run)
    factors = usable(varied, evaluate)
    if not factors:
        raise CatalogError(["only: nothing is left to vary; allowed: a range by path, or others"])
    samplings: list[list[Reading]] = [[] for _ in asked.outputs]
    indices: Mapping[tuple[str, str], dict[str, float]] = {}
    with on_scheduler(scheduler):
        base, effects = tornado(asked, factors, evaluate)
        outputs = tuple(map(Output.of, asked.outputs, base))
        entering = factors if patterns else _mattering(factors, outputs, effects)
        if method == "sobol" and entering:
            draws, each = samples or USUAL, len(entering) + 2
            # More would take longer to draw than anybody waits to simulate them.
            few = f"1 to {MOST_MACHINES // each}, as each needs {each} machines"
            many = draws * each > MOST_MACHINES
            refuse(f"samples: found {draws}; allowed: {few}" if many else "")
            samplings, indices = sampled(asked, entering, evaluate, draws, sampling_seed)
    return Sensitivity(
        title=asked.title,
        method=method,
        factors=factors,
        outputs=tuple(map(Output.of, asked.outputs, base, samplings)),
        effects=tuple(
            one.model_copy(update={"indices": found})
            if (found := indices.get((one.parameter, one.output)))
            else one
            for one in effects
        ),
        samples=len(samplings[0]),
        fixed=varied.fixed,
        simulated=evaluate.simulated,
    )


def _subject(
    name: str,
    testbed: str | PathLike[str] | None,
    quantity: str | None,
    calibration: Calibration | None,
    options: Mapping[str, Any],
) -> Subject:
    if "/" not in name and not name.endswith(".toml"):
        faults = [] if find_workload(name) else [f"{unknown_workload(name)}, or a scenario"]
        if testbed is None:
            faults.append("testbed: missing; allowed: an id, or the path of a file")
        if faults:
            raise CatalogError(faults)
        return BenchmarkSubject(name, quantity, {**options, "testbed": testbed})
    refuse(
        *(
            f"{one}: found with a scenario, which says it; allowed: {one_of(_OF_SCENARIOS)}"
            for one, value in options.items()
            if value is not None and one not in _OF_SCENARIOS
        ),
        ""
        if quantity is None
        else "quantity: found with a scenario, which has its own; leave it out",
        ""
        if calibration is None
        else "calibration: found with a scenario; allowed: with a workload",
    )
    scenario = load_scenario(name).moved(testbed, options.get("adapter"))
    return ScenarioSubject(scenario, options.get("size"), options.get("overrides"))


def _mattering(
    factors: Mapping[str, Factor], outputs: Iterable[Output], effects: Iterable[Effect]
) -> dict[str, Factor]:
    """Return the factors that move any output, those that move one most first."""
    base = {one.name: abs(one.base) or 1.0 for one in outputs}
    moved: dict[str, float] = {}
    for one in effects:
        share = one.swing / base[one.output]
        if share >= MATTERS:
            moved[one.parameter] = max(share, moved.get(one.parameter, 0.0))
    order = sorted(moved, key=lambda path: -moved[path])[:MOST]
    return {path: factors[path] for path in order}
