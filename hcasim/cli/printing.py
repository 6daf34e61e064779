"""A benchmark's result as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.breakdowns import print_breakdown
from hcasim.cli.output import print_notes, print_table
from hcasim.ground.quantities import heading
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark
    from hcasim.workloads.result import Cost

WORTH_SAYING = 0.5
"""Percent of error from which on a table says it."""


def print_text(result: Benchmark) -> None:
    """Print a benchmark as a table, with what it explains and what it cost."""
    from hcasim.runs.table import cell
    from hcasim.workloads import WORKLOADS

    machine, rows = result.machine, result.curve.rows
    ends = [name for name in rows[-1] if "_min_" in name or "_max_" in name]
    fields = dict.fromkeys((*result.fields, *ends))
    columns = (*(AXES[name].title for name in result.axes), *map(heading, fields))
    names = (*result.axes, *fields)
    lines = [[cell(row.get(name), name) for name in names] for row in rows]
    modes = [p for p in machine.parameters if p.path.endswith("adapter.firmware_mode")]
    loud = {mode.value for mode in modes if mode.value != "tavor" or mode.evidence == "assumed"}
    adapters: dict[str, None] = {}
    for node in WORKLOADS[result.workload].nodes(machine, result.options):
        one, _ = machine.place(node)
        mode = f" ({one.firmware_mode})" if one.firmware_mode in loud else ""
        adapters[one.adapter.id + mode] = None
    what_if = "".join(f", {path}={value}" for path, value in machine.overrides.items())
    title = f"{result.workload} on {machine.id}, {' and '.join(adapters)}{what_if}"
    print_table(title, columns, lines, right=columns)
    points = [_named(point) for point in result.points]
    _print_error([row.get("error_percent", 0.0) for row in rows], points, result.options.exact)
    print_notes(result.notes)
    for point, breakdown in zip(points, result.breakdowns, strict=False):
        click.echo()
        print_breakdown(point, breakdown)
    print_profile(result.costs, points, timing=result.wall_seconds is not None)


def _print_error(errors: Sequence[float], names: Sequence[str], exact: bool) -> None:
    """Say how well the row is known that is known worst, if that is not well."""
    worst = max(errors)
    if worst >= WORTH_SAYING:
        where = f" at {names[errors.index(worst)]}, better elsewhere" if len(errors) > 1 else ""
        hint = "" if exact else "; --exact runs it all"
        click.echo(f"Averaged, and known to ± {worst:.1f} %{where}{hint}.")


_ONE = {"nodes": "node", "clients": "client", "processes": "process"}


def _named(point: Mapping[str, int]) -> str:
    """A point in words: "4096 B", "4096 B, 128 QPs" or "64 KiB, 50 % reuse"."""
    from hcasim.ground.units import format_size

    def words(name: str, value: int) -> str:
        if name in ("size", "window_bytes"):
            return f"{'' if name == 'size' else 'window of '}{format_size(value)}"
        if name == "reuse":
            return f"{value} % reuse"
        if value == 1:
            return f"1 {_ONE.get(name, 'QP')}"
        return f"{value} {name if name in _ONE else 'QPs'}"

    return ", ".join(words(name, value) for name, value in point.items())


def print_profile(costs: Collection[Cost], points: Sequence[str] = (), *, timing: bool) -> None:
    """Print what points cost, after an empty line, or nothing if nobody has asked.

    Parameters:
        costs: what each point cost.
        points: each in words, if each is to have a line.
        timing: whether to say times, which are in the last two columns.
    """
    from hcasim.workloads.result import total

    if not costs:
        return

    def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        shown = slice(None if timing else -2)
        cells = [[*map(str, row[shown])] for row in rows]
        print_table(title, columns[shown], cells, right=columns[1:], below=True)

    cost = total(costs)
    lines = [*zip(points, costs, strict=True)] if len(points) > 1 else []
    lines.append(("all" if lines or not points else points[0], cost))
    columns = ("Of", "Events", "Packets", "Left out", "Seconds", "Packets/s")
    rows = [
        (
            *(name, one.events, one.packets, one.left_out),
            *(f"{one.wall_s:.3f}", f"{one.packets_per_s:.0f}"),
        )
        for name, one in lines
    ]
    show("What simulating cost", columns, rows)
    order = cost.dearest if timing else cost.busiest
    spent: list[tuple[str, Any, float]]
    spent = [(name, cost.calls[name], cost.seconds[name]) for name in order]
    if timing:
        spent += [("queue of events", "", cost.queue_s), ("set-up", "", cost.setup_s)]
    shares = [(*one, f"{took:.3f}", f"{100 * took / cost.wall_s:.1f} %") for *one, took in spent]
    title = "By block, with what it has others do at once"
    show(title, ("Block", "Events", "Seconds", "Share"), shares)
