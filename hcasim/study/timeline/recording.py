"""Runs of which a timeline is written."""

from __future__ import annotations

from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.ground.errors import CatalogError
from hcasim.runs.benchmark import Benchmark, run_benchmark
from hcasim.runs.experiment import Experiment
from hcasim.study.onlooker import written
from hcasim.study.timeline.choice import Choice, read_choice
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
    path, faults = Path(file), list[str]()
    if not is_timeline(path):
        faults.append(f"file: found {str(path)!r}; allowed endings: {' and '.join(ENDINGS)}")
    prepared = Experiment.of(workload, testbed, **options).benchmark()
    if len(prepared) != 1:
        faults.append(f"a timeline shows one point, found {len(prepared)}")
    choice = read_choice(time, nodes, prepared[0].machine.nodes, faults)
    if faults:
        raise CatalogError(faults)
    with recorded(path, choice, f"{workload} on {prepared[0].machine.id}") as shown:
        return run_benchmark(prepared, listen=shown.follow)
