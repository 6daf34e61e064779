"""The layout of the Intel MPI Benchmarks since 2018, whose Mbytes are 10^6 bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from hcasim.cli.layouts.comments import machine_lines, settings, title
from hcasim.traces.imb.titles import PAIR, TITLES

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark

    Row = Mapping[str, Any]

_WIDTH = 13
_TIMES = ("t_min[usec]", "t_max[usec]", "t_avg[usec]")
_ENDS = ("process_min_us", "process_max_us")
_RATE = "Mbytes/sec"


def lines(result: Benchmark, rows: list[Row], changed: list[Row]) -> Iterator[str]:
    """What a run prints.

    Of collectives the fastest and the slowest process have times of their own. Elsewhere the mean
    stands for them, from which the rate follows. Benchmarks of two processes have one time.

    Parameters:
        result: what was measured.
        rows: those of the run.
        changed: of each row the options that are not the defaults.
    """
    first, options = rows[0], result.options
    placed = {name: first[name] for name in ("nodes", "processes") if "nodes" in first}
    processes = prod(placed.values()) if placed else PAIR
    yield ""
    yield title(result)
    yield from machine_lines(result.machine)
    yield from settings([placed, *changed], ("size", "iters"))
    name = TITLES[result.workload]
    single = name.startswith("PingP") and processes == PAIR
    heads = ["#bytes"] if "size" in first else []
    heads += ["#repetitions", *(["t[usec]"] if single else _TIMES)]
    heads += [_RATE] if "bandwidth_MBps" in result.fields else []
    rule = f"#{'-' * (_WIDTH * len(heads) - 1)}"
    yield rule
    groups = processes // PAIR if name == "PingPing" else 1
    if groups > 1:
        yield f"# Benchmarking Multi-{name} "
        yield f"# ( {groups} groups of {PAIR} processes each running simultaneous ) "
    else:
        yield f"# Benchmarking {name} "
        yield f"# #processes = {processes} "
    yield rule
    yield "".join(f"{head:>{_WIDTH}}" for head in heads)
    for row in rows:
        counts = [*([row["size"]] if "size" in row else []), options.iters]
        mean = row["latency_us"]
        ends = [mean] * 2 if _RATE in heads else [row.get(one, mean) for one in _ENDS]
        times = [mean] if single else [*ends, mean]
        rates = [row["bandwidth_MBps"]] if _RATE in heads else []
        cells = (f"{one:{_WIDTH}.2f}" for one in (*times, *rates))
        yield "".join((*(f"{one:{_WIDTH}}" for one in counts), *cells))
