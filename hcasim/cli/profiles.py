"""What simulating cost, as tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from hcasim.workloads.cost import Cost

_COUNTS = ("Events", "Packets", "Left out")
_TIMES = ("Seconds", "Packets/s")


def print_profile(costs: Collection[Cost], points: Sequence[str] = (), *, timing: bool) -> None:
    """Print what points cost, after an empty line, or nothing if nobody has asked.

    Parameters:
        costs: what each point cost.
        points: each in words, if each is to have a line.
        timing: whether to say times.
    """
    from hcasim.workloads.cost import total

    if not costs:
        return
    cost = total(costs)
    lines = [*zip(points, costs, strict=True)] if len(points) > 1 else []
    lines.append(("all" if lines else points[0] if points else "all", cost))
    columns = (*_COUNTS, *(_TIMES if timing else ()))
    rows = [(name, *_cells(one)[: len(columns)]) for name, one in lines]
    click.echo()
    print_table("What simulating cost", ("Of", *columns), rows, right=columns)
    click.echo()
    _print_blocks(cost, timing)


def _cells(cost: Cost) -> tuple[str, ...]:
    counts = (cost.events, cost.packets, cost.left_out)
    return (*map(str, counts), f"{cost.wall_s:.3f}", f"{cost.packets_per_s:.0f}")


def _print_blocks(cost: Cost, timing: bool) -> None:
    columns = ("Events", *(("Seconds", "Share") if timing else ()))
    order = cost.dearest if timing else cost.busiest
    spent = [(name, str(cost.calls[name]), cost.seconds[name]) for name in order]
    if timing:
        spent += [("queue of events", "", cost.queue_s), ("set-up", "", cost.setup_s)]
    rows = [
        (name, calls, f"{seconds:.3f}", f"{100 * seconds / cost.wall_s:.1f} %")
        for name, calls, seconds in spent
    ]
    title = "By block, with what it has others do at once"
    print_table(title, ("Block", *columns), [row[: 1 + len(columns)] for row in rows], columns)
