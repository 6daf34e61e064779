"""Replays what other programs have done: their messages and what they computed between them."""

from pathlib import Path
from typing import Final

from hcasim.apps.replay.chakra import is_chakra, read_chakra
from hcasim.apps.replay.checks import check
from hcasim.apps.replay.goal import is_goal, read_goal
from hcasim.apps.replay.otf2 import is_otf2, read_otf2
from hcasim.apps.replay.text import read_bytes, refuse, text_of
from hcasim.apps.replay.trace import RATE, Trace

_FORMS: Final = ((is_goal, read_goal), (is_otf2, read_otf2), (is_chakra, read_chakra))
"""Whether a file is of a format, and what reads it."""

__all__ = ["RATE", "Trace", "read_schedule"]


def read_schedule(path: str | Path) -> Trace:
    """Read what the processes of a program have done, in a file of any known format.

    Raises:
        CatalogError: the first place that cannot be read or replayed, and why.
    """
    path = Path(path)
    name, data = read_bytes(path)
    read = next((read for is_of, read in _FORMS if is_of(path, data)), None)
    if read is None:
        text_of(name, data)
        refuse(name, "found no trace of a known form; allowed: goal, otf2 or chakra")
    trace = read(path, name, data)
    check(trace)
    return trace
