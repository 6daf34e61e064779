"""Checking whole sections and descriptions once their values have been read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


def build(
    model: type[M], values: Mapping[str, Any], path: Sequence[str] = ()
) -> tuple[M | None, list[str]]:
    """Validate values that have been read leaf by leaf.

    Parameters:
        model: the description or section.
        values: nested tables of values in base units.
        path: where the section is, for messages.

    Returns:
        The description and no faults, or None and a line `key path: fault` for each rule broken.
    """
    try:
        return model.model_validate(dict(values)), []
    except ValidationError as error:
        return None, [_rule(item["loc"], item["msg"], values, path) for item in error.errors()]


def _rule(
    location: tuple[int | str, ...], message: str, values: Mapping[str, Any], path: Sequence[str]
) -> str:
    names = list(path)
    table: Any = values
    for part in location:
        # The location also names the kind of a section, which is no key of the file.
        if isinstance(table, Mapping) and part in table:
            # Nor does the path name an only section twice that could be one of several.
            if names[-1:] != [part]:
                names.append(str(part))
            table = table[part]
    return f"{'.'.join(names)}: {message.removeprefix('Value error, ')}"
