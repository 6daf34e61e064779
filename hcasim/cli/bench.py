"""`hcasim bench`: one benchmark on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import blamed, calibrated, read_known
from hcasim.cli.command import (
    Command,
    Faults,
    calibration_option,
    jobs_option,
    profile_option,
    read_settings,
    settings_option,
    timing_option,
)
from hcasim.cli.figures import plot_output, write_figure
from hcasim.cli.formats import FORMATS, format_faults, print_benchmark, untold
from hcasim.cli.machines import machine_options, switch_choice, switch_faults
from hcasim.cli.naming import Workload
from hcasim.cli.output import note, progress_bar
from hcasim.cli.outputs import output_faults
from hcasim.cli.saving import lost_bands, save, saving_output
from hcasim.cli.tracing import Tracing, trace_options
from hcasim.cli.uncertain import drawn_points, read_samples, uncertainty_option
from hcasim.ground.errors import one_of
from hcasim.workloads.option import Option
from hcasim.workloads.options import OPTIONS

if TYPE_CHECKING:
    from hcasim.runs.point import Point

Decorated = Callable[..., Any]


class _Bench(Command):
    """Benchmarks have most of perftest's letters; of its other options it says what they are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not {"-h", "--help"}.isdisjoint(args):
            ctx.meta[_WORKLOAD] = next((word for word in args if not word.startswith("-")), "")
        words = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            lines = [error.format_message(), *_counterparts(words)]
            raise click.UsageError("\n".join(lines), ctx) from None


_WORKLOAD = "hcasim.workload"
_POLLED = "has no counterpart: completions are polled"
_CONNECTED = "has no counterpart: both ends are in the testbed, and connected"
_INVALIDATE = "-I is NetPIPE's here (--invalidate); perftest's -I is --inline-size"
_PERFTEST = {
    ("-a", "--all"): "is --size 2..8M",
    ("-b", "--bidirectional"): "is a benchmark of its own: write_bibw, send_bibw or read_bibw",
    ("-d", "--ib-dev"): "is --adapter",
    ("-D", "--duration"): "is --iters, a number of iterations",
    ("-e", "--events"): _POLLED,
    ("-F", "--CPU-freq"): "has no counterpart: clocks do not vary",
    ("-i", "--ib-port"): "is --ports, the number of ports in use",
    ("--post_list",): "is --post-list",
    ("-m",): "is --mtu; OSU's -m MIN:MAX is --size MIN..MAX",
    ("-o", "--outs"): "is --set adapter.requester.outstanding=N; -o is --output here",
    ("-p", "--port"): _CONNECTED,
    ("-Q",): "is --cq-mod",
    ("-r", "--rx-depth"): "has no counterpart: receive requests never run out",
    ("-R", "--rdma_cm"): _CONNECTED,
    ("-x", "--gid-index"): _CONNECTED,
    ("--inline_size",): "is --inline-size",
    ("--report_gbits",): "has no counterpart: bandwidths are in 10^6 bytes per second",
}
"""Options of perftest that are not ours, and what does the same."""


def _counterparts(words: Iterable[str]) -> list[str]:
    """Say of words what they would be here, if they are options of perftest."""
    known = {"-I": _INVALIDATE}
    for names, told in _PERFTEST.items():
        known |= {name: f"perftest's {name} {told}" for name in names}
    written = (word.partition("=")[0] if word[:2] == "--" else word[:2] for word in words)
    return list(dict.fromkeys(known[name] for name in written if name in known))


