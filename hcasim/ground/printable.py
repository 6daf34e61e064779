"""Text from elsewhere on a terminal or in a file."""

from __future__ import annotations

import re

STEERING = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
"""Controls, ends of lines of Unicode, marks that turn the direction of writing, and what stands for
bytes that are no text: the inside of a class of characters of a regular expression."""
_UNPRINTABLE = re.compile(f"[{STEERING}]")
_UNPRINTABLE_IN_LINES = re.compile(f"(?![\n\t])[{STEERING}]")


def printable(text: str) -> str:
    """Return a text with escapes, such as \\n, for what would end a line or steer a terminal.

    Names of files and devices may hold such characters, and traces come from other people.

    Parameters:
        text: of one line.
    """
    return _UNPRINTABLE.sub(_escape, text)


def printable_lines(text: str) -> str:
    """Return a text of many lines as `printable` does, but with its ends of lines and tabs."""
    return _UNPRINTABLE_IN_LINES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]
