"""Files that a command will write: refused before the long work, not after it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_Identity = tuple[int, int]
"""Device and number of a file, whatever it is called."""


@dataclass(frozen=True)
class Output:
    """A file that an option names.

    Parameters:
        option: such as "--plot".
        file: to be written; None if the option was not given.
        endings: those that are allowed; any without them. Devices and pipes may have any.
    """

    option: str
    file: Path | None
    endings: Sequence[str] = ()

    def faults(self) -> Iterator[str]:
        """Say why it cannot be written."""
        from hcasim.ground.errors import one_of
        from hcasim.ground.writing import is_device, writing_fault

        if self.file is None:
            return
        name = self.file.name.lower()
        fits = not self.endings or (name not in self.endings and name.endswith((*self.endings,)))
        if not fits and not is_device(self.file):
            found = f"{self.option}: found {str(self.file)!r}"
            yield f"{found}; allowed endings: {one_of(self.endings)}"
        if fault := writing_fault(self.file):
            yield f"{self.option} {fault}"


class Guard:
    """Keeps files that a command reads from being written by it, under whatever name."""

    def __init__(self) -> None:
        self._read: dict[_Identity, str] = {}
        self._outputs: dict[_Identity, str] = {}

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        """Refuse to open an output for reading, and to replace what has been read."""
        from hcasim.ground.errors import CatalogError
        from hcasim.ground.process import file_read

        fault = ""
        if event == "os.rename":
            identity = _identity(given[1])
            fault = self._fault(identity)
            # Another file may get its number.
            self._outputs.pop(identity, None)
        elif name := file_read(event, given):
            identity = _identity(name)
            self._read.setdefault(identity, name)
            fault = self._fault(identity)
        if fault:
            raise CatalogError([fault])

    def add(self, output: Output) -> str:
        """Say that a file will be written, or return why it must not be."""
        assert output.file is not None
        identity = _identity(output.file)
        self._outputs.setdefault(identity, f"{output.option} {output.file}")
        return self._fault(identity)

    def _fault(self, identity: _Identity) -> str:
        if identity not in self._outputs or identity not in self._read or identity == _NONE:
            return ""
        from hcasim.ground.errors import display

        read = display(Path(self._read[identity]))
        output = self._outputs[identity]
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
    from hcasim.ground.writing import is_device

    seen = list(others)
    guard = _guard.get()
    for output in outputs:
        if output.file is None:
            continue
        name = f"{output.option} {output.file}"
        same = next((known for known, other in seen if _is_same(output.file, other)), None)
        if same is not None and not is_device(output.file):
            yield f"{name}: found the same file as {same}; allowed: one of its own"
        elif guard and (fault := guard.add(output)):
            yield fault
        else:
            yield from output.faults()
        seen.append((name, output.file))


def prepare_folder(folder: Path, files: Iterable[Path]) -> list[str]:
    """Make the folder that --output names; say which of its files could not be written.

    Raises:
        CatalogError: it cannot be made.
    """
    from hcasim.ground.writing import make_folder

    make_folder(folder)
    return list(output_faults(Output("--output", file) for file in files))


def _is_same(one: Path, other: Path) -> bool:
    try:
        # Also by another link.
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


_NONE = (0, 0)


def _identity(name: str | bytes | os.PathLike[str]) -> _Identity:
    """Return what tells a regular file from all others; `_NONE` if there is none."""
    try:
        status = Path(os.fsdecode(name)).stat()
    except (OSError, ValueError, TypeError):
        return _NONE
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else _NONE
