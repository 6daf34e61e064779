"""Host memory of one process with connected queue pairs; nothing is simulated.

sur2005 section 4.4 looks at such a process with pmap, which sees ``mapped_KiB``; the tables that
the driver keeps in host memory are in ``pinned_KiB`` and ``total_KiB`` only.
"""

from __future__ import annotations

from typing import Any

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.verbs.footprint import footprint
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

KIB = 1024


def measure(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Host memory that ``options.qps`` queue pairs of ``options.depth`` entries take."""
    found = footprint(machine, options.qps, options.depth)
    row: dict[str, Any] = {
        "size": options.size,
        "qps": options.qps,
        "pinned_KiB": found.pinned / KIB,
        "total_KiB": found.total / KIB,
        "mapped_KiB": found.mapped / KIB,
    }
    row |= {f"{one.name}_KiB": one.size / KIB for one in found.components}
    breakdown: dict[str, Any] = {}
    if options.explain:
        components = [
            {
                "component": one.name,
                "KiB": one.size / KIB,
                "pinned": one.pinned,
                "mapped": one.mapped,
            }
            for one in found.components
        ]
        breakdown = {"components": components, "total_KiB": found.total / KIB}
    return Result(row, {}, breakdown)
