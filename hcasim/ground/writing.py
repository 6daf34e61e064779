"""Output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hcasim.ground.errors import CatalogError


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Parameters:
        path: the file; its folder must exist.
        content: text is written as UTF-8.
        durable: wait until it would outlast a loss of power.

    Raises:
        CatalogError: the folder is missing or not writable, or the disk is full. Nothing is left
            behind.
    """
    with written_atomically(path, durable=durable) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def written_atomically(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Write a file piece by piece, as `write_atomically` does; an exception leaves nothing of it.

    Yields:
        What to write to.
    """
    if path.is_dir():
        raise CatalogError([f"{path}: found a folder; the name of a file is needed"])
    path = path.resolve()
    if path.exists() and not path.is_file():
        # A device or a pipe must stay what it is.
        try:
            with path.open("wb") as through:
                yield through
        except OSError as error:
            raise _fault(path, "written", error) from error
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise _fault(path, "written", error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _fault(path, "written", error) from error
        raise


def make_folder(path: Path) -> None:
    """Create an output folder and those above it.

    Raises:
        CatalogError: it cannot be created, or a file has its name.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _fault(path, "created", error) from error


def _fault(path: Path, what: str, error: OSError) -> CatalogError:
    reason = (error.strerror or str(error)).lower()
    if isinstance(error, FileNotFoundError):
        reason = f"there is no folder {path.parent}"
    return CatalogError([f"{path}: cannot be {what}: {reason}"])


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
