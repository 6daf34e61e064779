"""Files that a command will write: refused before the long work, not after it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


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
    for output in outputs:
        if output.file is None:
            continue
        name = f"{output.option} {output.file}"
        same = next((known for known, other in seen if _is_same(output.file, other)), None)
        if same is not None and not is_device(output.file):
            yield f"{name}: found the same file as {same}; allowed: one of its own"
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
