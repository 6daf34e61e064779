"""One of two sides: a machine to simulate, or a result that there is already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from hcasim.catalog import Machine
from hcasim.ground.errors import refuse
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.experiment import Experiment, unknown_settings
from hcasim.workloads.options import AXES

Given = str | PathLike[str] | Machine | Benchmark


def requested(
    given: Given, workload: str, same: Mapping[str, Any], own: Mapping[str, Any], label: str
) -> Experiment:
    """Return what a side asks for.

    Parameters:
        given: a testbed, or a machine.
        workload: the benchmark; empty if none is run.
        same: settings of both sides: options, choices and "overrides".
        own: settings of this side by name or path.
        label: of the side, for faults.

    Raises:
        CatalogError: names that are no settings.
    """
    refuse(*unknown_settings({**same, **own}, label))
    assert not isinstance(given, Benchmark)
    return Experiment.of(workload, given, **same).with_(**own)


@dataclass(frozen=True)
class Side:
    """What is compared.

    Parameters:
        machine: its machine.
        workload: what was measured, if anything was.
        rows: what that gave.
    """

    machine: Machine
    workload: str = ""
    rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def keyed(self) -> dict[tuple[tuple[str, int], ...], Mapping[str, Any]]:
        """The rows by what varies from row to row of any benchmark, such as their size."""
        return {tuple((n, row[n]) for n in AXES if n in row): row for row in self.rows}
