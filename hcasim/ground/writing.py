"""Output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


class FileError(Exception):
    """An output file that cannot be written; the message says which and why."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Parameters:
        path: the file; its folder must exist.
        content: text is written as UTF-8.

    Raises:
        FileError: the folder is missing or not writable, or the disk is full. Nothing is left
            behind.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.is_dir():
        raise FileError(f"{path}: found a folder; the name of a file is needed")
    path = path.resolve()
    if path.exists() and not path.is_file():
        _write_through(path, data)
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {_reason(error, path.parent)}") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise FileError(f"{path}: cannot be written: {_reason(error, path.parent)}") from error
        raise


def _write_through(path: Path, data: bytes) -> None:
    """Write to a device or a pipe, which must stay what it is."""
    try:
        with path.open("wb") as stream:
            stream.write(data)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {_reason(error, path.parent)}") from error


def make_folder(path: Path) -> None:
    """Create an output folder and those above it.

    Raises:
        FileError: it cannot be created, or a file has its name.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be created: {_reason(error, path.parent)}") from error


def _reason(error: OSError, folder: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no folder {folder}"
    return (error.strerror or str(error)).lower()


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
