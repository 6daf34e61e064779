"""The file that a description of one's own begins with: all of its base, as comments."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic import BaseModel

from hcasim.catalog.description import Description
from hcasim.catalog.fields import Leaf, PlainKey, Table, keys_of
from hcasim.catalog.folders import a_model, is_path
from hcasim.catalog.loader import Loaded, load
from hcasim.catalog.provenance import Parameter, Value

_WIDTH = 98
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEAD = (
    "What differs from {base} stands here; all else is inherited, fitted values with their "
    "evidence, too. To change a value, take the # before its line away. A value has its unit, its "
    "evidence (spec, datasheet, driver or assumed; chosen also has a list of claims) and a source "
    "that says where it comes from. If you write a [section], these lines stay before it. Use:"
)


def starting_file(kind: str, name: str, base: str, folder: Path) -> str:
    """Write a description that is the same as another, with comments on what may be changed.

    Parameters:
        kind: one of `hcasim.catalog.MODELS`.
        name: its id.
        base: id or file of the other, a file as seen from the current folder.
        folder: where it will lie.

    Returns:
        The text, which is valid as it is.

    Raises:
        CatalogError: no such base, or every fault of its file.
    """
    loaded = load(base, kind)
    if is_path(base):
        base = f"./{os.path.relpath(loaded.file, folder.resolve())}"
    noun = a_model(kind).split()[1]
    own = f"./{name}.toml"
    use = [f"hcasim show {own}"]
    if noun in ("adapter", "testbed"):
        bed = own if noun == "testbed" else f"ID --adapter {own}"
        use.append(f"hcasim bench write_lat --testbed {bed}")
    lines = [
        *comment(_HEAD.format(base=loaded.model.id)),
        *(f"##     {line}" for line in use),
        "",
        f"id = {word(name)}",
        f"title = {word(f'{name}, based on: {loaded.model.title}')}",
        f"based_on = {word(base)}",
        *_keys(loaded, type(loaded.model), loaded.values, ()),
    ]
    return "\n".join(lines) + "\n"


def _keys(
    loaded: Loaded, model: type[BaseModel], values: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[str]:
    """Yield the lines of a section: its own keys, and below them its sections."""
    parameters = {one.path: one for one in loaded.parameters}
    keys = {name: key for name, key in keys_of(model).items() if name in values and name != "kind"}
    own = [name for name in keys if name not in Description.model_fields]
    for name in (name for name in own if not isinstance(keys[name], Table)):
        key, here = keys[name], (*path, name)
        text = model.model_fields[name].description or ""
        if isinstance(key, Leaf):
            yield from _leaf(key, parameters[".".join(here)], here, text)
        elif isinstance(key, PlainKey) and values[name]:
            yield ""
            yield from comment(text)
            yield f"# {dotted(here)} = {word(values[name])}"
    for name in own:
        key = keys[name]
        if isinstance(key, Table):
            for part, inside in key.parts(name, values[name]).items():
                section = key.models[inside.get("kind", "")]
                yield from _keys(loaded, section, inside, (*path, *part.split(".")))


def _leaf(
    key: Leaf, parameter: Parameter[Value], path: tuple[str, ...], text: str
) -> Iterator[str]:
    yield ""
    yield from comment(f"{text or path[-1]}: {key.allowed}")
    base = f", from {parameter.inherited_from}" if parameter.inherited_from else ""
    yield from comment(f"{parameter.evidence}{base}: {parameter.source}")
    leaf = f'value = {word(key.raw(parameter.value))}, evidence = "assumed", source = "what if"'
    yield f"# {dotted(path)} = {{ {leaf} }}"


def comment(text: str) -> list[str]:
    """Write words as lines of comment."""
    # Two signs tell words from what can be used.
    return [f"## {line}" for line in wrap(text, _WIDTH)]


def dotted(path: tuple[str, ...]) -> str:
    """Write a path as the key of a TOML file."""
    return ".".join(one if _BARE.fullmatch(one) else word(one) for one in path)


def word(value: object) -> str:
    """Write a value as TOML, whose words, numbers and lists are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
