"""A program of MPI and how it is started, as one of many things to simulate."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcasim.apps.file import import_state
from hcasim.apps.programs import PYTHON, find_program, is_program
from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import one_of, refuse
from hcasim.runs.machine import notes_on
from hcasim.runs.program import app, launch_faults, read_rate
from hcasim.workloads.result import Result

if TYPE_CHECKING:
    from hcasim.workloads.registry import Listen

LAUNCH = ("ranks", "ppn", "map_by", "arguments", "rate")
"""What is said of a program beside its machine."""


@dataclass(frozen=True)
class Launch:
    """A program on a machine, as one `hcasim.runs.point.Work` of many.

    Parameters:
        workload: the program: a file, or a name such as "is.A"; what follows is as of `hcasim.app`.
        arguments: of the program, as a shell divides them.
        digest: of the program's file; empty if it is none.
        place: where its file is, for a worker in another folder.
    """

    workload: str
    machine: Machine
    ranks: int
    ppn: int = 1
    map_by: str = "block"
    arguments: str = ""
    rate: str | None = None
    exact: bool = False
    digest: str = ""
    place: str = field(default="", compare=False)

    @property
    def weight(self) -> int:
        # Nobody knows what a program does.
        return self.ranks << 20

    @cached_property
    def key(self) -> str:
        said = json.dumps([getattr(self, name) for name in (*LAUNCH, "exact")])
        return f"app {self.workload} {self.digest} {self.machine.digest} {said}"

    @property
    def reads(self) -> bool:
        return bool(self.digest)

    @property
    def title(self) -> str:
        return f"{self.workload} with {self.ranks} ranks"

    def bare(self) -> Launch:
        return replace(self, machine=self.machine.bare())

    @property
    def settings(self) -> dict[str, Any]:
        """How it is started, and how the machine is used."""
        own = {name: one for name in LAUNCH if (one := getattr(self, name)) not in (None, "")}
        return {**self.machine.choices, **own, "exact": self.exact}

    @property
    def notes(self) -> tuple[str, ...]:
        """What its result leaves out that a reader may expect."""
        return notes_on(self.machine, -(-self.ranks // self.ppn))

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        """Simulate it in this process; times are means over processes.

        Raises:
            CatalogError: it cannot be started so, or goes wrong.
        """
        own = {name: getattr(self, name) for name in ("ppn", "map_by", "rate", "exact")}
        found = app(
            self.place or self.workload,
            self.machine,
            self.ranks,
            arguments=shlex.split(self.arguments),
            listen=listen,
            profile=profile,
            **own,
        )
        names = "run", "compute", "mpi", "wait"
        means = found.seconds, found.compute_seconds, found.mpi_seconds, found.wait_seconds
        row = {f"{name}_us": 1e6 * mean for name, mean in zip(names, means, strict=True)}
        return Result(row, dict(found.counters), cost=found.cost)


class Launches:
    """Reads what is asked of programs, each of which is looked at once."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._faults: dict[tuple[str, str, str | None], list[str]] = {}

    def read(self, program: object, machine: Machine, given: Mapping[str, Any]) -> Launch:
        """Return a program as it was asked for.

        Parameters:
            program: its name or file.
            machine: what it runs on.
            given: settings by name, as values or as text.

        Raises:
            CatalogError: every fault of the request.
        """
        assert is_program(program)
        name = fspath(program)
        found = _asked(name, machine, given)
        about = name, found.arguments, found.rate
        if about not in self._faults:
            self._faults[about] = _program_faults(*about)
        refuse(*launch_faults(machine, found.ranks, found.ppn, found.map_by), *self._faults[about])
        if name not in self._digests:
            self._digests[name] = _digest(name)
        digest = self._digests[name]
        return replace(found, digest=digest, place=str(Path(name).absolute()) if digest else "")


def _asked(name: str, machine: Machine, given: Mapping[str, Any]) -> Launch:
    own, allowed = dict(given), (*LAUNCH, "exact")
    known = one_of(allowed)
    faults = [
        f"{one}: {name} has no such option; it has {known}" for one in own if one not in allowed
    ]
    if "ranks" not in own:
        faults.append(f"ranks: found none; allowed: how many processes {name} has")
    for one in ("ranks", "ppn"):
        text = str(own.get(one, 1)).strip()
        if isinstance(own.get(one), bool) or not text.isdecimal() or not int(text):
            faults.append(f"{one}: found {own[one]!r}; allowed: a whole number of 1 or more")
        elif one in own:
            own[one] = int(text)
    refuse(*faults)
    for one in ("arguments", "rate"):
        if own.get(one) is not None:
            own[one] = str(own[one])
    return Launch(name, machine, **own)


def _program_faults(name: str, arguments: str, rate: str | None) -> list[str]:
    """Say why there is no such program, or it cannot be given what it is to be given."""
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        return [f"arguments: found {arguments!r}: {error}"]
    try:
        find_program(name, words, read_rate(rate))
    except CatalogError as error:
        return [*error.faults]
    return []


def _digest(program: str | PathLike[str]) -> str:
    """Return a digest of a program and of what its imports depend on; empty if it is no file."""
    file = Path(program)
    if not file.is_file():
        return ""
    found = hashlib.sha256(file.resolve().as_posix().encode())
    # The program itself will say that it cannot be read.
    with suppress(OSError):
        found.update(file.read_bytes())
    if file.suffix == PYTHON:
        found.update(os.fsencode(f"\0{import_state()}"))
    return found.hexdigest()
