"""The benchmarks, by the names of the tools that users know."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcasim.workloads.options import Options
    from hcasim.workloads.registry import WORKLOADS, Workload, run_point
    from hcasim.workloads.result import Result

__all__ = [
    "WORKLOADS",
    "Options",
    "Result",
    "Workload",
    "find_workload",
    "run_point",
    "unknown_workload",
]


def find_workload(name: object) -> Workload | None:
    """Return a workload by its name, or None; CatalogError if a file of a user's has no such."""
    from hcasim.workloads.registry import WORKLOADS

    with suppress(KeyError):
        return WORKLOADS[name] if isinstance(name, str) else None
    return None


def unknown_workload(name: object) -> str:
    """Say that a workload is unknown and which are known."""
    from hcasim.ground.errors import nearest, one_of, written
    from hcasim.workloads.registry import WORKLOADS

    known = WORKLOADS.names()
    hint = nearest(name, known)
    if isinstance(name, str) and name.endswith(".py"):
        hint = f"; of a file of your own: {name}:NAME"
    return f"workload: found {written(name)}; allowed: {one_of(known)}{hint}"


def __getattr__(name: str) -> Any:
    # The command line reads the options without the benchmarks, which take long to import.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = {"Options": "options", "Result": "result"}.get(name, "registry")
    return getattr(importlib.import_module(f"{__name__}.{room}"), name)
