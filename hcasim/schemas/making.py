"""Making the JSON Schemas from the classes that check the files."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pydantic
from pydantic import Field, TypeAdapter

from hcasim.calibrate.document import CalibrateDocument
from hcasim.catalog import Fit, file_schema
from hcasim.papers.document import ReproduceDocument, RunDocument
from hcasim.papers.loader import ContextFile
from hcasim.papers.scenario import Scenario
from hcasim.runs.application_document import AppDocument
from hcasim.runs.document import BenchmarkDocument
from hcasim.schemas.documents import ImportDocument, ListDocument, ShowDocument
from hcasim.study.comparison.document import CompareDocument, WhyDocument
from hcasim.study.sensitivity.document import SensitivityDocument
from hcasim.study.sweep.document import SweepDocument
from hcasim.traces.header import Header
from hcasim.traces.schema import RECORDS, End, Failure, Point

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_KINDS = {
    "adapter": "adapters",
    "host": "hosts",
    "stack": "stacks",
    "switch": "switches",
    "testbed": "testbeds",
}
_LINE = Annotated[Header | Point | Failure | End, Field(discriminator="record")]
_FORMS: dict[str, Any] = {
    "app": AppDocument,
    "bench": BenchmarkDocument,
    "calibrate": CalibrateDocument,
    "calibration": Fit,
    "compare": CompareDocument,
    "context": ContextFile,
    "import": ImportDocument,
    "list": ListDocument,
    "reproduce": ReproduceDocument,
    "run": RunDocument,
    "scenario": Scenario,
    "sensitivity": SensitivityDocument,
    "show": ShowDocument,
    "sweep": SweepDocument,
    "trace": _LINE,
    "why": WhyDocument,
}


def made(name: str) -> dict[str, Any]:
    """Make a schema from the classes.

    Parameters:
        name: one of `hcasim.schemas.SCHEMAS`.
    """
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


def text(schema: dict[str, Any]) -> str:
    """Write a schema as its file holds it."""
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
