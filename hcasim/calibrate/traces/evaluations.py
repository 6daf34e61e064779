"""Simulated points kept in a file, so that an interrupted fit goes on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from hcasim import __version__
from hcasim.calibrate.search.objective import Run
from hcasim.ground.errors import CatalogError
from hcasim.ground.faults import shown
from hcasim.ground.reading import MEASURED, NoSuchFile, leads_to, read_file
from hcasim.runs.executor import OutOfTime
from hcasim.runs.point import Point
from hcasim.runs.store import code_digest

BATCH = 64
"""Points that are simulated between two writes: what an interruption may lose."""
_SCHEMA = "hcasim-evaluations"
_KEY = re.compile("[0-9a-f]{64}")


class EvaluationCache:
    """Rows of points by what was simulated.

    A line that was cut off counts for nothing, and a file that other code has made, which is said.
    A file that is something else, and a link, are neither read nor written nor removed.

    Parameters:
        file: JSON Lines; it is made when the first points are known.

    Attributes:
        known: how many points the file held.
        note: what is to be said of the file; empty if nothing is.

    Raises:
        CatalogError: the file is another one, cannot be read, or was altered.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._rows: dict[str, dict[str, Any]] = {}
        self._usable = False
        lines: list[str] = []
        if leads_to(file, Path.is_symlink):
            raise CatalogError([f"{file}: found a link; allowed: a file, named with --resume"])
        with suppress(NoSuchFile):
            lines = read_file(file, MEASURED).decode(errors="replace").split("\n")
        self.note = ""
        if lines and lines[0] == _first_line():
            self._usable = True
            for number, line in enumerate(lines[1:], start=2):
                self._take(f"{file}:{number}", line)
        elif lines and not _is_own(lines[0]):
            raise CatalogError(
                [f"{file}: is not a file of evaluations; name another with --resume"]
            )
        elif lines:
            self.note = f"{file}: was made by another version of hcasim or its code; begun anew"
        self.known = len(self._rows)

    def _take(self, where: str, line: str) -> None:
        try:
            key, row, total = json.loads(line)
            altered = _line(key, row) != line
        except (ValueError, TypeError, RecursionError):
            return
        if altered or not isinstance(row, dict) or not _KEY.fullmatch(str(key)):
            fault = f"found {shown(total)}, which is not the check sum of this line"
            raise CatalogError([f"{where}: {fault}: it was altered; remove the line or the file"])
        self._rows[key] = row

    def over(self, run: Run) -> Run:
        """Return a runner that asks another only for what is not known."""

        def cached(jobs: Sequence[Point]) -> list[dict[str, Any]]:
            keys = [_key(one) for one in jobs]
            missing = {
                key: one for key, one in zip(keys, jobs, strict=True) if key not in self._rows
            }
            left = iter(missing.items())
            while part := dict(islice(left, BATCH)):
                try:
                    rows = run(list(part.values()))
                except OutOfTime as error:
                    done = error.results
                    self._add({key: done[one].row for key, one in part.items() if one in done})
                    raise
                self._add({name: dict(row) for name, row in zip(part, rows, strict=True)})
            return [self._rows[key] for key in keys]

        return cached

    def remove(self) -> None:
        """Remove the file."""
        self.file.unlink(missing_ok=True)

    def _add(self, rows: dict[str, dict[str, Any]]) -> None:
        self._rows |= rows
        lines = [_line(key, row) for key, row in rows.items()]
        try:
            if not self._usable:
                self.file.write_text(f"{_first_line()}\n", encoding="utf-8")
                self._usable = True
            with self.file.open("a", encoding="utf-8") as stream:
                # A line that was cut off must not swallow the next one.
                stream.write("\n" + "\n".join(lines) + "\n")
        except OSError as error:
            raise CatalogError([f"{self.file}: cannot be written: {error.strerror}"]) from None


def _first_line() -> str:
    made = {"hcasim": __version__, "code": code_digest()}
    return json.dumps({"schema": _SCHEMA, **made})


def _is_own(line: str) -> bool:
    """Whether a line is the first one of such a file, of whatever code."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    allowed = ["schema", "hcasim", "code"]
    return isinstance(found, dict) and [*found] == allowed and found["schema"] == _SCHEMA


def _line(key: object, row: object) -> str:
    body = json.dumps([key, row])[:-1]
    return f'{body}, "{hashlib.sha256(body.encode()).hexdigest()}"]'


def _key(job: Point) -> str:
    options = json.dumps(dataclasses.asdict(job.options), sort_keys=True)
    text = f"{job.workload} {job.machine.digest} {options}"
    return hashlib.sha256(text.encode()).hexdigest()
