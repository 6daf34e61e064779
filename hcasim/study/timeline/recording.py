"""Runs of which a timeline is written, and which part of them."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.ground.errors import name_fault, refuse, text_fault
from hcasim.ground.units import UnitError, format_time, parse_time
from hcasim.runs.benchmark import Benchmark, run_benchmark
from hcasim.runs.experiment import Experiment
from hcasim.study.onlooker import written
from hcasim.study.timeline.tracks import Choice
from hcasim.study.timeline.watching import Timeline

ENDINGS = (".json", ".json.gz")


def is_timeline(file: Path) -> bool:
    """Whether a file is named as one of Chrome's traces."""
    return file.name.lower().endswith(ENDINGS)


def recorded(file: Path, choice: Choice, run: str) -> AbstractContextManager[Timeline]:
    """Write a part of a run as a timeline while it runs; `run` says in words what that is."""
    return written(file, lambda write: Timeline(write, choice, run))


def timeline(
    workload: str,
    testbed: Any,
    file: str | PathLike[str],
    *,
    time: str | None = None,
    nodes: str | None = None,
    **options: Any,
) -> Benchmark:
    """Run one point of a benchmark and write its timeline, which Perfetto opens.

    Parameters:
        workload: its name, such as "write_lat".
        testbed: its id, its file, or a machine.
        file: .json, or .json.gz, which is compressed.
        time: the part that is shown, such as "10us..50us"; all of it without.
        nodes: those that are shown, such as "0,1"; all, and the switches, without.
        options: those of `bench`, each with one value.

    Returns:
        What was measured.

    Raises:
        CatalogError: every fault of the request, or the file cannot be written.
    """
    refuse(
        name_fault("file", file, "the path of a file"),
        "" if time is None else text_fault("time", time),
        "" if nodes is None else text_fault("nodes", nodes),
    )
    path, faults = Path(file), list[str]()
    if not is_timeline(path):
        faults.append(f"file: found {str(path)!r}; allowed endings: {' and '.join(ENDINGS)}")
    prepared = Experiment.of(workload, testbed, **options).benchmark()
    if len(prepared) != 1:
        faults.append(f"a timeline shows one point, found {len(prepared)}")
    choice = read_choice(time, nodes, prepared[0].machine.nodes, faults)
    refuse(*faults)
    with recorded(path, choice, f"{workload} on {prepared[0].machine.id}") as shown:
        return run_benchmark(prepared, listen=shown.follow)


def read_choice(
    time: str | None,
    nodes: str | None,
    count: int | None,
    faults: list[str],
    names: tuple[str, str] = ("time", "nodes"),
) -> Choice:
    """Read which part of a run is wanted.

    Parameters:
        time: such as "10us..50us", where either end may be left out.
        nodes: such as "0,1".
        count: nodes of the machine; None if they are not known.
        faults: what is wrong is added.
        names: of the two, for messages.
    """
    begin_ps, end_ps = 0, None
    if time is not None:
        try:
            begin_ps, end_ps = _span(time)
        except UnitError as error:
            faults.append(f"{names[0]}: {error}")
    chosen = None if nodes is None else _numbers(nodes, count, faults, names[1])
    return Choice(begin_ps, end_ps, chosen)


def _span(time: str) -> tuple[int, int | None]:
    allowed = "BEGIN..END, such as 10us..50us"
    first, dots, last = (part.strip() for part in time.partition(".."))
    if not dots or not (first or last):
        raise UnitError(time, allowed)
    begin_ps = parse_time(first) if first else 0
    end_ps = parse_time(last) if last else None
    if end_ps is not None and end_ps <= begin_ps:
        span = f"{format_time(begin_ps)}..{format_time(end_ps)}"
        raise UnitError(time, allowed, text=f"{span}, which ends before it begins")
    return begin_ps, end_ps


def _numbers(nodes: str, count: int | None, faults: list[str], name: str) -> set[int]:
    most = "" if count is None else f" to {count - 1}"
    allowed = f"numbers of nodes from 0{most}, with commas between them"
    found = set()
    for text in nodes.split(","):
        number = int(text) if re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII) else -1
        if number < 0 or (count is not None and number >= count):
            faults.append(f"{name}: found {text!r}; allowed: {allowed}")
        found.add(number)
    return found
