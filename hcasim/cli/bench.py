"""`hcasim bench`: one benchmark on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import blamed, calibrated, read_known
from hcasim.cli.command import (
    Command,
    Faults,
    calibration_option,
    jobs_option,
    read_settings,
    settings_option,
)
from hcasim.cli.figures import plot_fault, write_figure
from hcasim.cli.formats import FORMATS, format_faults, print_benchmark
from hcasim.cli.output import note, place_fault, progress_bar
from hcasim.cli.saving import lost_bands, save, saving_fault
from hcasim.workloads.options import OPTIONS, Option

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark
    from hcasim.runs.point import Point

Decorated = Callable[..., Any]


def benchmark_options(command: Decorated) -> Decorated:
    """Give a command the options of a benchmark, as their table has them."""
    for option in [*OPTIONS.values()][::-1]:
        name = option.name.replace("_", "-")
        long = f"--{name}/--no-{name}" if option.is_flag else f"--{name}"
        words = " or ".join([", ".join(option.words[:-1]), *option.words[-1:]])
        command = click.option(
            *filter(None, (option.short, long)),
            default=None,
            metavar=_metavar(option),
            help=f"{option.help} ({words})." if option.words else f"{option.help}.",
        )(command)
    return command


def _metavar(option: Option) -> str | None:
    if option.is_flag:
        return None
    if option.title:
        return "N,N..M" if option.doubling else "N,N"
    return "WORD" if option.words else "GROUP" if option.is_name else "N"


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("bench", cls=Command)
@click.argument("workload")
@click.option(
    "--testbed", required=True, metavar="ID", help="The machine: id, such as liu2004, or file."
)
@click.option("--adapter", metavar="ID", help="In every node instead of its own: id or file.")
@click.option("--firmware-mode", metavar="MODE", help="Of the adapter: tavor, mem or memfree.")
@click.option(
    "--mtu", metavar="N", help="InfiniBand: 256, 512, 1K, 2K or 4K; Ethernet: 576 to 9216."
)
@click.option("--no-switch/--switch", default=None, help="Two hosts back to back.")
@benchmark_options
@click.option(
    "--perturbation", metavar="N", help="Also NetPIPE's sizes so many bytes above and below: 3."
)
@settings_option
@calibration_option
@click.option(
    "--uncertainty",
    is_flag=False,
    flag_value="",
    metavar="[N]",
    help="Also the 5 and 95 % quantiles over N samples of the calibration (50 without a number).",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write each event of one point, a line each.",
)
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
@click.option("--format", "form", metavar="FORMAT", default="text", help=", ".join(FORMATS) + ".")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@jobs_option
def command(
    form: str,
    as_json: bool,
    trace: Path | None,
    output: Path | None,
    plot: Path | None,
    jobs: int | None,
    calibration: Path | None,
    uncertainty: str | None,
    **given: Any,
) -> None:
    """Run a benchmark, such as write_lat, and print what it measures.

    netpipe runs NetPIPE's sizes unless some are given.

    Of size, qps and reuse several may be given; each is measured with each. Sizes take K, M and G
    as powers of 1024; bandwidths are in 10^6 bytes per second. A run stops when it repeats itself;
    counters count what was run, which is all of it with --exact.
    """
    from hcasim.calibrate.file.bands import with_bands
    from hcasim.runs.benchmark import run_benchmark

    known, faults = read_known(calibration, uncertainty)
    base, samples = calibrated(known, uncertainty, given, faults)
    prepared, more = _prepare(given, base)
    faults += blamed(more, known, given)
    drawn: list[list[Point]] = []
    for one in samples if not faults else ():
        points, more = _prepare(given, one)
        drawn.append(points)
        faults += blamed(more, known, given)
    if as_json and form not in ("text", "json"):
        faults.append(f"--json: contradicts --format {form}; leave one out")
    form = "json" if as_json else form
    faults += format_faults(form, given["workload"], given["explain"])
    if trace is not None:
        faults += _trace_faults(trace, prepared)
    places = [output and saving_fault(output, given["workload"]), plot and plot_fault(plot)]
    faults += [fault for fault in places if fault]
    if trace is not None and uncertainty is not None:
        faults.append("--uncertainty: found with --trace, which records one run; leave one out")
    if faults:
        raise Faults(dict.fromkeys(faults))
    for text in lost_bands(form, output, plot) if drawn else ():
        note(text)
    if trace is not None:
        result = _run_traced(prepared[0], trace)
    else:
        with progress_bar("Simulating") as progress:
            result = run_benchmark(prepared, jobs=jobs, progress=progress)
    if drawn:
        with progress_bar("Sampling") as progress:
            result = with_bands(result, drawn, jobs=jobs, progress=progress)
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


def _trace_faults(file: Path, prepared: list[Point]) -> Iterator[str]:
    if fault := place_fault("--trace", file):
        yield fault
    if len(prepared) > 1:
        what = "size" if len({job.options.size for job in prepared}) == len(prepared) else "point"
        yield f"--trace: records one {what}, found {len(prepared)}"


def _run_traced(job: Point, file: Path) -> Benchmark:
    """Run one point and write a line for each event of its blocks."""
    from hcasim.engine import EventLog
    from hcasim.ground.writing import write_atomically
    from hcasim.runs.benchmark import run_benchmark

    log = EventLog()
    result = run_benchmark([job], listener=log)
    write_atomically(file, "".join(["time_ps\tblock\tevent\toperation\tdetails\n", *log.lines()]))
    note(f"Wrote {len(log.events)} events to {file}")
    return result


def _prepare(given: dict[str, Any], base: dict[str, str]) -> tuple[list[Point], list[str]]:
    """Turn the arguments into points, or find every fault."""
    from hcasim.catalog import CatalogError, UnitError, parse_size
    from hcasim.runs.benchmark import prepare

    faults: list[str] = []
    mtu = given["mtu"]
    if mtu is not None:
        try:
            mtu = parse_size(mtu)
        except UnitError as error:
            faults.append(f"mtu: {error}")
            mtu = None
    try:
        prepared = prepare(
            given["workload"],
            given["testbed"],
            adapter=given["adapter"],
            firmware_mode=given["firmware_mode"],
            overrides={**base, **read_settings(given["settings"], faults)},
            mtu=mtu,
            switch=not given["no_switch"],
            perturbation=given["perturbation"],
            **{name: given[name] for name in OPTIONS},
        )
    except CatalogError as error:
        return [], faults + error.faults
    return prepared, faults
