"""Replays what other programs have done: their messages and what they computed between them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hcasim.apps.replay.chakra import is_chakra, read_chakra
from hcasim.apps.replay.checks import check
from hcasim.apps.replay.goal import is_goal, read_goal
from hcasim.apps.replay.otf2 import is_otf2, read_otf2
from hcasim.apps.replay.text import read_bytes, refuse, text_of
from hcasim.apps.replay.ti import is_ti, read_ti
from hcasim.apps.replay.trace import RATE, Trace
from hcasim.ground.errors import nearest, one_of

_READERS: Final[
    Mapping[str, tuple[Callable[[Path, bytes], bool], Callable[[Path, str, bytes], Trace]]]
] = {
    "goal": (is_goal, read_goal),
    "ti": (is_ti, read_ti),
    "otf2": (is_otf2, read_otf2),
    "chakra": (is_chakra, read_chakra),
}
"""By format: whether a file is of it, and what reads it."""
FORMS: Final = tuple(_READERS)

__all__ = ["FORMS", "RATE", "Trace", "read_schedule"]


def read_schedule(path: str | Path, form: str = "") -> Trace:
    """Read what the processes of a program have done.

    Parameters:
        path: of the file.
        form: one of FORMS; found out without it.

    Raises:
        CatalogError: the first place that cannot be read or replayed, and why.
    """
    if form and form not in FORMS:
        refuse("form", f"found {form!r}; allowed: {one_of(FORMS)}{nearest(form, FORMS)}")
    path = Path(path)
    name, data = read_bytes(path)
    found = form or next((one for one, (sniff, _) in _READERS.items() if sniff(path, data)), "")
    if not found:
        text_of(name, data)
        refuse(name, f"found no trace of a known form; allowed: {one_of(FORMS)}")
    trace = _READERS[found][1](path, name, data)
    check(trace)
    return trace
