"""Finding and reading the catalogue's files."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from hcasim.catalog.fits import Fit, fit_path, parse_fit
from hcasim.catalog.paths import data_path
from hcasim.ground.errors import CatalogError, display, nearest, one_of

MODELS = ("adapters", "hosts", "switches", "stacks", "testbeds")
KINDS = (*MODELS, "scenarios", "calibrations")


def folder(kind: str) -> Path:
    """Return the folder that holds the files of one kind.

    Parameters:
        kind: one of KINDS.

    Raises:
        CatalogError: an unknown kind.
    """
    if kind in MODELS:
        return data_path("models", kind)
    if kind == "scenarios":
        return data_path("scenarios")
    if kind == "calibrations":
        return data_path("calibration", "fits")
    raise CatalogError(
        [f"kind: found {kind!r}; allowed: {one_of(KINDS)}{nearest(str(kind), KINDS)}"]
    )


def list_ids(kind: str) -> list[str]:
    """Return the ids of one kind, sorted.

    Parameters:
        kind: "adapters", "hosts", "switches", "stacks", "testbeds", "scenarios" (whose ids are
            "<paper>/<figure>") or "calibrations".

    Raises:
        CatalogError: an unknown kind.
    """
    root = folder(kind)
    pattern = "**/*.toml" if kind == "scenarios" else "*.toml"
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob(pattern))


def model_path(kind: str, identifier: str) -> Path:
    """Return the file of a model.

    Parameters:
        kind: one of MODELS.
        identifier: its id.

    Raises:
        CatalogError: an unknown kind or id; the message lists the known ids.
    """
    known = list_ids(kind)
    if identifier not in known:
        raise CatalogError([unknown_id(kind, identifier)])
    return folder(kind) / f"{identifier}.toml"


def unknown_id(kind: str, identifier: object) -> str:
    """Say that an id is unknown, which ids are known and where they are looked for."""
    known = list_ids(kind)
    noun = kind.removesuffix("es") if kind == "switches" else kind.removesuffix("s")
    return (
        f"{display(folder(kind))}: found no {noun} {identifier!r}; "
        f"allowed: {one_of(known)}{nearest(str(identifier), known)}"
    )


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file.

    Parameters:
        file: its path.

    Returns:
        Its contents, which the caller must not change.

    Raises:
        CatalogError: no such file, unreadable, or not TOML; the message has line and column.
    """
    try:
        stat = file.stat()
        return _read(file, stat.st_mtime_ns, stat.st_size)
    except FileNotFoundError:
        beside = sorted(path.name for path in file.parent.glob("*.toml"))
        close = nearest(file.name, beside)
        raise CatalogError(
            [f"{display(file)}: no such file; its folder holds {one_of(beside)}{close}"]
        ) from None
    except OSError as error:
        raise CatalogError([f"{display(file)}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise CatalogError([f"{display(file)}: not UTF-8 text at byte {error.start}"]) from None
    except (ValueError, RecursionError) as error:
        raise CatalogError([f"{display(file)}: not valid TOML: {error}"]) from None


@lru_cache(maxsize=256)
def _read(file: Path, modified_ns: int, size: int) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def load_fit(identifier: str) -> Fit:
    """Read calibration/fits/<id>.toml.

    Parameters:
        identifier: the fit's id.

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    if identifier not in list_ids("calibrations"):
        raise CatalogError([unknown_id("calibrations", identifier)])
    file = fit_path(identifier)
    return parse_fit(identifier, file, read_toml(file))
