"""What can be run: a function, a file, a kernel of the NAS benchmarks, or machine learning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, TypeGuard

from hcasim.apps.file import Beside, faults_of, load
from hcasim.apps.ml import LEARNING
from hcasim.apps.nas import KERNELS
from hcasim.apps.run import Main, Show
from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.reading import NoSuchFile

PYTHON: Final = ".py"
_KERNEL = re.compile(r"([a-z]{2})\.([A-Z])")

Make = Callable[[Machine, int, Show | None], Main]
"""Makes the function of each process, for a machine and a number of processes."""


@dataclass(frozen=True)
class Program:
    """Something that can be run.

    Attributes:
        name: as people know it.
        make: what each process runs.
        file: it is read from, if its lines are to be told of.
        beside: modules that a file of Python imports.
        counted: whether it counts what it computes, which then takes time by a rate.
    """

    name: str
    make: Make
    file: Path | None = None
    beside: Beside | None = None
    counted: bool = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let it import what lies beside it, and tell of an exception by the line of its file."""
        if self.file is None or self.beside is None:
            yield
            return
        with self.beside.entered(), faults_of(self.file):
            yield


def is_program(name: object) -> TypeGuard[str | PathLike[str]]:
    """Whether a name is that of a program, or of a file, which may not be there."""
    if not isinstance(name, str | PathLike):
        return False
    text = str(fspath(name))
    return text in LEARNING or "." in text or "/" in text


def find_program(
    program: str | PathLike[str] | Main,
    arguments: Sequence[str] = (),
    rate: float | None = None,
) -> Program:
    """Return what can be run.

    Parameters:
        program: a file of Python or a trace; a kernel with its class, such as "is.B"; a program
            of machine learning, such as "allreduce"; or a generator function of a communicator.
        arguments: text that the function of a file is given behind its communicator; of machine
            learning a model, and what else is to be known of it, such as "batch=32".
        rate: operations a second, of a trace that counts what is computed.

    Raises:
        CatalogError: it is none, or cannot be read.
    """
    found = _find(program, arguments, rate)
    if rate is not None and not found.counted:
        name = program if isinstance(program, str | PathLike) else "a function"
        allowed = "with a trace that counts operations, as those of SimGrid do"
        raise CatalogError([f"rate: has no meaning for {Path(name).name}; allowed: {allowed}"])
    return found


def _find(
    program: str | PathLike[str] | Main, arguments: Sequence[str], rate: float | None
) -> Program:
    if isinstance(program, str) and _KERNEL.fullmatch(program):
        return _kernel(program, arguments)
    if isinstance(program, str) and program in LEARNING:
        request = LEARNING[program].read(arguments)
        return Program(request.label, lambda machine, ranks, show: request.main(machine, ranks))
    if isinstance(program, str | PathLike):
        return _file(Path(fspath(program)), arguments, rate)
    if not callable(program):
        allowed = "a file, a kernel such as 'is.B', or a function of a communicator"
        raise CatalogError([f"program: found {program!r}; allowed: {allowed}"])
    main = program
    return Program(getattr(main, "__name__", "program"), lambda machine, ranks, show: main)


def _file(file: Path, arguments: Sequence[str], rate: float | None) -> Program:
    if file.suffix == PYTHON:
        main, beside = load(file, arguments)
        return Program(file.stem, lambda machine, ranks, show: main, file, beside)
    from hcasim.apps.replay import RATE, read_schedule

    try:
        trace = read_schedule(file)
    except NoSuchFile:
        known = [f"{name}.{class_}" for name, one in KERNELS.items() for class_ in one.sizes]
        hint = nearest(file.name, [*known, *LEARNING])
        names = one_of([*LEARNING])
        allowed = f"a file, a kernel such as {KERNELS_ALLOWED}, or {names}{hint}"
        raise CatalogError(
            [f"program: found {str(file)!r}, which is no file; allowed: {allowed}"]
        ) from None
    _without_arguments(arguments)

    def make(machine: Machine, ranks: int, show: Show | None) -> Main:
        if ranks != trace.ranks:
            raise CatalogError(
                [f"ranks: found {ranks}; allowed: {trace.ranks}, as {file.name} was recorded with"]
            )
        return trace.program(show, RATE if rate is None else rate)

    return Program(file.stem, make, counted=trace.counted)


def _without_arguments(arguments: Sequence[str]) -> None:
    if arguments:
        found = " ".join(arguments)
        raise CatalogError([f"arguments: found {found!r}; allowed: with a file of Python only"])


KERNELS_ALLOWED: Final = one_of([f"{name}.A" for name in KERNELS])


def _kernel(name: str, arguments: Sequence[str]) -> Program:
    """A kernel by its name and class, as NPB calls its programs."""
    _without_arguments(arguments)
    short, _, class_ = name.partition(".")
    if short not in KERNELS:
        hint = nearest(name, [f"{one}.{class_}" for one in KERNELS])
        raise CatalogError(
            [f"program: found {name!r}; allowed: a file, or {KERNELS_ALLOWED}{hint}"]
        )
    kernel = KERNELS[short]
    kernel.operations(class_)

    def make(machine: Machine, ranks: int, show: Show | None) -> Main:
        faults = [f"ranks: {fault}" for fault in kernel.processes(class_, ranks)]
        rates = machine.host.computing
        rate: Any = getattr(rates, f"nas_{short}", None)
        if rate is None:
            path = f"host.computing.nas_{short}"
            needed = f"needed: --set {path}, such as '500 Mop/s'"
            faults.append(f"{path}: {machine.host.id} has none; {needed}")
        if faults:
            raise CatalogError(faults)
        return kernel.program(class_, float(rate), show)

    return Program(name, make)
