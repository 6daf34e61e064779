"""A benchmark's result as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.breakdowns import print_breakdown
from hcasim.cli.output import print_notes
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hcasim.runs.benchmark import Benchmark
    from hcasim.workloads.result import Cost

    Row = Mapping[str, Any]


def print_text(result: Benchmark) -> None:
    """Print a benchmark as a table, with what it explains and what it cost."""
    from hcasim.ground.quantities import heading, written
    from hcasim.workloads import WORKLOADS
    from hcasim.workloads.options import AXES

    machine, axes, fields = result.machine, result.axes, result.fields
    what_if = "".join(f", {path}={value}" for path, value in machine.overrides.items())
    ends = (name for name in result.curve.rows[-1] if "_min_" in name or "_max_" in name)
    fields = tuple(dict.fromkeys((*fields, *ends)))
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


_SEVERAL = {"nodes": "node", "clients": "client", "processes": "process"}
"""What is counted, and what one of it is called."""


def _named(point: Mapping[str, int]) -> str:
    """A point in words: "4096 B", "4096 B, 128 QPs" or "64 KiB, 50 % reuse"."""
    from hcasim.ground.units import format_size

    def words(name: str, value: int) -> str:
        if name in ("size", "window_bytes"):
            return format_size(value) if name == "size" else f"window of {format_size(value)}"
        if name == "reuse":
            return f"{value} % reuse"
        several = name if name in _SEVERAL else "QPs"
        return f"{value} {several if value != 1 else _SEVERAL.get(name, 'QP')}"

    return ", ".join(words(name, value) for name, value in point.items())


def print_profile(costs: Collection[Cost], points: Sequence[str] = (), *, timing: bool) -> None:
    """Print what points cost, after an empty line, or nothing if nobody has asked.

    Parameters:
        costs: what each point cost.
        points: each in words, if each is to have a line.
        timing: whether to say times.
    """
    from hcasim.workloads.result import total

    if not costs:
        return
    cost = total(costs)
    lines = [*zip(points, costs, strict=True)] if len(points) > 1 else []
    lines.append(("all" if lines or not points else points[0], cost))
    columns = ("Events", "Packets", "Left out", *(("Seconds", "Packets/s") if timing else ()))
    rows: list[tuple[str, ...]] = []
    for name, one in lines:
        counts = map(str, (one.events, one.packets, one.left_out))
        times = (f"{one.wall_s:.3f}", f"{one.packets_per_s:.0f}") if timing else ()
        rows.append((name, *counts, *times))
    print_table("What simulating cost", ("Of", *columns), rows, right=columns, below=True)
    order = cost.dearest if timing else cost.busiest
    spent = [(name, str(cost.calls[name]), cost.seconds[name]) for name in order]
    if timing:
        spent += [("queue of events", "", cost.queue_s), ("set-up", "", cost.setup_s)]
    rows = [
        (name, calls, *((f"{took:.3f}", f"{100 * took / cost.wall_s:.1f} %") if timing else ()))
        for name, calls, took in spent
    ]
    columns = ("Events", *(("Seconds", "Share") if timing else ()))
    title = "By block, with what it has others do at once"
    print_table(title, ("Block", *columns), rows, right=columns, below=True)
