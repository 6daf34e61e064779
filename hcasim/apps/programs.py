"""What can be run: a function, a file, a kernel of the NAS benchmarks, or machine learning."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard

from hcasim.apps.file import Beside, load
from hcasim.apps.ml import LEARNING
from hcasim.apps.nas import KERNELS
from hcasim.apps.run import Main, Show
from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import Fault, file_name, nearest, one_of
from hcasim.ground.reading import NoSuchFile

PYTHON: Final = ".py"
_KERNEL = re.compile(r"([a-z]{2})\.([A-Z])")
_KERNELS: Final = one_of([f"{name}.A" for name in KERNELS])

Make = Callable[[Machine, int, Show | None], Main]
"""Makes the function of each process, for a machine and a number of processes."""


class Program(NamedTuple):
    """Something that can be run.

    Attributes:
        name: as people know it.
        make: what each process runs.
        beside: modules that a file of Python imports, if it is one.
        counted: whether it counts what it computes, which then takes time by a rate.
    """

    name: str
    make: Make
    beside: Beside | None = None
    counted: bool = False


def is_program(name: object) -> TypeGuard[str | PathLike[str]]:
    """Whether a name is that of a program, or of a file, which may not be there."""
    if (text := file_name(name)) is None:
        return False
    return text in LEARNING or "." in text or "/" in text


def find_program(
    program: str | PathLike[str] | Main,
    arguments: Sequence[str] = (),
    rate: float | None = None,
) -> Program:
    """Return what can be run, from what `hcasim.app` is given, or raise a CatalogError."""
    found = _find(program, arguments, rate)
    if rate is not None and not found.counted:
        name = program if isinstance(program, str | PathLike) else "a function"
        allowed = "with a trace that counts operations, as those of Chakra may do"
        raise CatalogError([f"rate: has no meaning for {Path(name).name}; allowed: {allowed}"])
    return found


def _find(
    program: str | PathLike[str] | Main, arguments: Sequence[str], rate: float | None
) -> Program:
    if isinstance(program, str) and _KERNEL.fullmatch(program):
        _without_arguments(arguments)
        return _kernel(program)
    if isinstance(program, str) and program in LEARNING:
        label, make = LEARNING[program].read(arguments)
        return Program(label, lambda machine, ranks, show: make(machine, ranks))
    if (name := file_name(program)) is not None:
        file = Path(name)
        if file.suffix != PYTHON:
            return _trace(file, arguments, rate)
        main, beside = load(file, arguments)
        return Program(file.stem, lambda machine, ranks, show: main, beside)
    if not callable(program):
        allowed = "a file, a kernel such as 'is.B', or a function of a communicator"
        raise CatalogError([Fault("program", program, allowed)])
    return Program(getattr(program, "__name__", "program"), lambda machine, ranks, show: program)


def _trace(file: Path, arguments: Sequence[str], rate: float | None) -> Program:
    from hcasim.apps.replay import RATE, read_schedule

    try:
        trace = read_schedule(file)
    except NoSuchFile:
        known = [f"{name}.{class_}" for name, one in KERNELS.items() for class_ in one.sizes]
        hint = nearest(file.name, [*known, *LEARNING])
        allowed = f"a file, a kernel such as {_KERNELS}, or {one_of([*LEARNING])}{hint}"
        found = f"found {str(file)!r}, which is no file"
        raise CatalogError([f"program: {found}; allowed: {allowed}"]) from None
    _without_arguments(arguments)

    def make(machine: Machine, ranks: int, show: Show | None) -> Main:
        if ranks != trace.ranks:
            allowed = f"{trace.ranks}, as {file.name} was recorded with"
            raise CatalogError([f"ranks: found {ranks}; allowed: {allowed}"])
        return trace.program(show, RATE if rate is None else rate)

    return Program(file.stem, make, counted=trace.counted)


def _without_arguments(arguments: Sequence[str]) -> None:
    if arguments:
        found = " ".join(arguments)
        raise CatalogError([f"arguments: found {found!r}; allowed: with a file of Python only"])


def _kernel(name: str) -> Program:
    short, _, class_ = name.partition(".")
    if short not in KERNELS:
        hint = nearest(name, [f"{one}.{class_}" for one in KERNELS])
        raise CatalogError([f"program: found {name!r}; allowed: a file, or {_KERNELS}{hint}"])
    kernel = KERNELS[short]
    kernel.operations(class_)

    def make(machine: Machine, ranks: int, show: Show | None) -> Main:
        faults = [f"ranks: {fault}" for fault in kernel.processes(class_, ranks)]
        rate: Any = getattr(machine.host.computing, f"nas_{short}", None)
        if rate is None:
            path = f"host.computing.nas_{short}"
            needed = f"needed: --set {path}, such as '500 Mop/s'"
            faults.append(f"{path}: {machine.host.id} has none; {needed}")
        if faults:
            raise CatalogError(faults)
        return kernel.program(class_, float(rate), show)

    return Program(name, make)
