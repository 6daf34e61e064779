"""Faults of a line of a trace: where, what was found, what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from hcasim.ground.errors import nearest, one_of

_SHOWN = 60
"""Characters of what was found that a message repeats."""
_MANY = 20
_SAID = 10
"""Faults of one file that are said if there are more than those."""
_ALLOWED = {
    "greater_than_equal": "{ge:g} or more",
    "less_than_equal": "{le:g} or less",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "string_pattern_mismatch": "text like {pattern}",
    "tuple_type": "a list",
    "too_short": "one or more",
    "dict_type": "a table",
    "model_type": "a table",
    "literal_error": "{expected}",
}
"""What is allowed, by what pydantic calls a fault and with its context."""
_OPTION = "true or false, a whole number from 0 or text"


def few(name: str, faults: Sequence[str]) -> list[str]:
    """Return what is said of a file in which more is wrong than a reader can use.

    Parameters:
        name: of the file.
        faults: all that was found.
    """
    if len(faults) <= _MANY:
        return list(faults)
    said, left = faults[:_SAID], faults[_SAID:]
    start = f"{name}:"
    lines = {one.removeprefix(start).partition(":")[0] for one in left if one.startswith(start)}
    more = "1 more line" if len(lines) == 1 else f"{len(lines)} more lines"
    return [*said, f"{name}: ... and {more} that cannot be read"]


def told(error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """Say what is wrong with a line; of an option once, not once for each type that it may have.

    Parameters:
        error: what pydantic raised.
        model: the record that was validated.
    """
    lines: dict[str, None] = {}
    for one in error.errors():
        path = one["loc"]
        is_option = len(path) == 3 and path[0] == "options"
        path = path[:2] if is_option else path
        place = ".".join(str(part) for part in path)
        found = f"found {_shown(one['input'])}; allowed: "
        text = f"{found}{_OPTION}" if is_option else _fault(one, found, model)
        lines[f"{place}: {text}" if place else text] = None
    yield from lines


def _fault(one: Any, found: str, model: type[BaseModel]) -> str:
    kind, context = one["type"], one.get("ctx", {})
    if kind == "missing":
        return "missing"
    if kind == "extra_forbidden":
        known = _keys(model, one["loc"][:-1])
        return f"unknown key; allowed: {one_of(known)}{nearest(str(one['loc'][-1]), known)}"
    if kind == "value_error":
        return str(one["msg"]).removeprefix("Value error, ")
    if kind not in _ALLOWED:
        message = str(one["msg"])
        return f"{found.partition(';')[0]}; {message[:1].lower()}{message[1:]}"
    text = found + _ALLOWED[kind].format(**context)
    if kind == "literal_error":
        words = context["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        text += nearest(str(one["input"]), words)
    return text


def _shown(found: object) -> str:
    """Write what was found as the file has it, and not more of it than a line can hold."""
    text = repr(found) if isinstance(found, str) else json.dumps(found, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Return the keys of the table that a location leads to."""
    table: Any = model
    for part in location:
        if part in table.model_fields:
            table = next(_models_in(table.model_fields[part].annotation))
    return [field.alias or name for name, field in table.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _models_in(inner)
