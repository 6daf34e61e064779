"""The runs of a tool that a result is printed as, each with one value of what is no size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark
    from hcasim.workloads import Options

    Row = Mapping[str, Any]


def runs(result: Benchmark) -> Iterator[tuple[list[Row], list[Row]]]:
    """The rows that one run of such a tool prints, those that differ in size only; and of each the
    options that are not the defaults."""
    found: dict[tuple[Any, ...], tuple[list[Row], list[Row]]] = {}
    others = [name for name in result.axes if name != "size"]
    for row, options in zip(result.curve.rows, result.changed, strict=True):
        apart = (*(row[name] for name in others), moderated(result.options, row))
        rows, changed = found.setdefault(apart, ([], []))
        rows.append(row)
        changed.append(options)
    yield from found.values()


def moderated(options: Options, row: Row) -> int:
    """Requests for one completion at the size of a row."""
    from hcasim.workloads.perftest.side import moderation

    return moderation(replace(options, size=row.get("size", options.size)))
