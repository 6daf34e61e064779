"""Text from elsewhere on one line of a terminal or of a file."""

from __future__ import annotations

import re

# Controls, ends of lines of Unicode, marks that turn the direction of writing, and what stands for
# bytes that are no text.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text with escapes, such as \\n, for what would end a line or steer a terminal.

    Names of files and devices may hold such characters, and traces come from other people.

    Parameters:
        text: of one line.
    """
    return _UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)
