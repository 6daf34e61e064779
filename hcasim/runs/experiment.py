"""A question to the simulator: a workload with its options, on a machine with its choices."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from os import PathLike
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError, Machine, nearest, one_of
from hcasim.ground.errors import refuse, settings_fault
from hcasim.runs.machine import CHOICES, PLAIN, find_machine
from hcasim.runs.point import Point
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.checks import check
from hcasim.workloads.netpipe import add_ladder
from hcasim.workloads.options import OPTIONS
from hcasim.workloads.workload import read_options

if TYPE_CHECKING:
    from hcasim.runs.program import Launch


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is asked of the simulator.

    Parameters:
        workload: name of a benchmark; or a program of MPI, as `hcasim.app` takes it.
        testbed: id or file, or a machine that `hcasim.machine` put together, which leaves no
            choice.
        settings: by name: choices of the machine (`CHOICES`) and options of the workload, of an
            axis a value or several, as numbers or as text.
        overrides: what-if settings by path.
    """

    workload: str
    testbed: str | PathLike[str] | Machine | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, workload: str, testbed: str | PathLike[str] | Machine | None, **settings: Any
    ) -> Experiment:
        """Return an experiment from settings by name or path; those that are None are left out."""
        return cls(workload, testbed).with_(**settings)

    def with_(self, **settings: Any) -> Experiment:
        """Return it with other settings beside its own, by name or by path."""
        given = settings.pop("overrides", None)
        refuse(settings_fault(given))
        paths = {**self.overrides, **(given or {})}
        paths |= {name: settings.pop(name) for name in [*settings] if "." in name}
        own = {name: one for name, one in settings.items() if one is not None}
        return replace(self, settings={**self.settings, **own}, overrides=paths)

    def under(self, overrides: Mapping[str, Any]) -> Experiment:
        """Return it with further what-if settings, which its own come before."""
        return replace(self, overrides={**overrides, **self.overrides})

    def vary(self, **values: Sequence[Any]) -> Iterator[Experiment]:
        """Yield it with each value of each setting, by name or by path; the last varies fastest."""
        for row in product(*values.values()):
            yield self.with_(**dict(zip(values, row, strict=True)))

    @property
    def choices(self) -> dict[str, Any]:
        """What of the settings says which machine it is."""
        return {name: one for name, one in self.settings.items() if name in CHOICES}

    @property
    def options(self) -> dict[str, Any]:
        """What of the settings the workload understands, or should."""
        return {name: one for name, one in self.settings.items() if name not in CHOICES}

    @cached_property
    def digest(self) -> str:
        """What tells it from all others: equal ones have equal points."""
        testbed = self.testbed
        place = testbed.digest if isinstance(testbed, Machine) else str(testbed)
        said = [self.workload, place, dict(self.settings), dict(self.overrides)]
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def machine(self) -> Machine:
        """Put the machine together.

        Raises:
            CatalogError: every fault of the request, or choices beside a machine.
        """
        known = find_workload(self.workload)
        mpi = self.is_program if known is None else known.mpi
        return find_machine(self.testbed, {**self.choices, "overrides": self.overrides}, mpi)

    @property
    def is_program(self) -> bool:
        """Whether the workload is a program of MPI, not a benchmark."""
        from hcasim.apps.programs import is_program

        return find_workload(self.workload) is None and is_program(self.workload)

    def points(self) -> list[Point | Launch]:
        """Return what is to be simulated: a program, or the points of a benchmark.

        Raises:
            CatalogError: every fault of the request.
        """
        if not self.is_program:
            return [*self.benchmark()]
        from hcasim.runs.program import read_launch

        return [read_launch(self.workload, self.machine(), self.options)]

    def benchmark(self) -> list[Point]:
        """Return the points of a benchmark, each value of an axis with each of the others.

        Raises:
            CatalogError: every fault of the request, also that it is no benchmark.
        """
        found = find_workload(self.workload)
        faults = [] if found else [unknown_workload(self.workload)]
        given = dict(self.options)
        around = given.pop("perturbation", None)
        if found is None:
            read_options(given, faults)
        else:
            given = found.read(given, faults)
            faults += add_ladder(found, given, around)
        machine = None
        try:
            machine = self.machine()
        except CatalogError as error:
            faults += error.faults
            # The limits of the machine as it is tell more faults in the same run.
            with suppress(CatalogError):
                machine = self.plain.machine()
        if found is not None:
            if machine is not None:
                given = found.as_many_as_there_are(machine, given)
            faults += check(found, machine, given)
        if faults or found is None or machine is None:
            raise CatalogError(faults)
        return [Point(found.name, machine, one) for one in found.each_point(given)]

    @property
    def plain(self) -> Experiment:
        """The same on a machine with no more of its own than adapter and host."""
        kept = {name: one for name, one in self.settings.items() if name in PLAIN}
        return replace(self, settings=kept, overrides={})


def unknown_settings(names: Iterable[str], label: str) -> list[str]:
    """Return a line, after a label, for each name that is no setting of a benchmark, nor a path."""
    known = (*CHOICES, *OPTIONS)
    return [
        f"{label}: found {name!r}; allowed: {one_of(known)}, or a path of --set"
        f"{nearest(name, known)}"
        for name in names
        if "." not in name and name not in (*known, "overrides")
    ]


def unexplained(command: str, settings: Mapping[str, Any]) -> str:
    """Say that a result has no place for what `explain` asks for, if that was asked for."""
    if settings.get("explain") in (None, False):
        return ""
    why = "which does not look into points"
    return f"explain: found with {command}, {why}; allowed: bench or why"
