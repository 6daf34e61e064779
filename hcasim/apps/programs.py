"""What can be run: a function, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from hcasim.apps.file import faults_of, load
from hcasim.apps.run import Main
from hcasim.catalog import CatalogError


@dataclass(frozen=True)
class Program:
    """Something that can be run.

    Attributes:
        name: as people know it.
        main: what each process runs.
        file: it is read from, if its lines are to be told of.
    """

    name: str
    main: Main
    file: Path | None = None

    def faults(self) -> AbstractContextManager[None]:
        """Tell of an exception of the program by the line of its file, if it has one."""
        return nullcontext() if self.file is None else faults_of(self.file)


def find_program(
    program: str | PathLike[str] | Main, arguments: Sequence[str] = ()
) -> Program:
    """Return what can be run.

    Parameters:
        program: a file, or a generator function of a communicator.
        arguments: text that the function of a file is given behind its communicator.

    Raises:
        CatalogError: it is none, or cannot be read.
    """
    if isinstance(program, str | PathLike):
        file = Path(fspath(program))
        return Program(file.stem, load(file, arguments), file)
    if not callable(program):
        raise CatalogError(
            [f"program: found {program!r}; allowed: a file, or a function of a communicator"]
        )
    return Program(getattr(program, "__name__", "program"), program)
