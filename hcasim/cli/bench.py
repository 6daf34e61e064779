"""`hcasim bench`: one benchmark on one machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import blamed, calibrated, read_known
from hcasim.cli.command import (
    calibration_option,
    jobs_option,
    no_cache_option,
    profile_option,
    timing_option,
)
from hcasim.cli.experiment import (
    INVALIDATE,
    ExperimentCommand,
    counterparts,
    experiment_options,
    read_experiment,
    switch_faults,
)
from hcasim.cli.naming import Workload
from hcasim.cli.output import note, progress_bar
from hcasim.cli.outputs import output_faults
from hcasim.cli.printing import print_text
from hcasim.cli.results import FORMS, TEXT, Wanted, result_options
from hcasim.cli.tracing import Tracing, trace_options
from hcasim.cli.uncertain import read_samples, tell_bands, uncertainty_option
from hcasim.ground.errors import one_of, refuse

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark
    from hcasim.runs.experiment import Experiment
    from hcasim.runs.point import Point

_TOOLS = ("perftest", "osu", "imb", "netpipe")
_FORMS = (*FORMS, *_TOOLS)
_UNBANDED = {".jsonl": "a trace", ".out": "NetPIPE's np.out"}


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("bench", cls=ExperimentCommand)
@click.argument("workload", type=Workload())
@experiment_options()
@calibration_option
@uncertainty_option
@trace_options
@result_options(forms=_FORMS, more=", .out as NetPIPE's np.out; .jsonl is a trace")
@no_cache_option
@profile_option
@timing_option
@jobs_option
def command(
    profile: bool,
    timing: bool,
    no_cache: bool,
    jobs: int | None,
    calibration: Path | None,
    uncertainty: str | None,
    **given: Any,
) -> None:
    """Run a benchmark, such as write_lat, and print what it measures.

    netpipe runs NetPIPE's sizes unless some are given; of OSU's and Intel's benchmarks
    `hcasim bench osu_latency --help` and the like say which --size is the whole table. The
    defaults of a workload are what `hcasim show WORKLOAD` prints. Programs of perftest may be named
    as they are, ib_write_lat, and -s, -n, -q and -t are perftest's; -I is NetPIPE's, and perftest's
    -l has no counterpart.

    Of size, qps and reuse several may be given; each is measured with each. Sizes take K, M and G
    as powers of 1024; bandwidths are in 10^6 bytes per second. A run stops when it repeats itself;
    counters count what was run, which is all of it with --exact.
    """
    from hcasim.runs.benchmark import run_benchmark
    from hcasim.runs.point import long_wait
    from hcasim.runs.store import usual_store
    from hcasim.workloads import find_workload

    tracing, wanted = Tracing.take(given), Wanted.take(given, _FORMS)
    known, faults = read_known(calibration, given)
    faults += wanted.faults()
    faults += switch_faults(given)
    base, samples = calibrated(known, uncertainty, given, faults)
    prepared, more = _prepare(given, base)
    faults += blamed(more, known, given)
    drawn: list[list[Point]] = []
    for one in samples if not faults else ():
        points, more = _prepare(given, one)
        drawn.append(points)
        faults += blamed(more, known, given)
    count = read_samples(uncertainty, faults) if known is None else None
    if count and not faults:
        from hcasim.study.bands import draw

        found = draw([_asked(given, base, faults)], count)
        drawn = [points for (points,) in found.points]
        tell_bands(len(drawn), count, len(found.factors))
    workload = find_workload(given["workload"])
    if given["invalidate"] and workload and "invalidate" not in workload.options:
        faults.append(INVALIDATE)
    faults += _form_faults(wanted.form, given["workload"], given["explain"], profile)
    faults += _untold(wanted.form, prepared)
    faults += tracing.faults()
    if len(prepared) > 1:
        faults += _one_point_only(tracing.wanted, prepared)
    outputs = [*tracing.outputs(), *wanted.outputs(_endings(wanted, given["workload"]))]
    read = [("--calibration", calibration)] if calibration is not None else []
    faults += output_faults(outputs, read)
    if wanted.output is not None and wanted.output.name.isdigit():
        faults += counterparts(["-o"])
    if tracing.wanted and uncertainty is not None:
        first = tracing.wanted[0]
        faults.append(f"--uncertainty: found with {first}, which records one run; leave one out")
    refuse(*faults)
    for text in _lost_bands(wanted) if drawn else ():
        note(text)
    wait = long_wait([*prepared, *(point for one in drawn for point in one)], jobs)
    if wait:
        note(wait)
    if tracing.wanted:
        point = prepared[0]
        with tracing.listening(f"{point.workload} on {point.machine.id}") as listen:
            result = run_benchmark(prepared, listen=listen, profile=profile)
    else:
        with progress_bar("Simulating") as progress:
            store = None if no_cache else usual_store()
            result = run_benchmark(
                prepared, jobs=jobs, progress=progress, profile=profile, store=store
            )
    if drawn:
        from hcasim.study.bands import with_bands

        with progress_bar("Sampling") as progress:
            result = with_bands(result, drawn, jobs=jobs, progress=progress)
    result = result if timing else replace(result, wall_seconds=None)
    special = {one: partial(_foreign, result, one) for one in (*_TOOLS, *_UNBANDED)}
    wanted.deliver(result, lambda: print_text(result), special=special)


def _foreign(result: Benchmark, form: str) -> str:
    """Return what a tool would print, or a file of another form."""
    from hcasim.runs.foreign import np_out, printed, to_trace
    from hcasim.traces import render

    if form == ".jsonl":
        return render(to_trace(result))
    return np_out(result) if form == ".out" else printed(result, form)


def _form_faults(form: str, workload: str, explain: bool, profile: bool) -> Iterator[str]:
    """Say why a result cannot be printed in a form, before anything is simulated."""
    from hcasim.workloads import find_workload

    for option, asked in (("--explain", explain), ("--profile", profile)):
        if asked and form in _FORMS and form not in (TEXT, "json"):
            yield f"{option}: found with format {form}; allowed: text or json"
    known = find_workload(workload)
    if known is None or form not in _TOOLS:
        return
    from hcasim.runs.foreign import has_test

    if not has_test(form, known):
        what = f"test like {workload}" if known.rdma else "test of the bus alone"
        fitting = one_of([*FORMS, *(one for one in _TOOLS if has_test(one, known))])
        yield f"format: {form} has no {what}; allowed: {fitting}"


def _untold(form: str, points: Iterable[Point]) -> Iterator[str]:
    """Say which options perftest's output does not: it would be that of another experiment."""
    from hcasim.traces.perftest.text import TOLD
    from hcasim.workloads import WORKLOADS

    if form != "perftest":
        return
    found = (WORKLOADS[one.workload].changed(one.options) for one in points)
    for name in sorted({name for one in found for name in one} - TOLD):
        option = name.replace("_", "-")
        yield (
            f"--{option}: found with format perftest, which does not say it; "
            "allowed: text, json or csv"
        )


