"""Where descriptions lie: in the user's folders, then in what hcasim ships."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hcasim.catalog.successors import successor_of_id
from hcasim.ground.errors import CatalogError, Fault, display, is_one, nearest, one_of, refuse
from hcasim.ground.reading import leads_to, no_such_file

MODELS = ("adapters", "hosts", "switches", "stacks", "testbeds")
PLACES = {
    **{kind: Path("models", kind) for kind in MODELS},
    "scenarios": Path("scenarios"),
    "calibrations": Path("calibration", "fits"),
}
"""Folder of each kind, inside each of `roots`."""
KINDS = tuple(PLACES)
VARIABLE = "HCASIM_PATH"

_GIVEN: dict[tuple[str, str], Path] = {}
"""Files that were given by their path, by kind and id."""
_PACKAGE = Path(__file__).resolve().parent.parent


def shipped() -> Path:
    """Return the folder of the shipped data: in the installed package, or beside it."""
    inside = _PACKAGE / "_data"
    return inside if inside.is_dir() else _PACKAGE.parent


def roots() -> tuple[Path, ...]:
    """Return folders of models/, scenarios/ and calibration/, best first; or CatalogError."""
    own = [Path(name).absolute() for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    wrong = (Fault(VARIABLE, str(path), "folders") for path in own if not path.is_dir())
    refuse(*wrong)
    return (*own, shipped())


def data_path(*parts: str) -> Path:
    """Return the first such file or folder that exists, or where it would be as shipped."""
    candidates = [root.joinpath(*parts) for root in roots()]
    return next((path for path in candidates if leads_to(path)), candidates[-1])


def is_path(name: str, kind: str = "") -> bool:
    """Whether a name is the path of a file instead of an id; ids of scenarios have a slash, too."""
    starts = name.startswith((*(f"{start}{os.sep}" for start in ("", ".", "..")), "~"))
    return name.endswith(".toml") or starts or (os.sep in name and kind != "scenarios")


def find_file(name: str, kind: str, beside: Path | None = None) -> Path:
    """Return the file of a description.

    Parameters:
        name: its id, or the path of a file.
        kind: one of KINDS.
        beside: the folder that a relative path starts from; the current one without it.

    Raises:
        CatalogError: an unknown kind or id, or no such file; the message lists the known ids.
    """
    if not is_path(name, kind):
        if found := _find(name, kind):
            return found
        raise CatalogError([unknown_id(kind, name)])
    with suppress(RuntimeError):
        # The home of nobody on this machine.
        name = str(Path(name).expanduser())
    file = Path(os.path.normpath((beside or Path.cwd()) / name))
    if not leads_to(file):
        raise no_such_file(file)
    return file


def _find(name: str, kind: str) -> Path | None:
    files = [folder / f"{name}.toml" for folder in _folders(kind)]
    given = _GIVEN.get((kind, name))
    return next((file for file in (*files, *filter(None, [given])) if leads_to(file)), None)


def is_known(name: object, kind: str) -> bool:
    """Whether there is a description with this id, in a folder or in a file that was given."""
    return isinstance(name, str) and not is_path(name, kind) and _find(name, kind) is not None


def adopt(file: Path, kind: str) -> None:
    """Let a file that was given by its path be found by its id, as fits name it, from now on."""
    _GIVEN[kind, file.stem] = file


def list_ids(kind: str) -> list[str]:
    """Return the ids of one of KINDS, sorted; those of scenarios are "<paper>/<figure>"."""
    pattern = "**/*.toml" if is_one(kind, ["scenarios"]) else "*.toml"
    found = ((path, folder) for folder in _folders(kind) for path in folder.glob(pattern))
    return sorted({path.relative_to(one).with_suffix("").as_posix() for path, one in found})


def _folders(kind: str) -> Iterator[Path]:
    if not is_one(kind, KINDS):
        raise CatalogError([Fault("kind", kind, one_of(KINDS), nearest(kind, KINDS))])
    for root in roots():
        yield root / PLACES[kind]


def a_model(kind: str) -> str:
    """Name one of a kind, such as "an adapter"."""
    noun = kind.removesuffix("es") if kind == "switches" else kind.removesuffix("s")
    return f"{'an' if noun[0] == 'a' else 'a'} {noun}"


def unknown_id(kind: str, identifier: object, known: Sequence[str] | None = None) -> Fault:
    """Say that an id of one of KINDS, or "models", is unknown, and which are known and where."""
    place = PLACES.get(kind, Path(kind))
    known = list_ids(kind) if known is None else known
    folders = [root / place for root in roots()]
    where = ", ".join(display(folder) for folder in folders if folder.is_dir())
    found = f"no {a_model(kind).split()[1]} {identifier!r}"
    hint = successor_of_id(identifier) or nearest(identifier, known)
    return Fault(where or display(shipped()), identifier, one_of(known), hint, found)
