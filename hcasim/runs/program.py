"""Runs a program of MPI on a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from os import PathLike
from time import perf_counter
from typing import Any, Final

from hcasim.apps.programs import find_program
from hcasim.apps.replay.recording import Recording
from hcasim.apps.run import Listen, Main, Show, placement_faults
from hcasim.apps.run import run as run_program
from hcasim.catalog import CatalogError, Machine
from hcasim.catalog.algorithms import algorithm_faults
from hcasim.ground.errors import (
    call_fault,
    count_fault,
    flag_fault,
    nearest,
    one_of,
    refuse,
    table_fault,
    words_fault,
)
from hcasim.ground.faults import shown
from hcasim.ground.units import OPERATIONS, UnitError
from hcasim.mpi import DeadlockError, MPIError
from hcasim.mpi.job import PLACEMENTS
from hcasim.runs.application import Application
from hcasim.runs.machine import CHOICES, PLAIN, find_machine
from hcasim.workloads.result import Meter

LEAST_RATE: Final = 1
MOST_RATE: Final = 10**18
"""Operations a second."""


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
    record: bool = False,
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
        record: also keep what its processes do, for `Application.goal` and `save_goal`.
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
        flag_fault("record", record),
        count_fault("ranks", ranks),
        count_fault("ppn", ppn),
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
    recording = Recording(ranks) if record else None
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
                recording=recording,
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
        recording=recording,
        rate=speed,
    )


def launch_faults(machine: Machine | None, ranks: int, ppn: int, map_by: str) -> list[str]:
    """Say what is wrong with how processes are to be placed on a machine, if that is known."""
    faults = []
    if map_by not in PLACEMENTS:
        hint = nearest(map_by, PLACEMENTS)
        faults.append(f"map_by: found {map_by!r}; allowed: {one_of(PLACEMENTS)}{hint}")
    if machine is None:
        return faults
    if machine.stack.mpi is None:
        faults.append(f"stack: found {machine.stack.id!r}, which has no MPI library")
    return faults + placement_faults(machine, ranks, ppn)


def read_rate(rate: float | str | None) -> float | None:
    """Return operations a second.

    Raises:
        CatalogError: it is no such rate.
    """
    if rate is None:
        return None
    allowed = f"allowed: {OPERATIONS.format(LEAST_RATE)} to {OPERATIONS.format(MOST_RATE)}"
    given: object = rate
    try:
        rate = OPERATIONS.parse(rate) if isinstance(rate, str) else rate
    except UnitError as error:
        raise CatalogError([f"rate: {error}"]) from None
    if isinstance(rate, bool) or not isinstance(rate, int | float):
        raise CatalogError([f"rate: found {given!r}; {allowed}"])
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise CatalogError([f"rate: found {shown(given)}; {allowed}"])
    return float(rate)
