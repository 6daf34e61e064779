"""Finished points kept on disk, so that what was simulated is not simulated again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hcasim.ground.errors import CatalogError
from hcasim.ground.reading import leads_to
from hcasim.ground.writing import is_device, write_atomically

if TYPE_CHECKING:
    from hcasim.runs.point import Work
    from hcasim.workloads import Result

W = TypeVar("W", bound="Work")
FOLDER = "HCASIM_CACHE"
"""The variable of the environment that names another folder; if it is empty nothing is kept."""
MOST = 64 << 20
"""Bytes from which on what was not used for longest is removed, down to half of it."""
LARGEST = 8 << 20
"""Bytes of an entry."""
_NAME = re.compile("[0-9a-f]{64}")
SIMULATOR = (
    *("workloads", "apps", "mpi", "verbs"),
    *("cluster", "hca", "bus", "fabric", "host", "engine"),
)
BELOW = ("catalog", "ground")
_BLOCK = 4096


class Store:
    """Results of points, by the code that simulated them, the machine and the options.

    Results come back to the last digit. An entry that was damaged and a folder that cannot be
    used count for nothing. Only regular files with names of 64 hexadecimal digits are entries:
    whatever else is in the folder is neither read, nor written, nor removed.

    Parameters:
        folder: where they are; it is made when it is needed.
        code: what tells one state of the simulator from another.
    """

    def __init__(self, folder: Path, code: str) -> None:
        self.folder = folder
        self._code = code
        self._tidy = False

    def find(self, points: Iterable[W]) -> dict[W, Result]:
        """Return what is known of points."""
        from hcasim.workloads import Result

        found: dict[W, Result] = {}
        now: dict[str, str] = {}
        for point in points:
            key = self._key(point)
            try:
                total, _, body = _read(self.folder / key).partition("\n")
                if total != _sum(key, body):
                    continue
                result = Result(**json.loads(body))
                if point.reads:
                    from hcasim.runs.inputs import unchanged

                    if result.inputs is None or not unchanged(result.inputs, now):
                        continue
                found[point] = result
            except (OSError, ValueError, TypeError, RecursionError):
                continue
        return found

    def keep(self, point: Work, result: Result) -> None:
        """Keep a result, unless JSON could not give it back, or what it was made of is unknown."""
        if point.reads and result.inputs is None:
            return
        try:
            body = json.dumps(vars(result))
            if json.loads(body) != vars(result):
                return
            if not self._tidy:
                self._tidy = True
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                tidy(self.folder)
            key = self._key(point)
            file = self.folder / key
            if not leads_to(file, Path.is_symlink) and not is_device(file):
                write_atomically(file, f"{_sum(key, body)}\n{body}", durable=False)
        except (OSError, TypeError, CatalogError):
            return

    def _key(self, point: Work) -> str:
        return hashlib.sha256(f"{self._code} {point.key}".encode()).hexdigest()


def usual_store() -> Store | None:
    """Return the store of this user and this code, or None if there is no place for it."""
    folder = usual_folder()
    return None if folder is None else Store(folder / "points", code_digest())


def usual_folder() -> Path | None:
    """Return the folder of the environment, or else the user's folder for such things."""
    named = os.environ.get(FOLDER)
    if named is not None:
        return Path(named).absolute() if named else None
    with contextlib.suppress(RuntimeError):
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "hcasim"
        # The XDG Base Directory Specification has relative paths ignored.
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (given if given.is_absolute() else Path.home() / ".cache") / "hcasim"
    return None


@cache
def code_digest() -> str:
    """Return a hexadecimal digest of all that makes numbers of a machine and its options."""
    package = Path(__file__).resolve().parents[1]
    found = hashlib.sha256(f"{sys.version_info[:2]} {version('simpy')}".encode())
    for floor in (*SIMULATOR, *BELOW):
        for file in sorted((package / floor).rglob("*")):
            # Compiled modules, too.
            if file.suffix in (".py", ".so"):
                data = file.read_bytes()
                found.update(f"{file.relative_to(package)} {len(data)}\n".encode())
                found.update(data)
    return found.hexdigest()


def tidy(folder: Path, most: int = MOST) -> None:
    """Remove the entries of a folder that were not used for longest, if they are too many.

    Parameters:
        folder: of entries; nothing else in it is touched.
        most: bytes that they may take; if they take more, half of it is left.
    """
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if not (_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)):
                    continue
                status = entry.stat(follow_symlinks=False)
                files.append((status.st_mtime, -(-status.st_size // _BLOCK) * _BLOCK, entry.path))
    total = sum(size for _, size, _ in files)
    if total <= most:
        return
    for _, size, path in sorted(files):
        if total <= most // 2:
            break
        with contextlib.suppress(OSError):
            Path(path).unlink()
            total -= size


def _read(file: Path) -> str:
    """Return the text of an entry, which counts as used.

    Raises:
        OSError: there is none.
        ValueError: it is none, but a pipe, too large, or no text.
    """
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise ValueError
        os.utime(handle)
        return stream.read(LARGEST).decode()


def _sum(key: str, body: str) -> str:
    return hashlib.sha256(f"{key}\n{body}".encode()).hexdigest()
