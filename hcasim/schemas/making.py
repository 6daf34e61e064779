"""JSON Schemas, made when they are asked for from the classes that check the files."""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
from pydantic import Field, TypeAdapter

from hcasim.calibrate.document import CalibrateDocument
from hcasim.catalog import MODELS, Fit
from hcasim.catalog.folders import a_model
from hcasim.catalog.schema import file_schema
from hcasim.ground.errors import CatalogError, nearest, one_of
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
    if str(name) not in SCHEMAS:
        close = nearest(name, SCHEMAS)
        raise CatalogError([f"schema: found {name!r}; allowed: {one_of(SCHEMAS)}{close}"])
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
