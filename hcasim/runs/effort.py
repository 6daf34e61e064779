"""How long a simulation will take, guessed before it begins."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hcasim.runs.options import find_workload
from hcasim.runs.point import Point
from hcasim.workloads.options import AXES

PACKET = 1e-4
"""Seconds of a processor of today for each packet, there and back through two adapters."""
FEW = 6
"""Messages after which most runs repeat themselves."""
LONG = 60.0
"""Seconds from which on a user is told before."""


def guessed_seconds(point: Point) -> float:
    """Return about how long a point takes by its packets, to a factor of two or three.

    What moves no packets takes nothing here.
    """
    options, workload = point.options, find_workload(point.workload)
    if workload is None or not workload.options & {"client", "nodes"}:
        return 0.0
    packets = max(1, -(-options.size // point.machine.mtu))
    if workload.flows is not None:
        return PACKET * workload.flows(options) * options.iters * options.qps * packets
    messages = FEW
    if options.exact:
        messages = options.iters + options.warmup
        messages *= options.window if "window" in workload.options else 1
    flows = options.processes * options.ports * options.clients
    if "nodes" in workload.options:
        flows *= options.nodes * (options.nodes - 1)
    return PACKET * messages * flows * packets * (2 if "bi" in point.workload else 1)


def long_wait(points: Sequence[Point], jobs: int | None) -> str:
    """Say that points will take minutes, and which of them most; or nothing.

    Parameters:
        points: what will be simulated.
        jobs: processes to use; all processors if None.
    """
    guesses = [guessed_seconds(point) for point in points]
    longest = max(guesses)
    seconds = max(longest, sum(guesses) / min(jobs or os.cpu_count() or 1, len(points)))
    if seconds < LONG:
        return ""
    about = f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
    worst = points[guesses.index(longest)].options
    exact = f" and all {worst.iters} iterations" if worst.exact else ""
    return f"takes about {about}, most for size {AXES['size'].label(worst.size)}{exact}"
