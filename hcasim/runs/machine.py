"""The machine of a run: put together from what was asked for, or given whole."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from hcasim.catalog import CatalogError, Machine, resolve


def find_machine(
    testbed: str | PathLike[str] | Machine, chosen: Mapping[str, Any], mpi: bool
) -> Machine:
    """Return a machine as it was asked for.

    Parameters:
        testbed: its id or file, or a machine.
        chosen: arguments of `hcasim.catalog.resolve` by name.
        mpi: whether it is to have an MPI library.

    Raises:
        CatalogError: every fault of the request, or choices beside a machine.
    """
    if not isinstance(testbed, Machine):
        return resolve(testbed, mpi=mpi, **chosen)
    beside = [name for name, value in chosen.items() if value not in (None, True, {})]
    fault = "found beside a machine, which has its own; allowed: as an argument of hcasim.machine"
    if beside:
        raise CatalogError(f"{name}: {fault}" for name in beside)
    return testbed
