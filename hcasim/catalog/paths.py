"""Where the data files live: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def roots() -> tuple[Path, ...]:
    """Return the folders that may hold models/, scenarios/ and calibration/, best first."""
    return (PACKAGE / "_data", PACKAGE.parent)


def data_path(*parts: str) -> Path:
    """Return the path of a data file or folder.

    Parameters:
        parts: path components, such as "models", "adapters", "mt25208.toml".

    Returns:
        The first existing candidate; if there is none, where the file would belong.
    """
    candidates = [root.joinpath(*parts) for root in roots()]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    for root, candidate in zip(roots(), candidates, strict=True):
        if root.joinpath(*parts[:1]).is_dir():
            return candidate
    return candidates[-1]
