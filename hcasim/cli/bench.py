"""`hcasim bench`: one benchmark on one machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli import experiment
from hcasim.cli.calibrated import blamed, calibrated
from hcasim.cli.command import calibration_option, measured_options
from hcasim.cli.naming import Workload
from hcasim.cli.output import note, progress_bar
from hcasim.cli.printing import print_text
from hcasim.cli.results import FORMS, Wanted, result_options
from hcasim.cli.tracing import Tracing, trace_options
from hcasim.ground.errors import CatalogError, one_of, refuse

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark
    from hcasim.runs.experiment import Experiment
    from hcasim.runs.point import Point

_TOOLS = ("perftest", "osu", "imb", "netpipe")
_FORMS = (*FORMS, *_TOOLS)
_UNBANDED = {".jsonl": "a trace", ".out": "NetPIPE's np.out"}


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("bench", cls=experiment.ExperimentCommand)
@click.argument("workload", type=Workload())
@experiment.experiment_options()
@calibration_option
@experiment.uncertainty_option
@trace_options
@result_options(forms=_FORMS, more=", .out as NetPIPE's np.out; .jsonl is a trace")
@measured_options
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

    netpipe runs NetPIPE's sizes unless some are given. `hcasim show WORKLOAD` prints the defaults
    of a workload, and which --size is the whole table of OSU's and Intel's benchmarks. Programs of
    perftest may be named as they are, ib_write_lat, and -s, -n, -q and -t are perftest's; -I is
    NetPIPE's. A workload of your own is FILE.py:NAME.

    Of size, qps and reuse several may be given; each is measured with each. Sizes take K, M and G
    as powers of 1024; bandwidths are in 10^6 bytes per second. A run stops when it repeats itself;
    counters count what was run, which is all of it with --exact.
    """
    from hcasim.runs.benchmark import run_benchmark
    from hcasim.runs.point import long_wait
    from hcasim.runs.store import usual_store

    tracing, wanted = Tracing(given), Wanted(given, _FORMS)
    faults = experiment.switch_faults(given)
    count = experiment.read_samples(uncertainty, faults)
    known, base, samples = calibrated(calibration, count, given, faults)

    def prepare(settings: dict[str, str]) -> list[Point]:
        found: list[str] = []
        try:
            return _asked(given, settings, found).benchmark()
        except CatalogError as error:
            found += error.faults
        finally:
            faults.extend(blamed(found, known, given))
        return []

    prepared = prepare(base)
    drawn = [] if faults else [*map(prepare, samples)]
    if count and calibration is None and not faults:
        from hcasim.study.bands import draw

        found = draw([_asked(given, base, faults)], count)
        drawn = [points for (points,) in found.points]
        experiment.tell_bands(len(drawn), count, len(found.factors))
    faults += [*_form_faults(wanted.form, given, prepared), *tracing.faults]
    for option in tracing.wanted if len(prepared) > 1 else ():
        sizes = {one.options.size for one in prepared}
        what = "size" if len(sizes) == len(prepared) else "point"
        faults.append(f"{option}: records one {what}, found {len(prepared)}")
    if tracing.wanted and uncertainty is not None:
        first = tracing.wanted[0]
        faults.append(f"--uncertainty: found with {first}, which records one run; leave one out")
    if wanted.output is not None and wanted.output.name.isdigit():
        faults += experiment.counterparts(["-o"])
    endings = _endings(given["workload"]) if wanted.output is not None else []
    extra = {"--explain": given["explain"], "--profile": profile}
    refuse(*faults, *wanted.faults(*tracing.outputs, endings=endings, extra=extra))
    for text in _lost_bands(wanted) if drawn else ():
        note(text)
    if wait := long_wait([*prepared, *(point for one in drawn for point in one)], jobs):
        note(wait)
    store = None if no_cache else usual_store()
    run = f"{prepared[0].workload} on {prepared[0].machine.id}"
    with progress_bar("Simulating") as progress, tracing.listening(run) as listen:
        result = run_benchmark(
            prepared, jobs=jobs, progress=progress, listen=listen, profile=profile, store=store
        )
    if drawn:
        from hcasim.study.bands import with_bands

        with progress_bar("Sampling") as progress:
            result = with_bands(result, drawn, jobs=jobs, progress=progress)
    result = result if timing else replace(result, wall_seconds=None)
    special = {one: partial(_foreign, result, one) for one in (*_TOOLS, *_UNBANDED)}
    wanted.deliver(result, lambda: print_text(result), special=special)


def _asked(given: dict[str, Any], base: dict[str, str], faults: list[str]) -> Experiment:
    from hcasim.runs.experiment import Experiment

    settings = experiment.read_experiment(given, faults)
    return Experiment.of(given["workload"], given["testbed"], **settings).under(base)


def _foreign(result: Benchmark, form: str) -> str:
    from hcasim.runs.foreign import np_out, printed, to_trace
    from hcasim.traces import render

    if form == ".jsonl":
        return render(to_trace(result))
    return np_out(result) if form == ".out" else printed(result, form)


def _form_faults(form: str, given: dict[str, Any], points: list[Point]) -> Iterator[str]:
    """Say why a result cannot be printed in the form of a tool, before anything is simulated."""
    from hcasim.runs.foreign import has_test
    from hcasim.traces.perftest.text import TOLD
    from hcasim.workloads import find_workload

    known = find_workload(given["workload"])
    if known is None:
        return
    if given["invalidate"] and "invalidate" not in known.options:
        yield experiment.INVALIDATE
    if form in _TOOLS and not has_test(form, known):
        what = f"test like {known.name}" if known.rdma else "test of the bus alone"
        fitting = one_of([*FORMS, *(one for one in _TOOLS if has_test(one, known))])
        yield f"format: {form} has no {what}; allowed: {fitting}"
    if form == "perftest":
        # What it does not say would be that of another experiment.
        untold = {name for one in points for name in known.changed(one.options)} - TOLD
        why = "found with format perftest, which does not say it; allowed: text, json or csv"
        yield from (f"--{name.replace('_', '-')}: {why}" for name in sorted(untold))


def _endings(workload: str) -> list[str]:
    """The endings of files that can hold what a workload measures."""
    from hcasim.runs.foreign import has_trace
    from hcasim.runs.table import ENDINGS
    from hcasim.workloads import find_workload

    known = find_workload(workload)
    found = [one for one in ENDINGS if one != ".jsonl" or has_trace(workload)]
    return [*found, *([".out"] if known is None or "throughput_Mbps" in known.fields else [])]


def _lost_bands(wanted: Wanted) -> Iterator[str]:
    """Say where the quantiles of --uncertainty will not be, before anything is simulated."""
    others = "has no bands; --json, CSV and tables have"
    ending = "" if wanted.output is None else wanted.output.suffix.lower()
    if ending in _UNBANDED:
        yield f"{wanted.output}: {_UNBANDED[ending]} {others}"
    if wanted.plot is not None:
        yield f"{wanted.plot}: a figure {others}"
    if wanted.form not in FORMS:
        yield f"--format {wanted.form}: {others}"
