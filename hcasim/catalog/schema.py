"""JSON Schema of the files, for editors that complete and check TOML."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from hcasim.catalog.fields import DEPTH, Leaf, PlainKey, Table, keys_of
from hcasim.catalog.loader import CLASSES
from hcasim.catalog.provenance import EVIDENCE


def file_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of the files of one kind.

    Parameters:
        kind: one of `hcasim.catalog.MODELS`.

    Raises:
        KeyError: an unknown kind.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"hcasim {kind}",
        **_object(CLASSES[kind]),
    }


def _object(model: type[BaseModel], depth: int = DEPTH) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, key in keys_of(model).items():
        description = model.model_fields[name].description
        if isinstance(key, Table) and not depth:
            continue
        schema = _schema(key, depth - 1)
        properties[name] = {**schema, "description": description} if description else schema
        if key.required:
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _schema(key: Leaf | PlainKey | Table, depth: int) -> dict[str, Any]:
    if isinstance(key, Table):
        objects = [_object(model, depth) for model in key.models.values()]
        one = objects[0] if len(objects) == 1 else {"oneOf": objects}
        if key.named:
            return {"oneOf": [one, {"type": "object", "additionalProperties": one}]}
        return one
    if isinstance(key, PlainKey):
        if key.many:
            return {"type": "array", "items": {"type": "string"}}
        return {"enum": list(key.choices)} if key.choices else {"type": "string"}
    source = {"type": "string", "minLength": 1}
    given = [evidence for evidence in EVIDENCE if evidence not in ("fitted", "chosen")]
    claims = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    kinds: list[dict[str, Any]] = [
        {"value": _value(key), "evidence": {"enum": given}},
        {"value": _value(key), "evidence": {"const": "chosen"}, "claims": claims},
        {"fit": {"type": "string"}, "evidence": {"const": "fitted"}},
    ]
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {**kind, "source": source},
                "required": [*kind, "source"],
                "additionalProperties": False,
            }
            for kind in kinds
        ]
    }


def _value(leaf: Leaf) -> dict[str, Any]:
    if leaf.unit is not None:
        units = "|".join(leaf.unit.names)
        return {
            "type": "string",
            "pattern": rf"^[0-9]+(\.[0-9]+)?\s*({units})$",
            "$comment": leaf.allowed,
        }
    if leaf.choices:
        return {"enum": list(leaf.choices)}
    if leaf.base is bool:
        return {"type": "boolean"}
    if leaf.base is str:
        return {"type": "string", "minLength": 1}
    schema: dict[str, Any] = {"type": "integer"}
    if leaf.low is not None:
        schema["minimum"] = leaf.low
    if leaf.high is not None:
        schema["maximum"] = leaf.high
    return schema
