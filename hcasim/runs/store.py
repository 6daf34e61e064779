"""Finished points kept on disk, so that what was simulated is not simulated again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hcasim.ground.errors import CatalogError
from hcasim.ground.writing import write_atomically

if TYPE_CHECKING:
    from hcasim.runs.point import Work
    from hcasim.workloads import Result

W = TypeVar("W", bound="Work")
FOLDER = "HCASIM_CACHE"
"""The variable of the environment that names another folder; if it is empty nothing is kept."""
MOST = 64 << 20
"""Bytes from which on what was not used for longest is removed, down to half of it."""
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
    used count for nothing. Files with names of 64 hexadecimal digits are entries; nothing else in
    the folder is removed.

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
        for point in points:
            if point.reads:
                continue
            file = self.folder / self._key(point)
            # What cannot be read, is damaged or has another form counts for nothing.
            with contextlib.suppress(OSError, ValueError, TypeError):
                total, _, body = file.read_text(encoding="utf-8").partition("\n")
                if total == _sum(file.name, body):
                    found[point] = Result(**json.loads(body))
                    os.utime(file)
        return found

    def keep(self, point: Work, result: Result) -> None:
        """Keep a result, unless JSON could not give it back, or it follows from files, too."""
        if point.reads:
            return
        with contextlib.suppress(OSError, TypeError, CatalogError):
            body = json.dumps(vars(result))
            if json.loads(body) != vars(result):
                return
            if not self._tidy:
                self._tidy = True
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                tidy(self.folder)
            file = self.folder / self._key(point)
            write_atomically(file, f"{_sum(file.name, body)}\n{body}", durable=False)

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
    """If entries take more bytes than they may, remove half, those not used for longest first.

    Nothing else in the folder is touched.
    """
    files = []
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                status = entry.stat()
                files.append((status.st_mtime, -(-status.st_size // _BLOCK) * _BLOCK, entry.path))
    total = sum(size for _, size, _ in files)
    least = total if total <= most else most // 2
    for _, size, path in sorted(files):
        if total > least:
            with contextlib.suppress(OSError):
                Path(path).unlink()
                total -= size


def _sum(key: str, body: str) -> str:
    return hashlib.sha256(f"{key}\n{body}".encode()).hexdigest()
