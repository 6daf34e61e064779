"""The forms in which a benchmark's result is printed."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.breakdowns import print_breakdown
from hcasim.cli.output import print_lines, print_notes
from hcasim.cli.profiles import print_profile
from hcasim.cli.results import FORMS, print_form
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hcasim.runs.benchmark import Benchmark
    from hcasim.runs.point import Point
    from hcasim.traces.simulated import Run
    from hcasim.workloads import Workload

    Row = Mapping[str, Any]

FORMATS = ("text", "json", "csv", "perftest", "osu", "imb", "netpipe")
BANDED = ("text", "json", "csv")
"""Those of them that also have the quantiles of --uncertainty."""
_BUS_ALONE = ("bw_rd", "bw_wr", "bw_rdwr", "lat_rd", "lat_wrrd")


def format_faults(form: str, workload: str, explain: bool, profile: bool) -> Iterator[str]:
    """Say why a result cannot be printed in a form, before anything is simulated."""
    from hcasim.catalog import nearest, one_of
    from hcasim.workloads import WORKLOADS

    if form not in FORMATS:
        yield f"format: found {form!r}; allowed: {one_of(FORMATS)}{nearest(form, FORMATS)}"
    elif explain and form not in ("text", "json"):
        yield f"--explain: found with format {form}; allowed: text or json"
    elif profile and form not in ("text", "json"):
        yield f"--profile: found with format {form}; allowed: text or json"
    known = WORKLOADS.get(workload)
    if known is None or form not in FORMATS[len(BANDED) :]:
        return
    fitting = [one for one in FORMATS if _has_test(one, known)]
    if form not in fitting:
        what = "test of the bus alone" if workload in _BUS_ALONE else f"test like {workload}"
        yield f"format: {form} has no {what}; allowed: {one_of(fitting)}"


def _has_test(form: str, workload: Workload) -> bool:
    """Whether the results of a workload can be printed in the layout of a tool."""
    from hcasim.traces import imb, osu
    from hcasim.traces.perftest import run as perftest

    if form in BANDED:
        return True
    if form == "netpipe":
        return "throughput_Mbps" in workload.fields
    titles = {"perftest": perftest.TITLES, "osu": osu.TITLES, "imb": imb.TITLES}[form]
    return workload.name in titles


def untold(form: str, points: Iterable[Point]) -> Iterator[str]:
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


def print_benchmark(result: Benchmark, form: str) -> None:
    """Print a result.

    Parameters:
        result: what was measured.
        form: one of FORMATS.
    """
    if form in FORMS and form != "text":
        print_form(result, form)
    elif form == "text":
        _print_text(result)
    else:
        print_lines("\n".join(_layout(result, form)))


def _layout(result: Benchmark, form: str) -> Iterator[str]:
    """What a tool would print of a result."""
    from hcasim.traces.imb import write_imb
    from hcasim.traces.netpipe import write_netpipe
    from hcasim.traces.osu import write_osu
    from hcasim.traces.perftest.text import write_perftest

    if form == "netpipe":
        yield from write_netpipe(tool_run(result, result.curve.rows, result.changed))
        return
    write = {"perftest": write_perftest, "osu": write_osu, "imb": write_imb}[form]
    for run in tool_runs(result):
        yield from write(run)


def tool_runs(result: Benchmark) -> Iterator[Run]:
    """Yield the runs of a tool that a result is printed as, each with one value of what is no
    size."""
    found: dict[tuple[Any, ...], list[tuple[Row, Row]]] = {}
    others = [name for name in result.axes if name != "size"]
    for row, changed in zip(result.curve.rows, result.changed, strict=True):
        apart = (*(row[name] for name in others), _moderated(result, row))
        found.setdefault(apart, []).append((row, changed))
    for lines in found.values():
        rows, changed_options = zip(*lines, strict=True)
        yield tool_run(result, rows, changed_options)


def tool_run(result: Benchmark, rows: Sequence[Row], changed: Sequence[Row]) -> Run:
    """Return rows of a result as what a tool prints of one run."""
    from hcasim import __version__
    from hcasim.runs.simulated_trace import simulated_on
    from hcasim.traces.simulated import Run

    machine = result.machine
    return Run(
        workload=result.workload,
        hcasim=__version__,
        adapter=machine.adapter.id,
        machine=simulated_on(machine),
        mtu=machine.mtu,
        transport=machine.hca.protocol.kind,
        link=machine.link.kind,
        axes=tuple(result.axes),
        options=asdict(result.options) | {"cq_mod": _moderated(result, rows[0])},
        rows=rows,
        changed=changed,
    )


def _moderated(result: Benchmark, row: Row) -> int:
    """Requests for one completion at the size of a row."""
    from hcasim.workloads.perftest.side import moderation

    return moderation(replace(result.options, size=row.get("size", result.options.size)))


def _print_text(result: Benchmark) -> None:
    from hcasim.ground.quantities import heading, written
    from hcasim.workloads import WORKLOADS
    from hcasim.workloads.options import AXES

    machine, axes, fields = result.machine, result.axes, result.fields
    what_if = "".join(f", {path}={value}" for path, value in machine.overrides.items())
    ends = [
        name
        for name in result.curve.rows[-1]
        if ("_min_" in name or "_max_" in name) and name not in fields
    ]
    fields = (*fields, *ends)
    columns = (*(AXES[name].title for name in axes), *(heading(name) for name in fields))
    rows = (
        (
            *(AXES[name].label(row[name]) for name in axes),
            *(written(row[name], name) if name in row else "" for name in fields),
        )
        for row in result.curve.rows
    )
    modes = [p for p in machine.parameters if p.path.endswith("adapter.firmware_mode")]
    loud = {mode.value for mode in modes if mode.value != "tavor" or mode.evidence == "assumed"}
    taking = WORKLOADS[result.workload].nodes(machine, result.options)
    groups = [machine.place(node)[0] for node in taking]
    adapter = " and ".join(
        dict.fromkeys(
            one.adapter.id + (f" ({one.firmware_mode})" if one.firmware_mode in loud else "")
            for one in groups
        )
    )
    machine_in_words = f"{result.workload} on {machine.id}, {adapter}{what_if}"
    print_table(machine_in_words, columns, rows, right=columns)
    _print_error(result)
    print_notes(result.notes)
    for point, breakdown in zip(result.points, result.breakdowns, strict=False):
        click.echo()
        print_breakdown(_named(point), breakdown)
    named = [_named(point) for point in result.points]
    print_profile(result.costs, named, timing=result.wall_seconds is not None)


WORTH_SAYING = 0.5
"""Percent of error from which on a table says it."""


def _print_error(result: Benchmark) -> None:
    """Say how well the row is known that is known worst, if that is not well."""
    errors = [row.get("error_percent", 0.0) for row in result.curve.rows]
    worst = max(errors)
    if worst < WORTH_SAYING:
        return
    where = ""
    if len(errors) > 1:
        where = f" at {_named(result.points[errors.index(worst)])}, better elsewhere"
    hint = "" if result.options.exact else "; --exact runs it all"
    click.echo(f"Averaged, and known to ± {worst:.1f} %{where}{hint}.")


SEVERAL = {"nodes": "node", "clients": "client", "processes": "process"}
"""What is counted, and what one of it is called."""


def _named(point: Mapping[str, int]) -> str:
    """A point in words: "4096 B", "4096 B, 128 QPs" or "64 KiB, 50 % reuse"."""
    from hcasim.ground.units import format_size

    def word(name: str, value: int) -> str:
        if name == "size":
            return format_size(value)
        if name == "reuse":
            return f"{value} % reuse"
        if name == "window_bytes":
            return f"window of {format_size(value)}"
        if name in SEVERAL:
            return f"{value} {name}" if value > 1 else f"1 {SEVERAL[name]}"
        return f"{value} QP" if value == 1 else f"{value} QPs"

    return ", ".join(word(name, value) for name, value in point.items())
