"""Reads a trace of whatever form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hcasim.apps.replay.checks import check
from hcasim.apps.replay.goal import MARK, GoalReader
from hcasim.apps.replay.graph_trace import GraphTrace
from hcasim.apps.replay.text import read_bytes, text_of
from hcasim.apps.replay.trace import Trace
from hcasim.ground.errors import CatalogError, nearest, one_of

FORMS: Final = ("goal",)
_LABEL = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9_]*)[ \t]*:")
_SNIFFED: Final = 1000
"""Lines at the beginning of a file that tell what it is."""


def read_schedule(path: str | Path, form: str = "") -> Trace:
    """Read what the processes of a program have done.

    Parameters:
        path: of the file.
        form: one of FORMS; found out without it.

    Raises:
        CatalogError: every place that cannot be read or replayed, and why.
    """
    if form and form not in FORMS:
        raise CatalogError(
            [f"form: found {form!r}; allowed: {one_of(FORMS)}{nearest(form, FORMS)}"]
        )
    name, data = read_bytes(path)
    text = text_of(name, data)
    if not form and not any(map(MARK.match, text.split("\n", _SNIFFED)[:_SNIFFED])):
        raise CatalogError([f"{name}: found no trace of a known form; allowed: {one_of(FORMS)}"])
    return _read_goal(name, text)


def _read_goal(name: str, text: str) -> GraphTrace:
    reader = GoalReader(name, text)
    reader.faults.refuse()
    lines = text.split("\n")

    def called(rank: int, one: int) -> str:
        line = reader.ranks[rank].lines[one]
        label = _LABEL.match(lines[line - 1])
        return label[1] if label else f"line {line}"

    check(reader.ranks, reader.faults, called)
    reader.faults.refuse()
    return GraphTrace(name, "goal", reader.ranks)
