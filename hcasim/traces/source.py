"""A file that is imported: its bytes, and its lines as text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from hcasim.ground.errors import CatalogError

CUT = "the output was cut short; --partial takes what is there"
OPEN = (
    "found a last line without a newline, which may be cut: add one if it is whole, "
    "or --partial goes without it"
)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# What Open MPI's mpirun puts before each line: --timestamp-output, --tag-output, and since version
# 5 the name of the job.
_TAG = re.compile(
    r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4} ?)?"
    r"\[(?:[\w.-]+@)?[0-9]+,[0-9]+\]<std(?:out|err)>: ?"
)
_LINES = 2_000_000
POINTS = 50_000
"""Most points of a file: a run of perftest or OSU prints some 30, one of NetPIPE 200."""
_MANY = 20
_SAID = 10
"""Faults of one file that are said if there are more than those."""
ENOUGH = "... and no further line was read"
"""What is said when reading ended, because too much is wrong."""
_PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\xfd7zXZ\0": ("xz", "unxz"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"PK\x03\x04": ("zip", "unzip"),
}
"""By the first bytes of a packed file, what packed it and what unpacks it."""


@dataclass(frozen=True)
class Source:
    """A file that is imported.

    Parameters:
        name: as messages show it.
        data: its bytes.
    """

    name: str
    data: bytes

    @cached_property
    def sha256(self) -> str:
        """Of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def provenance(self) -> str:
        """The name without its folder, which differs between machines, and the sha256."""
        # A name may hold bytes that are no text.
        name = PurePath(self.name).name.encode("utf-8", "backslashreplace").decode()
        return f"{name} {self.sha256}"

    @cached_property
    def lines(self) -> list[str]:
        """The text without line ends and without the colours of a terminal.

        Raises:
            CatalogError: binary data, or nothing.
        """
        text = self._text
        if "\0" in text:
            raise CatalogError([f"{self.name}: found {binary(self.data)}; allowed: text in UTF-8"])
        if not text.strip():
            raise CatalogError([f"{self.name}: found an empty file; allowed: a tool's output"])
        if text.count("\n") > _LINES:
            raise CatalogError(
                [f"{self.name}: found more than {_LINES:,} lines; allowed: up to as many"]
            )
        lines = [_TAG.sub("", line.removesuffix("\r")) for line in text.split("\n")]
        return lines if lines[-1] else lines[:-1]

    def is_open(self, line: int) -> bool:
        """Whether a line is the last one and has no end, so that it may have been cut."""
        return line == len(self.lines) and not self._text.endswith("\n")

    @cached_property
    def _text(self) -> str:
        return _ESCAPE.sub("", with_newlines(self._decode()))

    def _decode(self) -> str:
        # What PowerShell redirects into a file is UTF-16.
        wide = self.data[:2] in (b"\xff\xfe", b"\xfe\xff")
        try:
            return self.data.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data[: error.start].count(b"\n") + 1
            raise CatalogError(
                [f"{self.name}:{line}: found {binary(self.data)}; allowed: text in UTF-8"]
            ) from None

    def fault(self, line: int, reason: object) -> str:
        """Say what is wrong with a line, counted from 1."""
        return f"{self.name}:{line}: {reason}"

    def refusal(self, line: int, reason: object) -> CatalogError:
        """Return an error that says only what is wrong with a line."""
        return CatalogError([self.fault(line, reason)])

    def fault_or_cut(self, line: int, reason: object) -> str:
        """Say what is wrong with a line, and that it was cut if nothing ends it."""
        told = self.fault(line, reason)
        return told if "--partial" in told or not self.is_open(line) else f"{told}: {CUT}"


def too_many(name: str) -> CatalogError:
    """Return an error that says that a file has too many points."""
    found = f"found more than {POINTS:,} points"
    return CatalogError([f"{name}: {found}; allowed: up to as many; divide it"])


def few(name: str, faults: Sequence[str]) -> list[str]:
    """Return what is said of a file in which more is wrong than a reader can use.

    Parameters:
        name: of the file.
        faults: all that was found.
    """
    if len(faults) <= _MANY:
        return list(faults)
    said, left = faults[:_SAID], faults[_SAID:]
    start = f"{name}:"
    lines = {one.removeprefix(start).partition(":")[0] for one in left if one.startswith(start)}
    ended = faults[-1] == start + " " + ENOUGH
    more = "1 more line" if len(lines) - ended == 1 else f"{len(lines) - ended} more lines"
    return [*said, f"{name}: ... and {more} that cannot be read", *list(faults[-1:]) * ended]


def with_newlines(text: str) -> str:
    """Return a text whose lines end as usual; they may end with a carriage return alone."""
    return text if "\n" in text else text.replace("\r", "\n")


def binary(data: bytes) -> str:
    """Say what data are that are no text, and what makes text of them if that is known."""
    for mark, (packer, unpacker) in _PACKED.items():
        if data.startswith(mark):
            return f"data packed by {packer}; unpack it first ({unpacker})"
    return "binary data"