def _endings(wanted: Wanted, workload: str) -> list[str]:
    """The endings of files that can hold what a workload measures, if one is to be written."""
    if wanted.output is None:
        return []
    from hcasim.runs.foreign import has_trace
    from hcasim.runs.table import ENDINGS
    from hcasim.workloads import find_workload

    known = find_workload(workload)
    found = [one for one in ENDINGS if one != ".jsonl" or has_trace(workload)]
    return [*found, *([".out"] if known is None or "throughput_Mbps" in known.fields else [])]


def _lost_bands(wanted: Wanted) -> Iterator[str]:
    """Say where the quantiles of --uncertainty will not be, before anything is simulated."""
    others = "; --json, CSV and tables have"
    ending = "" if wanted.output is None else wanted.output.suffix.lower()
    if ending in _UNBANDED:
        yield f"{wanted.output}: {_UNBANDED[ending]} has no bands{others}"
    if wanted.plot is not None:
        yield f"{wanted.plot}: a figure has no bands{others}"
    if wanted.form not in FORMS:
        yield f"--format {wanted.form}: has no bands{others}"


def _one_point_only(options: Iterable[str], prepared: list[Point]) -> list[str]:
    what = "size" if len({job.options.size for job in prepared}) == len(prepared) else "point"
    return [f"{option}: records one {what}, found {len(prepared)}" for option in options]


def _prepare(given: dict[str, Any], base: dict[str, str]) -> tuple[list[Point], list[str]]:
    """Turn the arguments into points, or find every fault."""
    from hcasim.catalog import CatalogError

    faults: list[str] = []
    try:
        return _asked(given, base, faults).benchmark(), faults
    except CatalogError as error:
        return [], faults + error.faults


def _asked(given: dict[str, Any], base: dict[str, str], faults: list[str]) -> Experiment:
    from hcasim.runs.experiment import Experiment

    settings = read_experiment(given, faults)
    return Experiment.of(given["workload"], given["testbed"], **settings).under(base)
