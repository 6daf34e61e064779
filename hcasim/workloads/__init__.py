"""The benchmarks, by the names of the tools that users know."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcasim.workloads.options import Options
    from hcasim.workloads.registry import WORKLOADS, Workload, run_point
    from hcasim.workloads.result import Result

__all__ = ["WORKLOADS", "Options", "Result", "Workload", "run_point"]


def __getattr__(name: str) -> Any:
    # The command line reads the options without the benchmarks, which take long to import.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = {"Options": "options", "Result": "result"}.get(name, "registry")
    return getattr(importlib.import_module(f"{__name__}.{room}"), name)
