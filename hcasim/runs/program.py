"""A program of MPI on a machine: how it is started, and one run of it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from hcasim.apps.file import import_state
from hcasim.apps.programs import PYTHON, find_program, is_program
from hcasim.apps.run import Listen, Main, Show, placement_faults
from hcasim.apps.run import run as run_program
from hcasim.catalog import CatalogError, Machine
from hcasim.catalog.algorithms import algorithm_faults
from hcasim.ground.errors import (
    call_fault,
    count_fault,
    flag_fault,
    is_one,
    nearest,
    one_of,
    refuse,
    table_fault,
    words_fault,
    written,
)
from hcasim.ground.faults import shown
from hcasim.ground.units import OPERATIONS, UnitError
from hcasim.mpi import DeadlockError, MPIError
from hcasim.mpi.job import PLACEMENTS
from hcasim.runs.application import Application
from hcasim.runs.machine import CHOICES, PLAIN, find_machine, known_once, notes_on
from hcasim.workloads.result import Meter, Result

LEAST_RATE: Final = 1
MOST_RATE: Final = 10**18
"""Operations a second."""
LAUNCH = ("ranks", "ppn", "map_by", "arguments", "rate")
"""What is said of a program beside its machine."""


def app(
    program: str | PathLike[str] | Main,
    testbed: str | PathLike[str] | Machine,
    ranks: int,
    *,
    ppn: int = 1,
    map_by: str = "block",
    arguments: Sequence[str] = (),
    rate: float | str | None = None,
    algorithms: Mapping[str, str] | None = None,
    exact: bool = False,
    progress: Show | None = None,
    profile: bool = False,
    listen: Listen | None = None,
    **choices: Any,
) -> Application:
    """Run a program of MPI, such as `app(main, "liu2004", 4)`.

    Parameters:
        program: a generator function of a communicator, or a file of Python that has one called
            `main`. Calls that take time stand behind `yield from`, such as
            `yield from comm.send(1024, dest)` or `yield from comm.compute(1e-3)`. Or a kernel of
            the NAS benchmarks with its class, such as "is.B"; "allreduce" or another program of
            machine learning; or the file of a trace.
        testbed: its id or file; or a machine that `hcasim.machine` put together with `mpi=True`.
        ranks: processes in all.
        ppn: most of them on a node, each on a processor of its own.
        map_by: "block" fills a node before the next, "cyclic" deals processes out in turn.
        arguments: text that the function of a file is given behind its communicator; of machine
            learning the model, and what else is to be known, such as "batch=32".
        algorithms: of collectives, by name, in place of what the stack's rules choose.
        exact: leave out nothing that repeats itself.
        progress: is told what of how much is done: whenever rank 0 calls `comm.progress(...)`, of
            kernels each iteration.
        profile: also measure what simulating it costs.
        listen: is given the simulator before anything happens.
        choices: of the machine, as `hcasim.bench` takes them: adapter, host, stack, firmware_mode,
            mtu, switch and overrides.

    Raises:
        CatalogError: every fault of the request; of a program that is a file also what it does
            wrong.
        MPIError: a call of the function cannot be done.
        DeadlockError: no process of it can go on.
    """
    unknown = [one for one in choices if one not in (*CHOICES, "overrides")]
    refuse(
        flag_fault("profile", profile),
        flag_fault("exact", exact),
        count_fault("ranks", ranks, needed=True),
        count_fault("ppn", ppn, needed=True),
        words_fault("arguments", arguments),
        table_fault("algorithms", algorithms, "{'bcast': 'binomial'}"),
        call_fault("listen", listen),
        *(f"{one}: no setting; allowed: {one_of(CHOICES)}" for one in unknown),
    )
    faults = algorithm_faults(algorithms or {})
    machine = None
    try:
        machine = find_machine(testbed, choices, mpi=True)
    except CatalogError as error:
        faults += error.faults
        plain = {name: one for name, one in choices.items() if name in PLAIN}
        with suppress(CatalogError):
            machine = find_machine(testbed, plain, mpi=True)
    faults = launch_faults(machine, ranks, ppn, map_by) + faults
    try:
        speed = read_rate(rate)
        found = find_program(program, arguments, speed)
    except CatalogError as error:
        raise CatalogError([*faults, *error.faults]) from None
    if machine is None or faults:
        raise CatalogError(faults)
    main = found.make(machine, ranks, progress)
    meter = Meter(listen) if profile else None
    started = perf_counter()
    try:
        with found.beside.running() if found.beside else nullcontext():
            outcome = run_program(
                machine,
                main,
                ranks,
                ppn,
                map_by=map_by,
                algorithms=algorithms,
                exact=exact,
                show=progress,
                listen=listen if meter is None else meter.watch,
            )
    except (MPIError, DeadlockError) as error:
        if not isinstance(program, str | PathLike):
            raise
        raise CatalogError([f"{found.name}: {error}"]) from None
    return Application(
        program=found.name,
        machine=machine,
        ranks=ranks,
        ppn=ppn,
        map_by=map_by,
        algorithms=dict(algorithms or {}),
        exact=exact,
        outcome=outcome,
        wall_seconds=perf_counter() - started,
        cost=None if meter is None else meter.cost(),
        rate=speed,
    )


def launch_faults(machine: Machine | None, ranks: int, ppn: int, map_by: str) -> list[str]:
    """Say what is wrong with how processes are to be placed on a machine, if that is known."""
    faults = []
    if not is_one(map_by, PLACEMENTS):
        hint = nearest(map_by, PLACEMENTS)
        faults.append(f"map_by: found {written(map_by)}; allowed: {one_of(PLACEMENTS)}{hint}")
    if machine is None:
        return faults
    if machine.stack.mpi is None:
        faults.append(f"stack: found {machine.stack.id!r}, which has no MPI library")
    return faults + placement_faults(machine, ranks, ppn)


def read_rate(rate: float | str | None) -> float | None:
    """Return operations a second; CatalogError if it is no such rate."""
    if rate is None:
        return None
    allowed = f"allowed: {OPERATIONS.format(LEAST_RATE)} to {OPERATIONS.format(MOST_RATE)}"
    given: object = rate
    try:
        rate = OPERATIONS.parse(rate) if isinstance(rate, str) else rate
    except UnitError as error:
        raise CatalogError([f"rate: {error}"]) from None
    if isinstance(rate, bool) or not isinstance(rate, int | float):
        raise CatalogError([f"rate: found {written(given)}; {allowed}"])
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise CatalogError([f"rate: found {shown(given)}; {allowed}"])
    return float(rate)


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
        """Simulate it in this process; times are means over processes."""
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


def read_launch(program: object, machine: Machine, given: Mapping[str, Any]) -> Launch:
    """Return a program, by name or file, as it was asked for by settings, which may be text.

    Inside `each_machine_once` each program is looked at once.

    Raises:
        CatalogError: every fault of the request.
    """
    assert is_program(program)
    name = fspath(program)
    found = _asked(name, machine, given)
    about = name, found.arguments, found.rate
    faults = known_once(("faults of", *about), lambda: _program_faults(*about))
    refuse(*launch_faults(machine, found.ranks, found.ppn, found.map_by), *faults)
    digest = known_once(("digest of", name), lambda: _digest(name))
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
