"""Every parameter of every description, out of its schema."""

from collections.abc import Iterator
from typing import Any

import hcasim as hc
from tests.docs.site.markdown import code, contents, page, plain, prose, table

KINDS = ("adapter", "host", "switch", "stack", "testbed")
_TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "yes or no"}
Schema = dict[str, Any]


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    for kind in KINDS:
        yield f"reference/parameters/{kind}", _description(kind)
    told = (
        "A description is a TOML file, and these are its keys. A value is written as "
        '`{ value = "25 ns", evidence = "assumed", source = "..." }`; times, sizes and rates bear '
        "their units. `--set` takes the same paths behind the kind: `--set adapter.bus.lanes=4`. "
        '`hc.schema("adapter")` returns the schema that this is made from.'
    )
    yield (
        "reference/parameters/index",
        page("Parameters of descriptions", told, contents(KINDS)),
    )


def _description(kind: str) -> str:
    schema = hc.schema(kind)
    defs = schema["$defs"]
    single: list[tuple[str, ...]] = []
    parts = []
    for name, one in sorted(schema["properties"].items()):
        rows = list(_rows(one, defs, name))
        if len(rows) == 1 and rows[0][0] == name:
            single += rows
            continue
        told = _resolved(one, defs).get("description", "")
        parts.append(page(f"## {name}", prose(told), _table(rows)))
    head = prose(schema["description"])
    return page(f"{kind.title()}", head, _table(single), *parts)


def _table(rows: list[tuple[str, ...]]) -> str:
    cells = ((code(path), plain(allowed), plain(told)) for path, allowed, told in rows)
    return table(("path", "value", "meaning"), cells)


def _resolved(schema: Schema, defs: Schema) -> Schema:
    """Follow references, and drop the ways to leave a part out."""
    found = dict(schema)
    while True:
        if "$ref" in found:
            name = found.pop("$ref").rpartition("/")[2]
            found = {**defs[name], **found, "name": name}
        options = found.get("anyOf", [])
        real = [
            one for one in options if one.get("const") is not False and one.get("type") != "null"
        ]
        if len(real) != 1 or not options:
            return found
        del found["anyOf"]
        found = {**real[0], **found}


def _rows(
    schema: Schema, defs: Schema, path: str, above: tuple[str, ...] = ()
) -> Iterator[tuple[str, str, str]]:
    """Yield path, what is allowed and what it means of each value below a place."""
    found = _resolved(schema, defs)
    told = str(found.get("description", ""))
    name = str(found.get("name", ""))
    if name and name in above:
        yield path, "the same again", ""
        return
    above = (*above, name)
    if "allOf" in found:
        yield path, _allowed(found["properties"]["value"], defs), told
    elif several := found.get("oneOf", ()):
        for one in several:
            kind = _resolved(one, defs)
            word = kind.get("properties", {}).get("kind", {}).get("const", "")
            for place, allowed, meaning in _rows(kind, defs, path, above):
                if place != f"{path}.kind":
                    yield place, allowed, f"{word}: {meaning}" if word and meaning else meaning
        yield from _kinds(several, defs, path)
    elif any(map(_is_table, (_resolved(one, defs) for one in found.get("anyOf", ())))):
        for one in found["anyOf"]:
            yield from _rows(one, defs, path, above)
    elif "properties" in found:
        for key, one in found["properties"].items():
            yield from _rows(one, defs, f"{path}.{key}", above)
    elif found.get("type") == "array" and "items" in found:
        yield from _rows({"description": told, **found["items"]}, defs, f"{path}[]", above)
    elif isinstance(found.get("additionalProperties"), dict):
        yield from _rows(found["additionalProperties"], defs, f"{path}.NAME", above)
    else:
        yield path, _allowed(found, defs), told


def _is_table(schema: Schema) -> bool:
    return "properties" in schema or isinstance(schema.get("additionalProperties"), dict)


def _kinds(several: list[Schema], defs: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    words = [
        _resolved(one, defs).get("properties", {}).get("kind", {}).get("const") for one in several
    ]
    if all(words):
        yield f"{path}.kind", ", ".join(words), "which of them it is"


def _allowed(schema: Schema, defs: Schema) -> str:
    """Say what a value may be: its range in words if the schema has them, else type and ends."""
    found = _resolved(schema, defs)
    if comment := found.get("$comment"):
        return str(comment)
    if "enum" in found:
        return ", ".join(map(str, found["enum"]))
    if "const" in found:
        return str(found["const"])
    if options := found.get("anyOf") or found.get("oneOf"):
        return " or ".join(dict.fromkeys(_allowed(one, defs) for one in options))
    kind = found.get("type", "")
    words = [_TYPES.get(str(kind), str(kind))]
    low, high = (found.get(name) for name in ("minimum", "maximum"))
    words += [f"from {low}"] if low is not None else []
    words += [f"to {high}"] if high is not None else []
    return " ".join(words)
