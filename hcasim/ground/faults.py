"""What pydantic finds wrong, in words: where, what was found, what is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from hcasim.ground.errors import Fault, FaultError, nearest, one_of

_SHOWN = 60
"""Characters of what was found that a message repeats."""
_ALLOWED = {
    "greater_than_equal": "{ge:g} or more",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "{le:g} or less",
    "less_than": "less than {lt:g}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "string_pattern_mismatch": "text like {pattern}",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "one or more",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "literal_error": "{expected}",
}
"""What is allowed, by what pydantic calls a fault and with its context."""

Models = Sequence[type[BaseModel]]


class Wrong:
    """Stands in the place of a value of which faults are known before pydantic sees it."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults


def told(
    error: ValidationError,
    models: Models,
    table: object,
    start: str,
    wanted: Callable[[type[BaseModel], str], str] = lambda model, key: "",
    instead: Callable[[str], str] = lambda path: "",
) -> list[str]:
    """Return a fault for each value of a table that pydantic found wrong.

    Parameters:
        models: what was validated against: one model, or all that there are to choose from.
        start: of each line, such as the name of the file.
        wanted: what is allowed for a key that is missing, by the model and the key.
        instead: what is said of a key that is unknown, by its path, if something is known of it.
    """
    given: list[str] = []
    found: dict[tuple[str, str], tuple[object, dict[str, None]]] = {}
    for one in error.errors(include_url=False):
        if isinstance(one["input"], Wrong):
            given += one["input"].faults
            continue
        place = start + _place(one["loc"], table, one["type"] == "missing")
        head, allowed = _fault(one, models, wanted, instead, len(found))
        if one["type"].startswith("union_tag"):
            place += ("." if place != start else "") + one["ctx"]["discriminator"].strip("'")
        # Each branch of a union says what it allows.
        _, same = found.setdefault((place, head), (one["input"], {}))
        same |= {allowed: None} if allowed else {}
    return given + [
        Fault(place.removesuffix(": "), value, one_of([*allowed]) if allowed else "", said=head)
        for (place, head), (value, allowed) in found.items()
    ]


def shown(found: object) -> str:
    """Write what was found as a file has it, and not more of it than a line can hold."""
    text = repr(found) if isinstance(found, str) else json.dumps(found, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _place(location: Sequence[int | str], table: Any, missing: bool) -> str:
    """Write a location without what only pydantic knows of, such as branches of a union."""
    text = ""
    for number, part in enumerate(location, start=1):
        if isinstance(part, int):
            known = isinstance(table, list | tuple) and part < len(table)
            name = f"[{part + 1}]"
        else:
            known = isinstance(table, Mapping) and part in table
            name = f".{part}"
        if known:
            table = table[part]
            # The only one of sections that could be several has the name of their table.
            if text.endswith(name):
                continue
        elif not (missing and number == len(location)):
            continue
        text += name
    return text.removeprefix(".")


def _fault(
    one: Any,
    models: Models,
    wanted: Callable[[type[BaseModel], str], str],
    instead: Callable[[str], str],
    before: int,
) -> tuple[str, str]:
    kind, context, found = one["type"], one.get("ctx", {}), shown(one["input"])
    *outer, last = one["loc"] or ("",)
    if kind == "missing":
        section = next(_sections(models, outer), None)
        return "missing", "" if section is None else wanted(section, str(last))
    if kind == "extra_forbidden":
        if known := instead(".".join(map(str, one["loc"]))):
            return f"unknown key{known}", ""
        names = [name for model in _sections(models, outer) for name in _fields(model)]
        return "unknown key", f"{one_of(names)}{nearest(str(last), names, before)}"
    if kind == "value_error":
        error = context["error"]
        fault = error.fault if isinstance(error, FaultError) else None
        return (fault.said, fault.allowed + fault.hint) if fault else (str(error), "")
    if kind == "union_tag_not_found":
        name = context["discriminator"].strip("'")
        tags = [tag for model in _sections(models, one["loc"]) for tag in _tags(model, name)]
        return "missing", one_of(tags)
    if kind == "union_tag_invalid":
        tag = one["input"][context["discriminator"].strip("'")]
        return f"found {shown(tag)}", _choice(context["expected_tags"], str(tag), before)
    if kind == "literal_error":
        return f"found {found}", _choice(context["expected"], str(one["input"]), before)
    if kind in _ALLOWED:
        return f"found {found}", _ALLOWED[kind].format(**context)
    message = str(one["msg"])
    return f"found {found}; {message[:1].lower()}{message[1:]}", ""


def _choice(expected: str, found: str, before: int) -> str:
    words = expected.replace("'", "").replace(" or ", ", ").split(", ")
    return one_of(words) + nearest(found, words, before)


def _sections(models: Models, location: Sequence[int | str]) -> Iterator[type[BaseModel]]:
    here = list(models)
    for part in location:
        chosen = [model for model in here if part in _tags(model)] if len(here) > 1 else []
        owner = next((model for model in here if part in _fields(model)), None)
        if chosen:
            here = chosen
        elif owner is not None:
            here = list(_models_in(_fields(owner)[str(part)].annotation))
    yield from here


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {info.alias or name: info for name, info in model.model_fields.items()}


def _tags(model: type[BaseModel], name: str = "") -> list[str]:
    """The words by which a model may be chosen of several, those of one key if it is named."""
    kinds = [info.annotation for key, info in _fields(model).items() if key == (name or key)]
    return [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
