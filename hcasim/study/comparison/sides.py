"""Two sides: machines to simulate, or results that there are already; and what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeGuard

from pydantic import Field

from hcasim.catalog import CatalogError, Machine, Value
from hcasim.catalog.section import Evidence
from hcasim.ground.errors import display, file_name, nearest, one_of, refuse
from hcasim.ground.reading import MEASURED, read_file
from hcasim.papers.replay import RunDocument
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.document import BenchmarkDocument, Form, Setup
from hcasim.runs.experiment import Experiment, unknown_settings
from hcasim.runs.machine import CHOICES
from hcasim.study.agreement.published import trace_rows
from hcasim.traces import Source, Trace, import_trace
from hcasim.workloads import find_workload
from hcasim.workloads.options import AXES

Given = str | PathLike[str] | Machine | Benchmark


@dataclass(frozen=True)
class Side:
    """What is compared.

    Parameters:
        machine: its machine; None of a measurement, whose machine has no description.
        workload: what was measured, if anything was.
        rows: what that gave.
        tool: what has measured it, if it was no simulation.
        options: of the workload that hold for all rows of a measurement.
    """

    machine: Machine | None
    workload: str = ""
    rows: tuple[Mapping[str, Any], ...] = ()
    tool: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


class Had(Form):
    """What a machine has for a parameter."""

    value: Value = Field(description="in base units")
    text: str
    evidence: Evidence
    source: str


class Difference(Form):
    """A parameter that two machines do not have alike; one that has none of the name has null."""

    path: str
    unit: str
    a: Had | None
    b: Had | None

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as they are written; empty where there is none."""
        a, b = (one.text if one is not None else "" for one in (self.a, self.b))
        return a, b


def differences(a: Machine | None, b: Machine | None) -> list[Difference]:
    """Return the parameters that differ, in the order of the descriptions; none if one has none."""
    if a is None or b is None:
        return []
    ours, theirs = ({one.path: one for one in machine.parameters} for machine in (a, b))
    found = []
    for path, known in {**ours, **theirs, **ours}.items():
        had = [
            one and Had(value=one.value, text=one.text, evidence=one.evidence, source=one.origin)
            for one in (ours.get(path), theirs.get(path))
        ]
        if len({one and one.value for one in had}) > 1:
            found.append(Difference(path=path, unit=known.unit, a=had[0], b=had[1]))
    return found


def parts(a: Machine | None, b: Machine | None) -> dict[str, tuple[str, str]]:
    """Return what two machines are made of, where that differs, by the name of its option.

    Where nodes are of several groups, the name of each stands before what is its own.
    """
    if a is None or b is None:
        return {}
    ours, theirs = _parts(a), _parts(b)
    every = {name: (ours.get(name, ""), theirs.get(name, "")) for name in {**ours, **theirs}}
    return {name: pair for name, pair in every.items() if pair[0] != pair[1]}


def _parts(machine: Machine) -> dict[str, str]:
    found = {"testbed": machine.id}
    for group in machine.groups:
        start = f"{group.name}." if len(machine.groups) > 1 else ""
        found[f"{start}adapter"] = group.adapter.id
        found[f"{start}firmware_mode"] = group.firmware_mode or ""
        found |= {f"{start}host": group.host.id, f"{start}stack": group.stack.id}
    found["switch"] = ", ".join(dict.fromkeys(one.id for one in machine.switches.values()))
    return found | {"mtu": str(machine.mtu)}


ALLOWED = (
    "a testbed by id or file, a .json file that bench -o or run -o has written, or a "
    "measurement: a trace, or what perftest, OSU, IMB or NetPIPE printed"
)
_KINDS: dict[str, type[BenchmarkDocument | RunDocument]] = {
    "hcasim-bench": BenchmarkDocument,
    "hcasim-run": RunDocument,
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
    if (name := file_name(given)) is None:
        return False
    file = Path(_file(name)[0])
    return file.suffix.lower() in _WRITTEN or (file.suffix not in ("", ".toml") and file.is_file())


def read_sides(
    given: tuple[Given, Given],
    workload: str,
    same: Mapping[str, Any],
    own: Sequence[Mapping[str, Any] | None],
    faults: list[str],
) -> list[Experiment | Side]:
    """Return both sides: what is asked of the simulator, or a result that there is.

    Parameters:
        given: testbeds, machines or results.
        workload: the benchmark; empty if none is run.
        same: settings of both sides: options, choices and "overrides".
        own: settings of each side by name or path.
        faults: gets a line for each that is wrong.
    """
    found: list[Experiment | Side] = []
    for label, one, settings in zip("ab", given, own, strict=True):
        chosen = {**same, **(settings or {})}
        try:
            if not is_result(one):
                assert not isinstance(one, Benchmark)
                refuse(*unknown_settings(chosen, label))
                found.append(Experiment.of(workload, one, **same).with_(**(settings or {})))
                continue
            if workload or settings:
                faults.append(f"{label}: found a result beside settings; allowed: {ALLOWED}")
            found.append(read_result(one))
        except CatalogError as error:
            faults += error.faults
    return found


def read_result(given: str | PathLike[str] | Benchmark) -> Side:
    """Return a result as a side.

    Parameters:
        given: a benchmark; a file that `hcasim bench` or `run` has written as JSON; or a
            measurement. "FILE#NAME" is one of several series or measured workloads.

    Raises:
        CatalogError: the file holds none, or several, or one of a machine that is not known here.
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
    except (ValueError, RecursionError, CatalogError) as error:
        faults = error.faults if isinstance(error, CatalogError) else []
        raise CatalogError([*faults, f"{where}: found no result; allowed: {ALLOWED}"]) from None
    try:
        if isinstance(found, Trace):
            return _of_trace(found, which)
        if isinstance(found, RunDocument):
            names = [one.name for one in found.series]
            series = found.series[names.index(_one(names, which, "series"))]
            return _of_setup(series, series.rows)
        if which:
            raise CatalogError([f"found {_WHICH}{which}; allowed: a file of run with it"])
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
    options = {
        name: one
        for name, one in points[0].options.items()
        if name in {*workload.options, "mtu"} - {*AXES, "iters", "warmup"}
        and all(point.options.get(name) == one for point in points)
    }
    rows = tuple(trace_rows(found, name, workload.fields))
    return Side(None, name, rows, found.header.tool.name, options)


def _of_setup(found: Setup, rows: Sequence[Mapping[str, Any]]) -> Side:
    """Put together again what was simulated."""
    chosen = {n: one for n, one in found.options.items() if n in {*CHOICES} - {*found.overrides}}
    chosen |= {"adapter": found.adapter}
    chosen |= {"firmware_mode": found.firmware_mode} if found.firmware_mode else {}
    switch = chosen.pop("switch", True)
    if not switch:
        chosen["switch"] = False
    asked = Experiment(found.workload, found.testbed, chosen, found.overrides)
    try:
        machine = asked.machine()
        if isinstance(switch, str) and switch != machine.switch_id:
            # Named where it is another one only: a network may have several models.
            machine = asked.with_(switch=switch).machine()
    except CatalogError as error:
        raise CatalogError([*error.faults, _KEPT]) from None
    return Side(machine, found.workload, tuple(dict(row) for row in rows))
