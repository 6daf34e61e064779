"""JSON Schema of the files, for editors that complete and check TOML."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from hcasim.catalog.fields import Leaf, PlainKey, Table, keys_of
from hcasim.catalog.loader import CLASSES
from hcasim.catalog.model_file import Chosen, Fitted, Given

_LEAF = '"$comment": "leaf"'


def file_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of the files of one kind.

    It asks for whole sections of files that are not based on another, and not for what is in them.
    """
    found, *others = [one.model_json_schema(schema_generator=_OfFiles) for one in CLASSES[kind]]
    leaf = TypeAdapter[Any](Given | Chosen | Fitted).json_schema()
    defs = {**found.pop("$defs", {}), **leaf.pop("$defs"), "Leaf": leaf}
    for other in others:
        defs |= other["$defs"]
        found["properties"] |= other["properties"]
    needed = [[name for name, key in keys_of(one).items() if key.required] for one in CLASSES[kind]]
    whole = {
        **found,
        "$defs": defs,
        "title": f"hcasim {kind}",
        "required": ["id", "title"],
        "anyOf": [{"required": ["based_on"]}, *({"required": names} for names in needed)],
    }
    # While it makes a schema, pydantic follows references, and knows none to what comes later.
    linked: dict[str, Any] = json.loads(json.dumps(whole).replace(_LEAF, '"$ref": "#/$defs/Leaf"'))
    return linked


class _OfFiles(GenerateJsonSchema):
    """Descriptions as files hold them: with a table of provenance for each leaf."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        model = super().model_schema(schema)
        model.pop("required", None)
        description: type[BaseModel] = schema["cls"]
        for name, key in keys_of(description).items():
            old = model["properties"][name]
            if isinstance(key, Leaf):
                leaf = {"allOf": [{"$comment": "leaf"}], "properties": {"value": _value(key)}}
                words = {"description": old["description"]} if "description" in old else {}
                model["properties"][name] = leaf | words
            elif isinstance(key, Table) and key.named:
                inner = old.pop("additionalProperties")
                whole = {"type": old.pop("type"), "additionalProperties": inner}
                model["properties"][name] = {**old, "anyOf": [inner, whole]}
            if not isinstance(key, PlainKey) and not key.required:
                # `false` drops what the base has.
                model["properties"][name] = {"anyOf": [model["properties"][name], {"const": False}]}
        return model


def _value(leaf: Leaf) -> dict[str, Any]:
    if leaf.unit is not None:
        units = "|".join(leaf.unit.names)
        pattern = rf"^[0-9]+(\.[0-9]+)?\s*({units})$"
        return {"type": "string", "pattern": pattern, "$comment": leaf.allowed}
    if leaf.choices:
        return {"enum": list(leaf.choices)}
    if leaf.base is not int:
        return {"type": "boolean"} if leaf.base is bool else {"type": "string", "minLength": 1}
    ends = {"minimum": leaf.low, "maximum": leaf.high}
    return {"type": "integer"} | {name: end for name, end in ends.items() if end is not None}
