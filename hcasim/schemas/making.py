"""JSON Schemas, made when they are asked for from the classes that check the files."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pydantic
from pydantic import BaseModel, Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from hcasim.calibrate.document import CalibrateDocument
from hcasim.catalog import MODELS, Fit
from hcasim.catalog.fields import Leaf, PlainKey, Table, keys_of
from hcasim.catalog.folders import a_model
from hcasim.catalog.loader import CLASSES
from hcasim.catalog.model_file import Chosen, Fitted, Given
from hcasim.ground.errors import CatalogError, Fault, is_one, nearest, one_of
from hcasim.papers.loader import ContextFile
from hcasim.papers.replay import RunDocument, RunsDocument
from hcasim.papers.report import ReproduceDocument
from hcasim.papers.scenario import Scenario
from hcasim.runs.application import AppDocument
from hcasim.runs.document import BenchmarkDocument
from hcasim.schemas.documents import ImportDocument, ListDocument, ShowDocument
from hcasim.study.agreement.agreement import CheckDocument
from hcasim.study.comparison.compare import CompareDocument
from hcasim.study.comparison.why import WhyDocument
from hcasim.study.sensitivity.result import SensitivityDocument
from hcasim.study.sweep.table import SweepDocument
from hcasim.traces.schema import RECORDS, End, Failure, Header, Point

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LEAF = '"$comment": "leaf"'
_KINDS = {a_model(kind).split()[1]: kind for kind in MODELS}
_LINE = Annotated[Header | Point | Failure | End, Field(discriminator="record")]
_FORMS: dict[str, Any] = {
    "app": AppDocument,
    "bench": BenchmarkDocument,
    "calibrate": CalibrateDocument,
    "calibration": Fit,
    "check": CheckDocument,
    "compare": CompareDocument,
    "context": ContextFile,
    "import": ImportDocument,
    "list": ListDocument,
    "reproduce": ReproduceDocument,
    "run": RunDocument,
    "runs": RunsDocument,
    "scenario": Scenario,
    "sensitivity": SensitivityDocument,
    "show": ShowDocument,
    "sweep": SweepDocument,
    "trace": _LINE,
    "why": WhyDocument,
}


SCHEMAS = tuple(sorted((*_KINDS, *_FORMS)))
"""Their names; of a trace it is that of a line."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of files; `python -m hcasim.schemas FOLDER` writes all.

    Parameters:
        name: of a description, such as "adapter"; "scenario", "context" (the statements of a paper
            that nothing replays), "calibration" or "trace" (of one line); or of the JSON that a
            command prints, such as "bench" or "runs" (of several scenarios).

    Raises:
        CatalogError: an unknown name.
    """
    if not is_one(name, SCHEMAS):
        raise CatalogError([Fault("schema", name, one_of(SCHEMAS), nearest(name, SCHEMAS))])
    if name in _KINDS:
        found = file_schema(_KINDS[name])
    else:
        found = TypeAdapter[Any](_FORMS[name]).json_schema()
    if name in ("trace", "import"):
        for record in RECORDS.values():
            # A line says what it is, also where the class knows.
            part = found["$defs"][record.__name__]
            always = ["record", "schema", "version"] if record is Header else ["record"]
            part["required"] = [*always, *part["required"]]
    if name == "scenario":
        # Its place says it.
        del found["properties"]["id"]
        found["required"].remove("id")
    said = f"made with pydantic {pydantic.VERSION}"
    return {**found, "$schema": DIALECT, "title": f"hcasim {name}", "$comment": said}


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
