"""Faults of a scenario file in the catalogue's words: where, what was found, what is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from hcasim.ground.errors import nearest, one_of


def describe(error: ValidationError, model: type[BaseModel], where: str) -> list[str]:
    """Return one line for each fault that validation has found.

    Parameters:
        error: what pydantic raised.
        model: the model that was validated.
        where: the file, for the start of each line.
    """
    lines: dict[tuple[int | str, ...], str] = {}
    for item in error.errors():
        location = [part for part in item["loc"] if not _is_branch(part)]
        # Each branch of a union reports its own fault; the first says enough.
        lines.setdefault(tuple(location), f"{where}: {_path(location)}{_fault(item, model)}")
    return list(lines.values())


def _is_branch(part: int | str) -> bool:
    return isinstance(part, str) and (
        part in ("float", "int", "str") or part.startswith(("tuple[", "function-", "literal["))
    )


def _path(location: list[int | str]) -> str:
    text = ""
    for part in location:
        text += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return f"{text}: " if text else ""


def _fault(item: Any, model: type[BaseModel]) -> str:
    kind, found = item["type"], item["input"]
    if kind == "missing":
        return "missing"
    if kind == "extra_forbidden":
        name = str(item["loc"][-1])
        known = list(_fields_at(model, item["loc"][:-1]))
        return f"unknown key; allowed: {one_of(known)}{nearest(name, known)}"
    if kind == "literal_error":
        expected = item["ctx"]["expected"]
        words = expected.replace("'", "").replace(" or ", ", ").split(", ")
        return f"found {found!r}; allowed: {expected}{nearest(str(found), words)}"
    if kind == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    message = item["msg"][0].lower() + item["msg"][1:]
    shown = "" if isinstance(found, dict | list | tuple | BaseModel) else f"found {found!r}; "
    return f"{shown}{message}"


def _fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> Iterator[str]:
    """The keys of the section that a location leads to."""
    section: Any = model
    for part in location:
        if isinstance(part, int) or _is_branch(part):
            continue
        fields = getattr(section, "model_fields", {})
        section = next(_models_in(fields[part].annotation), section) if part in fields else section
    yield from getattr(section, "model_fields", {})


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _models_in(inner)
