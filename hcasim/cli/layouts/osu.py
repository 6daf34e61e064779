"""The layout of the OSU micro-benchmarks (5.6.3), whose bandwidths are in 10^6 bytes per second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hcasim.cli.layouts.comments import machine_lines, settings, title
from hcasim.traces.osu.titles import COLLECTIVES, MANY_PAIRS, TITLES

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark

    Row = Mapping[str, Any]

_VERSION = "5.6.3"


def lines(result: Benchmark, rows: list[Row], changed: list[Row]) -> Iterator[str]:
    """What a run prints.

    Parameters:
        result: what was measured.
        rows: those of the run.
        changed: of each row the options that are not the defaults.
    """
    name, options = result.workload, result.options
    yield f"# OSU MPI {TITLES[name]} Test v{_VERSION}"
    yield title(result)
    yield from machine_lines(result.machine)
    told: dict[str, Any] = {axis: rows[0][axis] for axis in result.axes}
    if name in COLLECTIVES or name in MANY_PAIRS:
        told |= {one: rows[0].get(one, getattr(options, one)) for one in ("nodes", "processes")}
    yield from settings([told, *changed], ("size",))
    if name == MANY_PAIRS[0]:
        pairs = told["nodes"] * told["processes"] // 2
        yield f"# [ pairs: {pairs} ] [ window size: {options.window} ]"
    heads = _columns(result)
    if "size" not in rows[0]:
        yield f"# {heads[0][0]}"
        yield from (f"{row['latency_us']:17.2f}" for row in rows)
        return
    yield f"{'# Size':<10}{''.join(f'{head:>18}' for head, *_ in heads)}"
    for row in rows:
        cells = (f"{row[field] * factor:18.2f}" for _, field, factor in heads)
        yield f"{row['size']:<10}{''.join(cells)}"


def _columns(result: Benchmark) -> tuple[tuple[str, str, float], ...]:
    """Heads, with the key of a row and what one of it is there."""
    if result.workload == MANY_PAIRS[0]:
        return (("MB/s", "bandwidth_MBps", 1.0), ("Messages/s", "rate_Mps", 1e6))
    if result.workload in COLLECTIVES:
        return (("Avg Latency(us)", "latency_us", 1.0),)
    if "latency_us" in result.curve.fields:
        return (("Latency (us)", "latency_us", 1.0),)
    return (("Bandwidth (MB/s)", "bandwidth_MBps", 1.0),)
