"""Asking on which parameters a benchmark, or a published figure, rests."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, get_args

from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import CatalogError
from hcasim.catalog.loader import each_file_once
from hcasim.ground.errors import (
    Fault,
    count_fault,
    flag_fault,
    is_one,
    name_fault,
    nearest,
    one_of,
    refuse,
    settings_fault,
    table_fault,
    words_fault,
)
from hcasim.ground.text import items_of
from hcasim.papers.loader import load_scenario
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import unexplained
from hcasim.runs.store import usual_store
from hcasim.study.sensitivity.factor import Factor, find_factors
from hcasim.study.sensitivity.result import MATTERS, Effect, Method, Output, Sensitivity
from hcasim.study.sensitivity.subject import (
    Asked,
    BenchmarkSubject,
    Evaluator,
    Reading,
    ScenarioSubject,
    Subject,
)
from hcasim.workloads import find_workload, unknown_workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    spread: float | None = None,
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

    What was fitted is varied over its interval; what was chosen or assumed over its plausible
    range, powers of two to the next ones. What somebody has published stays.

    Parameters:
        subject: a workload, or a scenario, of whose claims it asks then.
        testbed: id or file; of a scenario another one than the authors had.
        method: "tornado" varies one parameter at a time; "sobol" those that matter in it all at
            once.
        ranges: by path, such as {"adapter.bus.lanes": "4..16"}, also of published values.
        spread: more than 1; values without an interval are divided and multiplied by it then, in
            place of their plausible ranges.
        only: patterns of the paths to vary, such as "host.*"; all without them.
        quantity: which of what a workload measures, such as "rate_Mps"; its first without it.
        samples: of Sobol before they are combined (64 without it); best a power of two.
        sampling_seed: of the draws.
        calibration: whose values and intervals a benchmark has, from `hcasim.calibration`.
        jobs, scheduler, progress, cache: as of `hcasim.bench`.
        options: of a workload those of `hcasim.bench`; of a scenario `adapter`, `overrides` and
            `size`, the values of its x axis.

    Raises:
        CatalogError: every fault of the request.
    """
    patterns: Any = [only] if isinstance(only, str) else only
    patterns = items_of(patterns)
    texts: Any = ranges if isinstance(ranges, Mapping) else {}
    width: Any = spread
    above = width is None or (isinstance(width, int | float) and 1 < width < float("inf"))
    fit = calibration is None or isinstance(calibration, Calibration)
    wrong = Fault("calibration", calibration, "a fit that hcasim.calibration has read")
    drawn_by = "found with the method tornado, which draws none; allowed: with sobol"
    refuse(
        unexplained("sensitivity", options),
        words_fault("only", only if patterns is None else patterns),
        table_fault("ranges", ranges, "{'adapter.bus.lanes': '4..16'}"),
        *(
            f"ranges: {path}: found {given!r}; allowed: text such as '4..16'"
            for path, given in texts.items()
            if not isinstance(given, str)
        ),
        "" if fit else wrong,
        name_fault("subject", subject, "a workload, or a scenario"),
        "" if testbed is None else name_fault("testbed", testbed),
        ""
        if is_one(method, METHODS)
        else Fault("method", method, one_of(METHODS), nearest(method, METHODS)),
        "" if above else Fault("spread", spread, "a number above 1"),
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
    factors = {}
    with each_file_once():
        for path, one in varied.factors.items():
            kept, faults = one.within(partial(evaluate.fault, path))
            if kept.low == kept.high:
                varied.fixed[path] = faults[0]
            else:
                factors[path] = kept
    if not factors:
        raise CatalogError(["only: nothing is left to vary; allowed: a range by path, or others"])
    samplings: list[list[Reading]] = [[] for _ in asked.outputs]
    indices: Mapping[tuple[str, str], dict[str, float]] = {}
    with on_scheduler(scheduler):
        base, effects = tornado(asked, factors, evaluate)
        entering = factors if patterns else _mattering(factors, asked, base, effects)
        if method == "sobol" and entering:
            draws, each = samples or USUAL, len(entering) + 2
            # More would take longer to draw than anybody waits to simulate them.
            few = f"1 to {MOST_MACHINES // each}, as each needs {each} machines"
            many = draws * each > MOST_MACHINES
            refuse(f"samples: found {draws}; allowed: {few}" if many else "")
            samplings, indices = _sampled(asked, entering, evaluate, draws, sampling_seed)
    return Sensitivity(
        title=asked.title,
        method=method,
        factors=factors,
        outputs=tuple(map(_output, asked.outputs, base, samplings)),
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


def _output(asked: Asked, base: Reading, samples: Sequence[Reading]) -> Output:
    """Return an output from its readings on the machine, and on samples of it."""
    told: dict[str, Any] = {}
    if samples:
        import numpy as np

        ends = np.quantile([one.value for one in samples], [0.05, 0.5, 0.95])
        held = [bool(one.holds) for one in samples]
        share = sum(held) / len(held) if base.holds is not None else None
        told = {"quantiles": tuple(ends.tolist()), "holding": share}
    return Output(**asked._asdict(), base=base.value, holds=base.holds, **told)


def _mattering(
    factors: Mapping[str, Factor],
    asked: Subject,
    base: Sequence[Reading],
    effects: Iterable[Effect],
) -> dict[str, Factor]:
    """Return the factors that move any output, those that move one most first."""
    pairs = zip(asked.outputs, base, strict=True)
    values = {output.name: abs(one.value) or 1.0 for output, one in pairs}
    moved: dict[str, float] = {}
    for one in effects:
        share = one.swing / values[one.output]
        if share >= MATTERS:
            moved[one.parameter] = max(share, moved.get(one.parameter, 0.0))
    order = sorted(moved, key=lambda path: -moved[path])[:MOST]
    return {path: factors[path] for path in order}


def tornado(
    subject: Subject, factors: Mapping[str, Factor], evaluate: Evaluator
) -> tuple[list[Reading], list[Effect]]:
    """Return the outputs as they are, and what each factor does to each, the largest first.

    Raises:
        CatalogError: a machine cannot have a value.
    """
    ends = [
        (path, end)
        for path, one in factors.items()
        for end in sorted({one.low, one.high} - {one.base})
    ]
    base, *moved = evaluate([{}, *({path: end} for path, end in ends)])
    at = dict(zip(ends, moved, strict=True))
    effects = []
    for number, output in enumerate(subject.outputs):
        own = []
        for path, one in factors.items():
            low, high = (at.get((path, end), base)[number] for end in (one.low, one.high))
            own.append(_effect(one, output, base[number], low, high))
        effects += sorted(own, key=lambda one: (-one.swing, one.parameter))
    return base, effects


def _effect(factor: Factor, output: Asked, base: Reading, low: Reading, high: Reading) -> Effect:
    """Return the effect of a factor from the readings at its value and at its ends."""
    values = (base.value, low.value, high.value)
    width, elasticity = factor.high - factor.low, None
    if base.value and factor.base and width:
        elasticity = (high.value - low.value) / base.value * factor.base / width
    ends = ((low, factor.low), (high, factor.high))
    return Effect(
        parameter=factor.path,
        output=output.name,
        low=low.value,
        high=high.value,
        swing=max(values) - min(values),
        elasticity=elasticity,
        turns=next((end for reading, end in ends if reading.holds != base.holds), None),
    )


_RESAMPLES = 100
"""Of the bootstrap that the intervals of indices come from."""
_CONFIDENCE = 1.959963984540054
"""Standard deviations on each side of an interval of 95 %."""


def _sampled(
    subject: Subject, factors: Mapping[str, Factor], evaluate: Evaluator, samples: int, seed: int
) -> tuple[list[list[Reading]], dict[tuple[str, str], dict[str, float]]]:
    """Return the readings of each output over all samples, and Sobol's indices by parameter and
    output.

    Raises:
        CatalogError: a machine cannot have all values of a sample.
    """
    import numpy as np

    values = [
        {path: one.at(share) for (path, one), share in zip(factors.items(), place, strict=True)}
        for place in _design([one.continuous for one in factors.values()], samples, seed)
    ]
    readings = [list(own) for own in zip(*evaluate(values), strict=True)]
    indices: dict[tuple[str, str], dict[str, float]] = {}
    for output, own in zip(subject.outputs, readings, strict=True):
        found = _sobol(np.array([one.value for one in own]), len(factors), seed)
        indices |= {(path, output.name): one for path, one in zip(factors, found, strict=True)}
    return readings, indices


def _design(continuous: Sequence[bool], samples: int, seed: int) -> NDArray[Any]:
    """Return two samples, between each pair of places those of the first with one coordinate of
    the second."""
    import numpy as np
    from scipy.stats.qmc import Sobol

    number = len(continuous)
    with warnings.catch_warnings():
        # Of a number of samples that is no power of two.
        warnings.simplefilter("ignore")
        both = Sobol(2 * number, seed=seed).random(samples)
    # The first digits of Sobol's sequences may be the same in two dimensions. A parameter of
    # two values would then have the same in both samples, and seem to do nothing.
    draw = np.random.default_rng(seed)
    stepped = [place for place, one in enumerate(continuous) if not one]
    for column in (*stepped, *(number + one for one in stepped)):
        both[:, column] = (draw.permutation(samples) + 0.5) / samples
    one, own = np.eye(number, dtype=bool), []
    for first, second in zip(*np.hsplit(both, 2), strict=True):
        own += [first, *np.where(one, second, first), second]
    return np.array(own)


def _sobol(numbers: NDArray[Any], parameters: int, seed: int) -> list[dict[str, float]]:
    """Return the indices of each parameter from the numbers of a design.

    Source: A. Saltelli et al., Computer Physics Communications 181, 2010, table 2 (b) and (f).
    """
    import numpy as np

    table = numbers.reshape(-1, parameters + 2)
    table = (table - table.mean()) / (table.std() or 1.0)

    def indices(rows: Any) -> NDArray[Any]:
        first, mixed, second = np.split(table[rows], [1, -1], axis=-1)
        variance = np.var(np.concatenate([first, second]), axis=0)
        alone = np.mean(second * (mixed - first), axis=0)
        total = np.mean((first - mixed) ** 2, axis=0) / 2
        return np.array([alone, total]) / np.where(variance > 0, variance, np.inf)

    count = len(table)
    again = np.random.default_rng(seed).integers(count, size=(count, _RESAMPLES))
    widths = _CONFIDENCE * indices(again).std(axis=1, ddof=1)
    return [
        {"first": one, "first_confidence": near, "total": all_, "total_confidence": far}
        for (one, all_), (near, far) in zip(
            indices(slice(None)).T.tolist(), widths.T.tolist(), strict=True
        )
    ]
