"""`hcasim app`: one run of a program of MPI."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import (
    Command,
    flag,
    option,
    profile_option,
    read_pairs,
    settings_option,
    timing_option,
)
from hcasim.cli.experiment import machine_options, read_experiment
from hcasim.cli.output import print_line, print_notes, print_table, progress_bar
from hcasim.cli.printing import print_profile
from hcasim.cli.results import Wanted, result_options
from hcasim.cli.tracing import Tracing, trace_options
from hcasim.ground.errors import refuse

if TYPE_CHECKING:
    from hcasim.runs.application import Application

_FEW = 32
"""Processes of which each has a line."""


@click.command("app", cls=Command)
@click.argument("program", metavar="PROGRAM")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1)
@machine_options()
@option("-n --ranks N", "Processes.", type=click.IntRange(min=1), required=True)
@option(
    "--ppn N",
    "Most processes on a node, each on a processor of its own.",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
)
@option(
    "--map-by WORD",
    "block fills a node before the next, cyclic deals processes out in turn.",
    default="block",
    show_default=True,
)
@option(
    "--algorithm algorithms COLLECTIVE=NAME",
    "Algorithm of a collective, instead of the stack's choice. Repeatable.",
    multiple=True,
)
@option(
    "--rate RATE",
    "At which a trace computes that counts operations, as 2 Gop/s (default: 1 Gop/s).",
)
@flag("--exact", "Leave out nothing that repeats itself.")
@settings_option
@result_options()
@trace_options
@profile_option
@timing_option
def command(
    program: str,
    arguments: tuple[str, ...],
    timing: bool,
    **given: Any,
) -> None:
    """Run a program of MPI: a file, a kernel such as is.B, a trace, or machine learning.

    A file of Python has a function main(comm), which may be given ARGUMENTs behind it. Calls that
    take time stand behind `yield from`: comm.compute(seconds), comm.send(bytes, dest), and the
    other calls of mpi4py in small letters. What it prints goes to standard error.

    The kernels are those of the NAS benchmarks: is, ft, mg, lu and cg of the classes S, W, A, B and
    C. Machine learning is allreduce, data_parallel, experts and pipeline: the last three are given
    a model, such as mixtral-8x7b, and all of them ARGUMENTs such as size=1M or rate=200Tflop/s. A
    trace is a schedule of GOAL, an archive of OTF2 (traces.otf2) or a file of an execution trace of
    Chakra (NAME.0.et); -n is its number of processes.
    """
    from hcasim.runs.program import app

    tracing, wanted, faults = Tracing(given), Wanted(given), list[str]()
    own = {name: given.pop(name) for name in ("ppn", "map_by", "rate", "exact", "profile")}
    own |= read_experiment(given, faults)
    own["algorithms"] = read_pairs("--algorithm", given["algorithms"], faults, "COLLECTIVE=NAME")
    faults += tracing.faults
    refuse(*faults, *wanted.faults(*tracing.outputs))
    with (
        progress_bar("Simulating") as progress,
        tracing.listening(f"{program} on {given['testbed']}") as listen,
        contextlib.redirect_stdout(sys.stderr),
    ):
        found = app(
            program,
            given["testbed"],
            given["ranks"],
            arguments=arguments,
            progress=progress,
            listen=listen,
            **own,
        )
    found = found if timing else replace(found, wall_seconds=None)
    wanted.deliver(found, lambda: _print(found, timing))


def _print(found: Application, timing: bool) -> None:
    machine, outcome, run_s = found.machine, found.outcome, found.seconds
    nodes = len({one.node for one in outcome.ranks})
    print_line(
        f"{found.program} on {machine.id}, {machine.adapter.id}: "
        f"{found.ranks} processes on {nodes} nodes"
    )
    _print_returned(outcome.ranks[0].returned)

    def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        print_table(title, columns, rows, columns[1:], below=True)

    def parts(seconds: Iterable[tuple[str, float]]) -> Iterator[tuple[str, str, str]]:
        return ((what, f"{1e3 * one:.4f}", share(one)) for what, one in seconds)

    def share(seconds: float) -> str:
        return f"{100 * seconds / run_s:.2f}" if run_s else ""

    means = {
        "run time": run_s,
        "computing": found.compute_seconds,
        "in calls": found.mpi_seconds,
        "of that waiting": found.wait_seconds,
    }
    show("Time, means over processes", ("What", "ms", "%"), parts(means.items()))
    calls = []
    for name, use in outcome.calls.items():
        mean_s = use.seconds / found.ranks
        times = f"{1e3 * mean_s:.4f}", f"{1e3 * use.most_seconds:.4f}", share(mean_s)
        calls.append((name, str(use.calls), *times))
    if calls:
        show("Calls, by mean time of a process", ("Call", "Calls", "ms", "Most", "%"), calls)
    critical = sorted(outcome.critical.items(), key=lambda item: -item[1])
    title = f"Critical path, with {outcome.critical_messages} messages"
    show(title, ("What", "ms", "%"), parts(critical))
    # What has a fraction is a time in s.
    rows = [
        [f"{1e3 * one:.4f}" if isinstance(one, float) else str(one) for one in row.values()]
        for row in found.rows[:_FEW]
    ]
    names = ("Rank", "Node", "Run ms", "Compute ms", "MPI ms", "Wait ms", "Messages", "Bytes")
    print_table("Processes", names, rows, names, below=True)
    if found.ranks > _FEW:
        print_line(f"... and {found.ranks - _FEW} more; --json and -o have all")
    print_notes(found.notes)
    print_profile([found.cost] if found.cost else [], timing=timing)


def _print_returned(returned: Any) -> None:
    """Print it in tables; anything else than a dataclass is left to JSON."""
    if not is_dataclass(returned) or isinstance(returned, type):
        return
    found = asdict(returned)
    title = "Found, by rank 0"
    if rows := found.pop("rows", ()):
        numbers = [name for name, one in rows[0].items() if not isinstance(one, str)]
        cells = [[*map(_text, row.values())] for row in rows]
        print_table(title, [*rows[0]], cells, numbers, below=True)
        title = "With that"
    lines = [
        (name, _text(one))
        for name, many in found.items()
        for one in (many if isinstance(many, tuple) else (many,))
    ]
    if lines:
        print_table(title, ("What", "Value"), lines, below=True)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
