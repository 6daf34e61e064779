"""Libraries that end the process, or try for ever, where they find too little memory."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from hcasim.ground.process import look_for_room

_LOADED = {
    # Its Rust aborts. What it builds later is small beside.
    "pydantic": 32 * 2**20,
    # It goes on without parts that it could not load.
    "matplotlib.projections": 16 * 2**20,
    # Each brings an OpenBLAS, and that takes 32 MiB of it as it is loaded.
    "numpy": 112 * 2**20,
    "scipy.linalg": 112 * 2**20,
}
"""Bytes of address space that a library takes as it is imported."""
_USED = {"numpy": "numpy.linalg", "scipy.linalg": "scipy.linalg"}
"""Routines that have OpenBLAS take a second buffer, its last, at their first use."""
_BUFFER = 33 * 2**20


class RoomFirst(MetaPathFinder):
    """Raises a MemoryError where there is no room for a library, before that is imported.

    Without room, NumPy's OpenBLAS ends the process with 1, and SciPy's answers no signal any more.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the library where it is, with a loader that has OpenBLAS take all it will need."""
        if name not in _LOADED:
            return None
        look_for_room(_LOADED[name])
        spec = PathFinder.find_spec(name, path, target)
        if name in _USED and spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_use(module: ModuleType) -> None:
                load(module)
                look_for_room(_BUFFER)
                # Unlike others, this routine takes a buffer for the smallest of matrices, too.
                importlib.import_module(_USED[name]).cholesky([[1.0]])

            # The loader is of this one import; to derive one from its class would be no safer.
            spec.loader.exec_module = load_and_use  # type: ignore[method-assign]
        return spec
