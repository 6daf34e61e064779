"""Commands as they would be typed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def command_line(words: Iterable[str]) -> str:
    """Return words as a shell takes them for the same, on one line whatever they hold."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """Quote a word for the shell, on one line whatever it holds."""
    if word.isprintable():
        return shlex.quote(word)
    # What bash and its like take for a newline.
    text = word.replace("\\", "\\\\").replace("'", "\\'")
    told = "".join(
        one if one.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(one))
        for one in text
    )
    return f"$'{told}'"
