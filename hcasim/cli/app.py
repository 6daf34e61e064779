"""`hcasim app`: one run of a program of MPI."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import (
    Command,
    profile_option,
    read_pairs,
    settings_option,
    timing_option,
)
from hcasim.cli.experiment import machine_options, read_experiment
from hcasim.cli.naming import FILE
from hcasim.cli.output import note, print_line, print_notes, progress_bar
from hcasim.cli.outputs import Output, output_faults
from hcasim.cli.printing import print_profile
from hcasim.cli.results import Wanted, result_options
from hcasim.cli.tables import print_table
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
@click.option(
    "-n", "--ranks", metavar="N", type=click.IntRange(min=1), required=True, help="Processes."
)
@click.option(
    "--ppn",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Most processes on a node, each on a processor of its own.",
)
@click.option(
    "--map-by",
    metavar="WORD",
    default="block",
    show_default=True,
    help="block fills a node before the next, cyclic deals processes out in turn.",
)
@click.option(
    "--algorithm",
    "algorithms",
    metavar="COLLECTIVE=NAME",
    multiple=True,
    help="Of a collective, instead of what the stack's rules choose. Repeatable.",
)
@click.option(
    "--rate",
    metavar="RATE",
    help="At which a trace computes that counts operations, as 2 Gop/s (default: 1 Gop/s).",
)
@click.option("--exact", is_flag=True, help="Leave out nothing that repeats itself.")
@settings_option
@result_options()
@click.option(
    "--goal",
    type=FILE,
    help="Write what the processes do as a schedule of GOAL, .goal, to be run elsewhere.",
)
@trace_options
@profile_option
@timing_option
def command(
    program: str,
    arguments: tuple[str, ...],
    goal: Path | None,
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
    trace is a schedule of GOAL, a time-independent trace of SimGrid, an archive of OTF2
    (traces.otf2) or a file of an execution trace of Chakra (NAME.0.et); -n is its number of
    processes.
    """
    from hcasim.runs.program import app

    tracing = Tracing.take(given)
    wanted = Wanted.take(given)
    faults = [*wanted.faults(), *tracing.faults()]
    own = {name: given.pop(name) for name in ("ppn", "map_by", "rate", "exact", "profile")}
    choices = read_experiment(given, faults)
    algorithms = read_pairs("--algorithm", given.pop("algorithms"), faults, "COLLECTIVE=NAME")
    outputs = [*wanted.outputs(), Output("--goal", goal, (".goal",)), *tracing.outputs()]
    faults += output_faults(outputs)
    refuse(*faults)
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
            algorithms=algorithms,
            progress=progress,
            record=goal is not None,
            listen=listen if tracing.wanted else None,
            **own,
            **choices,
        )
    found = found if timing else replace(found, wall_seconds=None)
    if goal is not None:
        found.save_goal(goal)
        note(f"Wrote {goal}")
    wanted.deliver(found, lambda: _print(found, timing))


def _print(found: Application, timing: bool) -> None:
    machine, outcome, run_s = found.machine, found.outcome, found.seconds
    nodes = len({one.node for one in outcome.ranks})
    print_line(
        f"{found.program} on {machine.id}, {machine.adapter.id}: "
        f"{found.ranks} processes on {nodes} nodes"
    )
    _print_returned(outcome.ranks[0].returned)

    def print_parts(title: str, parts: Iterable[tuple[str, float]]) -> None:
        rows = [(what, f"{1e3 * seconds:.4f}", _share(seconds, run_s)) for what, seconds in parts]
        print_table(title, ("What", "ms", "%"), rows, ("ms", "%"), below=True)

    parts = {
        "run time": run_s,
        "computing": found.compute_seconds,
        "in calls": found.mpi_seconds,
        "of that waiting": found.wait_seconds,
    }
    print_parts("Time, means over processes", parts.items())
    if outcome.calls:
        columns = ("Calls", "ms", "Most", "%")
        print_table(
            "Calls, by mean time of a process",
            ("Call", *columns),
            [
                (
                    name,
                    str(use.calls),
                    f"{1e3 * use.seconds / found.ranks:.4f}",
                    f"{1e3 * use.most_seconds:.4f}",
                    _share(use.seconds / found.ranks, run_s),
                )
                for name, use in outcome.calls.items()
            ],
            columns,
            below=True,
        )
    critical = sorted(outcome.critical.items(), key=lambda item: -item[1])
    print_parts(f"Critical path, with {outcome.critical_messages} messages", critical)
    rows = [[_cell(cell) for cell in one.row().values()] for one in outcome.ranks[:_FEW]]
    names = ("Rank", "Node", "Run ms", "Compute ms", "MPI ms", "Wait ms", "Messages", "Bytes")
    print_table("Processes", names, rows, names, below=True)
    if found.ranks > _FEW:
        print_line(f"... and {found.ranks - _FEW} more; --json and -o have all")
    print_notes(found.notes)
    if found.cost is not None:
        print_profile([found.cost], timing=timing)


def _cell(value: int | float) -> str:
    """A number of a process; what has a fraction is a time in s."""
    return f"{1e3 * value:.4f}" if isinstance(value, float) else str(value)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}" if whole else ""


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
