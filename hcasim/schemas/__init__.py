"""JSON Schemas of all files that hcasim reads and writes, for editors and programs."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from hcasim.ground.errors import CatalogError, nearest, one_of

SCHEMAS = (
    "adapter",
    "app",
    "bench",
    "calibrate",
    "calibration",
    "compare",
    "context",
    "host",
    "import",
    "list",
    "reproduce",
    "run",
    "scenario",
    "sensitivity",
    "show",
    "stack",
    "switch",
    "sweep",
    "testbed",
    "trace",
    "why",
)
"""Their names; of a trace it is that of a line."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of files; it also lies in the package as `NAME.json`.

    Parameters:
        name: of a description "adapter", "host", "stack", "switch" or "testbed"; "scenario",
            "context" (the statements of a paper that nothing replays), "calibration", "trace" (of
            one line); or of the JSON that a command prints "app", "bench", "calibrate", "compare",
            "import", "list", "reproduce", "run", "sensitivity", "show", "sweep" or "why".

    Raises:
        CatalogError: an unknown name.
    """
    if str(name) not in SCHEMAS:
        close = nearest(name, SCHEMAS)
        raise CatalogError([f"schema: found {name!r}; allowed: {one_of(SCHEMAS)}{close}"])
    text = files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
