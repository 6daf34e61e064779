"""A file that is imported: its bytes, and its lines as text."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from hcasim.ground.errors import CatalogError

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
_PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\xfd7zXZ\0": ("xz", "unxz"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"PK\x03\x04": ("zip", "unzip"),
}
"""By the first bytes of a packed file, what packed it and what unpacks it."""


class Unreadable(Exception):
    """What cannot be read at a place; the message says what was found and what is allowed.

    Parameters:
        reason: the message.
        line: where, counted from 1; None of the line that is being read.
    """

    def __init__(self, reason: object, line: int | None = None) -> None:
        super().__init__(str(reason))
        self.line = line


@dataclass(frozen=True)
class Source:
    """A file that is imported: its name as messages show it, and its bytes."""

    name: str
    data: bytes

    @property
    def provenance(self) -> str:
        """The name without its folder, which differs between machines, and the sha256."""
        # A name may hold bytes that are no text.
        name = PurePath(self.name).name.encode("utf-8", "backslashreplace").decode()
        return f"{name} {self.sha256}"

    @property
    def sha256(self) -> str:
        """Of its bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def text(self) -> str:
        """The text without the colours of a terminal; its lines end with newlines.

        Raises:
            CatalogError: binary data, or nothing.
        """
        # What PowerShell redirects into a file is UTF-16.
        wide = self.data[:2] in (b"\xff\xfe", b"\xfe\xff")
        try:
            text = self.data.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data[: error.start].count(b"\n") + 1
            raise self.refusal(line, f"found {binary(self.data)}; allowed: text in UTF-8") from None
        if "\0" in text:
            raise CatalogError([f"{self.name}: found {binary(self.data)}; allowed: text in UTF-8"])
        if not text.strip():
            raise CatalogError([f"{self.name}: found an empty file; allowed: a tool's output"])
        return _ESCAPE.sub("", text if "\n" in text else text.replace("\r", "\n"))

    @cached_property
    def lines(self) -> list[str]:
        """The lines without what ends them and without the tags of mpirun.

        Raises:
            CatalogError: binary data, or nothing, or too much.
        """
        if self.text.count("\n") > _LINES:
            found = f"found more than {_LINES:,} lines"
            raise CatalogError([f"{self.name}: {found}; allowed: up to as many"])
        lines = self.text.removesuffix("\n").split("\n")
        return [_TAG.sub("", line.removesuffix("\r")) for line in lines]

    def refusal(self, line: int, reason: object) -> CatalogError:
        """Return an error that says what is wrong with a line, counted from 1."""
        return CatalogError([f"{self.name}:{line}: {reason}"])


def too_many(name: str) -> CatalogError:
    """Return an error that says that a file has too many points."""
    found = f"found more than {POINTS:,} points"
    return CatalogError([f"{name}: {found}; allowed: up to as many; divide it"])


def binary(data: bytes) -> str:
    """Say what data are that are no text, and what makes text of them if that is known."""
    for mark, (packer, unpacker) in _PACKED.items():
        if data.startswith(mark):
            return f"data packed by {packer}; unpack it first ({unpacker})"
    return "binary data"
