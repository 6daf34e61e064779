"""Runs of which a timeline is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcasim.ground.errors import CatalogError
from hcasim.ground.writing import written_through
from hcasim.study.timeline.choice import Choice, read_choice
from hcasim.study.timeline.watching import Timeline

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark

ENDINGS = (".json", ".json.gz")


def is_timeline(file: Path) -> bool:
    """Whether a file is named as one of Chrome's traces."""
    return file.name.lower().endswith(ENDINGS)


@contextmanager
def recorded(file: Path, choice: Choice, run: str) -> Iterator[Timeline]:
    """Write a timeline while something runs; if it does not end, nothing is left of the file.

    Parameters:
        file: .json, or .json.gz, which is compressed.
        choice: the part of the run that is shown.
        run: what runs, in words.

    Yields:
        What is to follow the simulator of the run.
    """
    with written_through(file) as write:
        shown = Timeline(write, choice, run)
        yield shown
        shown.finish()


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
    from hcasim.runs.benchmark import run_benchmark
    from hcasim.runs.experiment import Experiment

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
