"""Results that there are already: of Python, or in files that bench, run and sweep have written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import display, nearest, one_of
from hcasim.ground.reading import read_file
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import CHOICES
from hcasim.study.comparison.side import Side

if TYPE_CHECKING:
    from hcasim.papers.document import RunDocument
    from hcasim.runs.document import Setup
    from hcasim.study.sweep.document import SweepDocument

ALLOWED = "a testbed by id or file, or a .json file that bench -o, run -o or sweep -o has written"
_UNITS = {
    "ns_per_m": "ns/m",
    "ns": "ns",
    "B": "B",
    "MHz": "MHz",
    "MBps": "MB/s",
    "Mops": "Mop/s",
    "m": "m",
}
"""Of what a column of a sweep ends in, as --set takes it."""
_WHICH = "#"
_TABLES = (".csv", ".jsonl", ".parquet")


def is_result(given: object) -> TypeGuard[str | PathLike[str] | Benchmark]:
    """Whether a side is a result, not a machine to simulate."""
    if isinstance(given, Benchmark):
        return True
    if not isinstance(given, str | PathLike):
        return False
    return _file(given)[0].lower().endswith((".json", *_TABLES))


_KEPT = (
    "a result keeps the ids of descriptions: what it was measured on must still be there, "
    "a file of your own in a folder of HCASIM_PATH"
)


def read_result(given: str | PathLike[str] | Benchmark) -> Side:
    """Return a result as a side.

    Parameters:
        given: a benchmark, or a file that `hcasim bench`, `run` or `sweep` has written as JSON; of
            several series "FILE#NAME" is one, of several machines "FILE#COLUMN=VALUE,...".

    Raises:
        CatalogError: the file holds none, or of several machines, or one that is not known here.
    """
    if isinstance(given, Benchmark):
        return Side(given.machine, given.workload, given.curve.rows)
    from pydantic import ValidationError

    from hcasim.papers.document import RunDocument
    from hcasim.runs.document import BenchmarkDocument
    from hcasim.study.sweep.document import SweepDocument

    file, which = _file(given)
    where = display(Path(file))
    kinds: dict[str, type[BenchmarkDocument | RunDocument | SweepDocument]] = {
        "hcasim-run": RunDocument,
        "hcasim-sweep": SweepDocument,
    }
    try:
        told = json.loads(read_file(Path(file), else_allowed=ALLOWED))
        schema = told.get("schema") if isinstance(told, dict) else None
        found = kinds.get(str(schema), BenchmarkDocument).model_validate(told)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise CatalogError([f"{where}: {place}: {first['msg']}; allowed: {ALLOWED}"]) from None
    except (ValueError, RecursionError):
        raise CatalogError([f"{where}: found no JSON; allowed: {ALLOWED}"]) from None
    try:
        if isinstance(found, RunDocument):
            return _of_run(found, which)
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
    if Path(name).suffix.lower() == ".json":
        return name, ""
    file, mark, which = name.rpartition(_WHICH)
    return (file, which) if mark and file.lower().endswith(".json") else (name, "")


def _of_setup(found: Setup, rows: Sequence[Mapping[str, Any]]) -> Side:
    own: dict[str, Any] = dict(found.options)
    asked: dict[str, Any] = {name: own[name] for name in CHOICES if name in own}
    asked |= {"adapter": found.adapter, "firmware_mode": found.firmware_mode}
    machine = _machine(found.testbed, asked, found.overrides, found.workload)
    return Side(machine, found.workload, tuple(dict(row) for row in rows))


def _machine(
    testbed: str, asked: Mapping[str, Any], overrides: Mapping[str, Any], workload: str
) -> Machine:
    """Put together again what was measured."""
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
    return machine


def _of_run(found: RunDocument, which: str) -> Side:
    """Return a series of a scenario."""
    names = [one.name for one in found.series]
    every = [one for one in found.series if which in (one.name, "")]
    if len(every) != 1:
        asked = repr(which) if which else f"{len(names)} series"
        said = f"FILE{_WHICH}NAME with {one_of(names)}"
        raise CatalogError([f"found {asked}; allowed: {said}{nearest(which, names)}"])
    return _of_setup(every[0], every[0].rows)


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
    rows = [row for row in rows if "error" not in row]
    names = dict.fromkeys(name for row in rows for name in row if _is_of_machine(name))
    several = {n: dict.fromkeys(str(row.get(n, "")) for row in rows) for n in names}
    several = {name: values for name, values in several.items() if len(values) > 1}
    if several:
        told = "; ".join(f"{name} is {one_of(list(values))}" for name, values in several.items())
        example = ",".join(f"{name}={next(iter(values))}" for name, values in several.items())
        said = f"one, as FILE{_WHICH}{example}"
        raise CatalogError([f"found points of several machines: {told}; allowed: {said}"])
    if not rows:
        raise CatalogError(["found no point that was simulated; allowed: one or more"])
    first = rows[0]
    missing = [n for n in ("testbed", "workload") if not isinstance(first.get(n), str)]
    if missing:
        raise CatalogError([f"found no column {name}; allowed: a sweep" for name in missing])
    asked = {name: first[name] for name in CHOICES if name in first}
    overrides = dict(_override(name, one) for name, one in first.items() if "." in name)
    workload = str(first["workload"])
    machine = _machine(first["testbed"], asked, overrides, workload)
    return Side(machine, workload, tuple(rows))


def _is_of_machine(column: str) -> bool:
    return column in ("testbed", "workload", *CHOICES) or "." in column


def _override(column: str, value: Any) -> tuple[str, str]:
    """Return a what-if setting from a column, whose last word is its unit."""
    for ending, unit in _UNITS.items():
        if column.endswith(f"_{ending}"):
            return column.removesuffix(f"_{ending}"), f"{value} {unit}"
    return column, str(value)
