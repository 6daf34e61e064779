"""Libraries that only some traces need."""

from __future__ import annotations

from importlib.util import find_spec

from hcasim.ground.errors import CatalogError


def need(name: str, library: str, extra: str) -> None:
    """Check that a library is installed.

    Parameters:
        name: of the trace.
        library: as it is imported.
        extra: of this package, which brings it.

    Raises:
        CatalogError: it is not there.
    """
    try:
        found = find_spec(library)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise CatalogError(
            [f"{name}: needs a library that is missing; needed: pip install 'hcasim[{extra}]'"]
        )
