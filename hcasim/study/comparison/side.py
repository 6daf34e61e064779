"""One of two sides: a machine to simulate, or a result that there is already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import nearest, one_of
from hcasim.runs.benchmark import Benchmark, prepare
from hcasim.runs.machine import find_machine
from hcasim.runs.options import find_workload
from hcasim.runs.point import Point
from hcasim.study.sweep.plan import CHOICES
from hcasim.workloads.options import AXES, OPTIONS

Given = str | PathLike[str] | Machine | Benchmark


@dataclass(frozen=True)
class Request:
    """A machine as it is asked for, and how it is used.

    Parameters:
        testbed: id, file or machine.
        choices: of the machine, such as its adapter.
        options: of the benchmark.
        overrides: what-if settings by path.
    """

    testbed: Any
    choices: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def machine(self, workload: str | None) -> Machine:
        """Put the machine together."""
        known = find_workload(workload) if workload else None
        asked = {**self.choices, "overrides": dict(self.overrides)}
        return find_machine(self.testbed, asked, known is not None and known.mpi)

    def points(self, workload: str) -> list[Point]:
        """Return what is to be simulated."""
        settings = {**self.choices, **self.options}
        return prepare(workload, self.testbed, overrides=dict(self.overrides), **settings)

    def changed(self, options: Mapping[str, Any], overrides: Mapping[str, Any]) -> Request:
        """Return it with other options and what-if settings beside its own."""
        return replace(
            self,
            choices={name: one for name, one in self.choices.items() if name not in overrides},
            options={**self.options, **options},
            overrides={**self.overrides, **overrides},
        )

    def under(self, overrides: Mapping[str, Any]) -> Request:
        """Return it with further what-if settings, which its own come before."""
        return replace(self, overrides={**overrides, **self.overrides})


def requested(given: Given, same: Mapping[str, Any], own: Mapping[str, Any], label: str) -> Request:
    """Return what a side asks for.

    Parameters:
        given: a testbed, or a machine.
        same: settings of both sides: options, choices and "overrides".
        own: settings of this side by name or path.
        label: of the side, for faults.

    Raises:
        CatalogError: names that are no settings.
    """
    own_paths = {name: one for name, one in own.items() if "." in name}
    settings = {**same, **{name: one for name, one in own.items() if "." not in name}}
    overrides = {**(settings.pop("overrides", None) or {}), **own_paths}
    known = (*CHOICES, *OPTIONS)
    faults = [
        f"{label}: found {name!r}; allowed: {one_of(known)}, or a path of --set"
        f"{nearest(name, known)}"
        for name in settings
        if name not in known
    ]
    if faults:
        raise CatalogError(faults)
    settings = {name: one for name, one in settings.items() if one is not None}
    choices = {name: one for name, one in settings.items() if name in CHOICES}
    options = {name: one for name, one in settings.items() if name in OPTIONS}
    return Request(given, choices, options, overrides)


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
