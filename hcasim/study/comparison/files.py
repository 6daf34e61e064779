"""Results that there are already: of Python, of files that hcasim has written, or measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeGuard

from pydantic import ValidationError

from hcasim.catalog import CatalogError
from hcasim.ground.errors import display, nearest, one_of
from hcasim.ground.quantities import QUANTITIES, traced
from hcasim.ground.reading import MEASURED, read_file
from hcasim.papers.replay import RunDocument
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.document import BenchmarkDocument, Setup
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import CHOICES
from hcasim.study.comparison.sides import Side
from hcasim.study.sweep.table import ERROR, SweepDocument
from hcasim.study.sweep.values import column_unit
from hcasim.traces import Source, Trace, import_trace
from hcasim.workloads import find_workload
from hcasim.workloads.options import AXES

ALLOWED = (
    "a testbed by id or file, a .json file that bench -o, run -o or sweep -o has written, or a "
    "measurement: a trace, or what perftest, OSU, IMB or NetPIPE printed"
)
_KINDS: dict[str, type[BenchmarkDocument | RunDocument | SweepDocument]] = {
    "hcasim-bench": BenchmarkDocument,
    "hcasim-run": RunDocument,
    "hcasim-sweep": SweepDocument,
}
_WHICH = "#"
_WRITTEN = (".json", ".csv", ".jsonl", ".parquet")
_KEPT = (
    "a result keeps the ids of descriptions: what it was measured on must still be there, "
    "a file of your own in a folder of HCASIM_PATH"
)


def is_result(given: object) -> TypeGuard[str | PathLike[str] | Benchmark]:
    """Whether a side is a result, not a machine to simulate."""
    if isinstance(given, Benchmark):
        return True
    if not isinstance(given, str | PathLike):
        return False
    file = Path(_file(given)[0])
    return file.suffix.lower() in _WRITTEN or (file.suffix not in ("", ".toml") and file.is_file())


def read_result(given: str | PathLike[str] | Benchmark) -> Side:
    """Return a result as a side.

    Parameters:
        given: a benchmark; a file that `hcasim bench`, `run` or `sweep` has written as JSON; or a
            measurement. "FILE#NAME" is one of several series or measured workloads,
            "FILE#COLUMN=VALUE,..." one of several machines of a sweep.

    Raises:
        CatalogError: the file holds none, or of several machines, or one that is not known here.
    """
    if isinstance(given, Benchmark):
        return Side(given.machine, given.workload, given.curve.rows)
    name, which = _file(given)
    where = display(Path(name))
    data = read_file(name, MEASURED, ALLOWED)
    try:
        told = json.loads(data) if name.lower().endswith(".json") else None
        kind = _KINDS.get(str(told.get("schema"))) if isinstance(told, dict) else None
        found = kind.model_validate(told) if kind else import_trace(Source(where, data))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise CatalogError([f"{where}: {place}: {first['msg']}; allowed: {ALLOWED}"]) from None
    except (ValueError, RecursionError):
        raise CatalogError([f"{where}: found no JSON; allowed: {ALLOWED}"]) from None
    except CatalogError as error:
        raise CatalogError(
            [*error.faults, f"{where}: found no result; allowed: {ALLOWED}"]
        ) from None
    try:
        if isinstance(found, Trace):
            return _of_trace(found, which)
        if isinstance(found, RunDocument):
            names = [one.name for one in found.series]
            series = found.series[names.index(_one(names, which, "series"))]
            return _of_setup(series, series.rows)
        if isinstance(found, SweepDocument):
            return _of_sweep(found, which)
        if which:
            raise CatalogError([f"found {_WHICH}{which}; allowed: a file of run or sweep with it"])
        return _of_setup(found, found.rows)
    except CatalogError as error:
        raise CatalogError([f"{where}: {fault}" for fault in error.faults]) from None


def _file(given: str | PathLike[str]) -> tuple[str, str]:
    """Return the file that is meant, and what of it."""
    name = fspath(given)
    file, mark, which = name.rpartition(_WHICH)
    return (file, which) if mark and not Path(name).is_file() else (name, "")


def _one(names: Sequence[str], which: str, what: str) -> str:
    """Return the name that is asked for, or the only one."""
    if which in names or (len(names) == 1 and not which):
        return which or names[0]
    asked = repr(which) if which else f"{len(names)} {what}"
    said = f"FILE{_WHICH}NAME with {one_of(names)}"
    raise CatalogError([f"found {asked}; allowed: {said}{nearest(which, names)}"])


def _of_trace(found: Trace, which: str) -> Side:
    """Return what was measured of a workload: a row for each point."""
    every = {point.workload for point in found.points if find_workload(point.workload)}
    if not every:
        raise CatalogError(["found no point of a benchmark; allowed: one or more"])
    name = _one(sorted(every), which, "workloads")
    workload = find_workload(name)
    assert workload is not None
    points = [one for one in found.points if one.workload == name]
    rows = []
    for point in points:
        row: dict[str, Any] = {n: one for n, one in point.options.items() if n in AXES}
        for field in workload.fields:
            quantity = traced(field)
            for one in point.measured:
                if (one.quantity, one.name) == quantity and one.typical is not None:
                    factor = QUANTITIES[one.quantity].trace
                    row[field] = one.typical / (factor[1] if factor else 1.0)
        rows.append(row)
    options = {
        name: one
        for name, one in points[0].options.items()
        if name in {*workload.options, "mtu"} - {*AXES, "iters", "warmup"}
        and all(point.options.get(name) == one for point in points)
    }
    return Side(None, name, tuple(rows), found.header.tool.name, options)


def _of_setup(found: Setup, rows: Sequence[Mapping[str, Any]]) -> Side:
    asked = {name: one for name, one in found.options.items() if name in CHOICES}
    asked |= {"adapter": found.adapter}
    asked |= {"firmware_mode": found.firmware_mode} if found.firmware_mode else {}
    return _side(found.workload, found.testbed, asked, found.overrides, rows)


def _side(
    workload: str,
    testbed: str,
    asked: Mapping[str, Any],
    overrides: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> Side:
    """Put together again what was simulated."""
    others = {n: one for n, one in asked.items() if n != "switch" and n not in overrides}
    switch = asked.get("switch", True)
    first = others if switch else {**others, "switch": False}
    try:
        machine = Experiment(workload, testbed, first, overrides).machine()
        if isinstance(switch, str) and switch != machine.switch_id:
            # Named where it is another one only: a network may have several models.
            chosen = {**others, "switch": switch}
            machine = Experiment(workload, testbed, chosen, overrides).machine()
    except CatalogError as error:
        raise CatalogError([*error.faults, _KEPT]) from None
    return Side(machine, workload, tuple(dict(row) for row in rows))


def _of_sweep(found: SweepDocument, which: str) -> Side:
    """Return the points of one machine and benchmark of a sweep."""
    rows: Sequence[Mapping[str, Any]] = found.rows
    for word in which.split(",") if which else ():
        column, equals, value = (part.strip() for part in word.partition("="))
        values = dict.fromkeys(str(row[column]) for row in rows if column in row)
        if not equals or value not in values:
            columns = [*dict.fromkeys(name for row in found.rows for name in row)]
            allowed = f"{column}={one_of(list(values))}" if values else "COLUMN=VALUE"
            close = nearest(value, list(values)) if values else nearest(column, columns)
            raise CatalogError([f"found {word!r}; allowed: {allowed}{close}"])
        rows = [row for row in rows if str(row.get(column)) == value]
    rows = [row for row in rows if ERROR not in row]
    if not rows:
        raise CatalogError(["found no point that was simulated; allowed: one or more"])
    names = dict.fromkeys(name for row in rows for name in row if _is_of_machine(name))
    several = {n: dict.fromkeys(str(row.get(n, "")) for row in rows) for n in names}
    several = {name: values for name, values in several.items() if len(values) > 1}
    if several:
        told = "; ".join(f"{name} is {one_of(list(values))}" for name, values in several.items())
        example = ",".join(f"{name}={next(iter(values))}" for name, values in several.items())
        said = f"one, as FILE{_WHICH}{example}"
        raise CatalogError([f"found points of several machines: {told}; allowed: {said}"])
    first = rows[0]
    missing = [n for n in ("testbed", "workload") if not isinstance(first.get(n), str)]
    if missing:
        raise CatalogError([f"found no column {name}; allowed: a sweep" for name in missing])
    asked = {name: first[name] for name in CHOICES if name in first}
    overrides = {}
    for column in (name for name in first if "." in name):
        path, unit = column_unit(column)
        overrides[path] = f"{first[column]} {unit}".rstrip()
    return _side(str(first["workload"]), first["testbed"], asked, overrides, rows)


def _is_of_machine(column: str) -> bool:
    return column in ("testbed", "workload", *CHOICES) or "." in column
