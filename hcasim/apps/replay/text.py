"""A file that is replayed: its lines, and all that is wrong with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hcasim.ground.errors import CatalogError, display, nearest, one_of
from hcasim.ground.faults import shown
from hcasim.ground.reading import MIB, read_file
from hcasim.ground.text import printable
from hcasim.traces.source import binary

LARGEST: Final = 256 * MIB
"""Bytes of a file."""
_SAID: Final = 20
_READ_ON: Final = 200
"""Faults after which reading ends."""
_WORDS: Final = 1000
"""Characters of a line in which a fault is looked for."""


class TooMuchWrong(Exception):
    """There is no use in reading on."""


class Faults:
    """All that is wrong with a file.

    Parameters:
        name: of the file, as messages show it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: list[str] = []
        self._ended = False

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, line: int, reason: str) -> None:
        """Keep what is wrong with a line, counted from 1; 0 if it is none of a single line.

        Raises:
            TooMuchWrong: this is the last one that is kept.
        """
        where = self.place(line) if line else self.name
        self._found.append(f"{where}: {reason}")
        if len(self._found) == _READ_ON:
            self._ended = True
            raise TooMuchWrong

    def place(self, line: int) -> str:
        """Where a line is, at the beginning of a message."""
        return f"{self.name}:{line}"

    def told(self, line: int) -> str:
        """What a line is called within a message."""
        return f"line {line}"

    def add_told(self, other: Faults) -> None:
        """Keep what is wrong with another file, too."""
        self._found += other._found

    def refuse(self) -> None:
        """Raise a CatalogError if something is wrong."""
        if not self._found:
            return
        said = self._found[:_SAID]
        if left := len(self._found) - len(said):
            ended = " ... and no further line was read" * self._ended
            said.append(f"{self.name}: ... and {left} more faults{ended}")
        raise CatalogError(said)


def read_bytes(path: str | Path) -> tuple[str, bytes]:
    """Return the name of a file, as messages show it, and what it holds.

    Raises:
        CatalogError: it cannot be read, is empty or too large.
    """
    data = read_file(path, LARGEST)
    name = printable(display(Path(path)))
    if not data.strip():
        raise CatalogError([f"{name}: found an empty file; allowed: a trace of a program"])
    return name, data


def text_of(name: str, data: bytes) -> str:
    """Return the text of a file.

    Raises:
        CatalogError: it holds none.
    """
    zero = data.find(b"\0")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        zero = error.start
    if zero >= 0:
        line = data[:zero].count(b"\n") + 1
        raise CatalogError([f"{name}:{line}: found {binary(data)}; allowed: text in UTF-8"])
    return text.replace("\r\n", "\n")


def found_instead(found: str, allowed: list[str]) -> str:
    """Say that there is something else than what is allowed."""
    hint = nearest(found, allowed) if found else ""
    return f"found {shown(found) if found else 'the end of the line'}; allowed: " + (
        one_of(allowed) + hint
    )


def whole_number(word: str, what: str, most: int, least: int = 0) -> int:
    """Read a whole number.

    Raises:
        ValueError: with what is wrong in words.
    """
    allowed = f"allowed: {least} to {most}"
    if not re.fullmatch("-?[0-9]+", word):
        raise ValueError(f"{what}: found {shown(word)}; {allowed}")
    # Python refuses to read thousands of digits.
    number = int(word) if len(word) < 30 else most + 1
    if not least <= number <= most:
        raise ValueError(f"{what}: found {shown(word)}; {allowed}")
    return number


class Words:
    """The words of a line, which are taken one after the other to see what is wrong.

    Parameters:
        pattern: of a word.
    """

    def __init__(self, line: str, pattern: str) -> None:
        self._words = re.findall(pattern, line[:_WORDS])
        self._at = 0

    def peek(self, ahead: int = 0) -> str:
        """A word to come; none behind the end."""
        place = self._at + ahead
        return self._words[place] if place < len(self._words) else ""

    def take(self, *allowed: str) -> str:
        """The next word.

        Parameters:
            allowed: what it may be; if there is nothing, it may be any.

        Raises:
            ValueError: it is none of those.
        """
        word = self.peek()
        if allowed and word not in allowed:
            raise ValueError(found_instead(word, list(allowed)))
        self._at += 1
        return word

    def number(self, what: str, most: int, least: int = 0) -> int:
        """The next word as a whole number."""
        word = self.take()
        if not word:
            raise ValueError(f"{what}: found the end of the line; allowed: {least} to {most}")
        return whole_number(word, what, most, least)

    def end(self, *otherwise: str) -> None:
        """Check that there is nothing more."""
        if self.peek():
            raise ValueError(found_instead(self.peek(), [*otherwise, "the end of the line"]))