class _OfWorkload(click.Option):
    """An option whose default differs; help has that of the workload, if one is named."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        name = ctx.meta.get(_WORKLOAD)
        if record is None or not name:
            return record
        from hcasim.workloads import WORKLOADS

        workload, option = WORKLOADS.get(name.removeprefix("ib_")), OPTIONS[self.name or ""]
        if workload is None or option.name not in workload.options:
            return record
        default = getattr(workload.defaults, option.name)
        text = option.label(default) if option.is_size else str(default)
        if workload.ladder and option.name == "size":
            text = "NetPIPE's sizes"
        elif workload.table and option.name == "size":
            text += f"; all of the tool's: {workload.table}"
        return record[0], record[1].replace(_varying(option), f"default: {text}")


def _varying(option: Option) -> str:
    return f"default: {option.varies}, by workload"


def benchmark_options(command: Decorated) -> Decorated:
    """Give a command the options of a benchmark, as their table has them."""
    for option in [*OPTIONS.values()][::-1]:
        name = option.name.replace("_", "-")
        long = f"--{name}/--no-{name}" if option.is_flag else f"--{name}"
        command = click.option(
            *filter(None, (option.short, long)),
            cls=_OfWorkload if option.varies else click.Option,
            default=None,
            metavar=_metavar(option),
            help=f"{option.help}{_default(option)}.",
        )(command)
    return command


def _default(option: Option) -> str:
    if option.is_flag or option.is_name:
        return ""
    words = f"{one_of(option.words)}; " if option.words else ""
    if option.varies:
        return f" ({words}{_varying(option)})"
    default = option.label(option.usual) if option.is_size else option.usual
    return f" ({words}default: {default})"


def _metavar(option: Option) -> str | None:
    if option.is_flag:
        return None
    unit = "BYTES" if option.is_size else "N"
    if option.title:
        return "N,N..M" if option.doubling else "N,N"
    return "WORD" if option.words else "GROUP" if option.is_name else unit


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("bench", cls=_Bench)
@click.argument("workload", type=Workload())
@machine_options
@benchmark_options
@click.option(
    "--perturbation",
    metavar="BYTES",
    help="Also NetPIPE's sizes so many bytes above and below (default: 3).",
)
@settings_option
@calibration_option
@uncertainty_option
@trace_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the results: .json, .csv, .jsonl as a trace, or .out as NetPIPE's np.out.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also draw them: .png, .svg, .pdf.",
)
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    default="text",
    help=f"{', '.join(FORMATS)} (default: text).",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@profile_option
@timing_option
@jobs_option
def command(
    form: str,
    as_json: bool,
    output: Path | None,
    plot: Path | None,
    profile: bool,
    timing: bool,
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

    tracing = Tracing.take(given)
    known, faults = read_known(calibration, given)
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
        drawn = drawn_points(prepared, count, lambda settings: _prepare(given, settings))
    if any(fault.startswith("invalidate: ") for fault in faults):
        faults.append(_INVALIDATE)
    if as_json and form not in ("text", "json"):
        faults.append(f"--json: contradicts --format {form}; leave one out")
    form = "json" if as_json else form
    faults += format_faults(form, given["workload"], given["explain"], profile)
    faults += untold(form, prepared)
    faults += tracing.faults()
    if len(prepared) > 1:
        faults += _one_point_only(tracing.wanted, prepared)
    outputs = [
        *tracing.outputs(),
        saving_output(output, given["workload"]),
        plot_output(plot),
    ]
    read = [("--calibration", calibration)] if calibration is not None else []
    faults += output_faults(outputs, read)
    if output is not None and output.name.isdigit():
        faults += _counterparts(["-o"])
    if tracing.wanted and uncertainty is not None:
        first = tracing.wanted[0]
        faults.append(f"--uncertainty: found with {first}, which records one run; leave one out")
    if faults:
        raise Faults(dict.fromkeys(faults))
    for text in lost_bands(form, output, plot) if drawn else ():
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
            result = run_benchmark(prepared, jobs=jobs, progress=progress, profile=profile)
    if drawn:
        from hcasim.calibrate.file.bands import with_bands

        with progress_bar("Sampling") as progress:
            result = with_bands(result, drawn, jobs=jobs, progress=progress)
    result = result if timing else replace(result, wall_seconds=None)
    try:
        if output is not None:
            save(result, output)
            note(f"Wrote {output}")
        if plot is not None:
            write_figure(result, plot)
            note(f"Wrote {plot}")
    finally:
        # What took long to simulate is shown even if a disk is full.
        print_benchmark(result, form)


def _one_point_only(options: Iterable[str], prepared: list[Point]) -> list[str]:
    what = "size" if len({job.options.size for job in prepared}) == len(prepared) else "point"
    return [f"{option}: records one {what}, found {len(prepared)}" for option in options]


def _prepare(given: dict[str, Any], base: dict[str, str]) -> tuple[list[Point], list[str]]:
    """Turn the arguments into points, or find every fault."""
    from hcasim.catalog import CatalogError
    from hcasim.runs.experiment import Experiment
    from hcasim.runs.machine import CHOICES

    faults: list[str] = []
    overrides = {**base, **read_settings(given["settings"], faults)}
    named = {name: given[name] for name in (*CHOICES, "perturbation", *OPTIONS) if name != "switch"}
    asked = Experiment.of(
        given["workload"],
        given["testbed"],
        overrides=overrides,
        switch=switch_choice(given),
        **named,
    )
    try:
        prepared = asked.benchmark()
    except CatalogError as error:
        return [], faults + error.faults
    return prepared, faults
