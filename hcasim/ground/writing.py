"""Output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from hcasim.ground.errors import CatalogError, Fault, refuse
from hcasim.ground.opened import overwriting_fault
from hcasim.ground.reading import leads_to

_QUICK: Final = 3
"""Level of compression that takes less time than what is compressed."""


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    A device or a pipe is written to, and stays what it is. A file keeps its owner and its mode, a
    link stays, and what the command has read is not written over.

    Parameters:
        path: the file; its folder must exist.
        durable: wait until it would outlast a loss of power.

    Raises:
        CatalogError: the folder is missing or not writable, or the disk is full. Nothing is left
            behind.
    """
    with written_atomically(path, durable=durable) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def written_atomically(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Write a file piece by piece, as `write_atomically` does; exceptions leave nothing of it."""
    try:
        if is_device(path):
            with path.open("wb") as through:
                yield through
            return
        refuse(overwriting_fault(path))
        # Whoever may not read the old file may not read the new one either.
        mode = 0o600 if path.exists() else 0o666
        handle, temporary = _temporary(_folder_of(path), mode)
    except (OSError, ValueError) as error:
        raise CatalogError([_fault(path, "written", error)]) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            _make_like(path, handle)
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        # More may have been read meanwhile.
        refuse(overwriting_fault(path))
        temporary.replace(path.resolve())
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise CatalogError([_fault(path, "written", error)]) from error
        raise


@contextlib.contextmanager
def written_through(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Write a file piece by piece, compressed if its name ends in .gz, to what takes the pieces.

    The same pieces make the same file: neither its name nor a time is in it.
    """
    with written_atomically(path) as out:
        if path.suffix.lower() != ".gz":
            yield out.write
            return
        with gzip.GzipFile("", "wb", _QUICK, out, mtime=0) as packed:
            yield packed.write


def writing_fault(path: Path) -> str:
    """Say why `write_atomically` would not begin, found by beginning; or nothing."""
    try:
        if is_device(path):
            # To open a pipe would wait for its reader.
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return ""
        _try_in(_folder_of(path))
    except (OSError, ValueError) as error:
        return _fault(path, "written", error)
    return ""


def is_device(path: Path) -> bool:
    """Whether a path leads to what is neither a file nor a folder, such as a device or a pipe."""
    return leads_to(path) and not (path.is_file() or path.is_dir())


def make_folder(path: Path) -> None:
    """Create an output folder and those above it; CatalogError if it cannot be written into."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise CatalogError([_fault(path, "created", error)]) from error
    try:
        _try_in(path)
    except OSError as error:
        raise CatalogError([_fault(path, "written into", error)]) from error


def _folder_of(path: Path) -> Path:
    """Return the folder of the file that a path leads to; OSError if there cannot be any."""
    with contextlib.suppress(FileNotFoundError):
        # Names that are too long and links that lead in a circle, too.
        path.stat()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "found a folder; the name of a file is needed")
    return path.resolve().parent


def _temporary(folder: Path, mode: int = 0o666) -> tuple[int, Path]:
    # Not named after the file, whose name may be as long as names can be.
    path = folder / f".hcasim-{os.urandom(4).hex()}.tmp"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), path


def _make_like(path: Path, handle: int) -> None:
    """Give a new file the owner and the mode of the one whose place it will take, if any."""
    with contextlib.suppress(FileNotFoundError):
        old = path.stat()
        with contextlib.suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
        with contextlib.suppress(PermissionError):
            os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _try_in(folder: Path) -> None:
    handle, temporary = _temporary(folder)
    os.close(handle)
    temporary.unlink()


def _fault(path: Path, what: str, error: OSError | ValueError) -> Fault:
    reason = str(error)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        reason = f"there is no folder {(path.resolve() if path.is_symlink() else path).parent}"
    elif isinstance(error, OSError) and error.strerror:
        reason = error.strerror.lower()
    return Fault(str(path), None, "", said=f"cannot be {what}: {reason}")
