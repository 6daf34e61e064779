"""Files that a command will write: refused before the long work, not after it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

_Identity = tuple[int, int] | None
"""Device and number of a regular file, whatever it is called."""


class Output(NamedTuple):
    """A file that an option names.

    Parameters:
        option: such as "--plot".
        file: to be written; None if the option was not given.
        endings: those that are allowed; any without them. Devices and pipes may have any.
    """

    option: str
    file: Path | None
    endings: Iterable[str] = ()


class Guard:
    """Keeps files that a command reads from being written by it, under whatever name."""

    def __init__(self) -> None:
        self._read: dict[_Identity, str] = {}
        self._outputs: dict[_Identity, str] = {}

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        """Refuse to open an output for reading, and to replace what has been read."""
        from hcasim.ground.errors import refuse
        from hcasim.ground.process import file_read

        if event == "os.rename":
            identity = _identity(given[1])
            fault = self._fault(identity)
            # Another file may get its number.
            self._outputs.pop(identity, None)
            refuse(fault)
        elif name := file_read(event, given):
            identity = _identity(name)
            self._read.setdefault(identity, name)
            refuse(self._fault(identity))

    def add(self, name: str, file: Path) -> str:
        """Say that a file will be written, or return why it must not be."""
        identity = _identity(file)
        self._outputs.setdefault(identity, name)
        return self._fault(identity)

    def _fault(self, identity: _Identity) -> str:
        if identity is None or identity not in self._outputs or identity not in self._read:
            return ""
        from hcasim.ground.errors import display

        read, output = display(Path(self._read[identity])), self._outputs[identity]
        return f"{output}: found the same file as {read}, which is read; allowed: one of its own"


_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)


@contextmanager
def guarded() -> Iterator[None]:
    """Keep what is read inside the block from being written over there."""
    from hcasim.ground.process import watched

    guard = Guard()
    token = _guard.set(guard)
    try:
        with watched(guard):
            yield
    finally:
        _guard.reset(token)


def output_faults(
    outputs: Iterable[Output], others: Iterable[tuple[str, Path]] = ()
) -> Iterator[str]:
    """Say why files cannot be written, and which of them would be written over another.

    Parameters:
        outputs: of all options of a command.
        others: files that must stay what they are, each with what it is called.
    """
    from hcasim.ground.errors import one_of
    from hcasim.ground.writing import is_device, writing_fault

    seen = list(others)
    guard = _guard.get()
    for option, file, endings in outputs:
        if file is None:
            continue
        name, device = f"{option} {file}", is_device(file)
        same = [known for known, other in seen if _is_same(file, other)]
        seen.append((name, file))
        if same and not device:
            yield f"{name}: found the same file as {same[0]}; allowed: one of its own"
        elif guard and (fault := guard.add(name, file)):
            yield fault
        else:
            ending = file.name.lower()
            fits = ending not in endings and ending.endswith((*endings,))
            if endings and not fits and not device:
                yield f"{option}: found {str(file)!r}; allowed endings: {one_of([*endings])}"
            if fault := writing_fault(file):
                yield f"{option} {fault}"


def _is_same(one: Path, other: Path) -> bool:
    try:
        # Also by another link.
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _identity(name: str | bytes | os.PathLike[str]) -> _Identity:
    try:
        status = Path(os.fsdecode(name)).stat()
    except (OSError, ValueError, TypeError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
