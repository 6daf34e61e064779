"""Faults have fields in every process, and what validation found wrong is left out."""

import pickle

from pydantic import BaseModel, ConfigDict, StrictInt, ValidationError

from hcasim.ground.errors import CatalogError, Fault
from hcasim.ground.faults import without_faults
from hcasim.ground.units import TIME, UnitError


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: StrictInt
    rows: list[StrictInt] = []


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str
    parts: dict[str, Part] = {}


def test_what_is_sound_of_a_table_is_left_of_it() -> None:
    good = {"size": 1, "rows": [1]}
    parts = {"a": good, "b": {"size": "x", "rows": [1, "y"]}, "c": {"row": 1}, "d": 5}
    table = {"id": "i", "idd": 1, "parts": parts}
    try:
        Whole.model_validate(table)
    except ValidationError as error:
        kept = without_faults(error, table)
    assert kept == {"id": "i", "parts": {"a": good, "b": {}, "c": {}}}
    assert parts["d"] == 5


def test_a_fault_keeps_its_fields_in_another_process() -> None:
    fault = Fault("--set x", 3, "4 or 5", "; did you mean '4'?")
    missing = Fault("f.toml: id", None, "text", said="missing")
    assert (fault, missing) == (
        "--set x: found 3; allowed: 4 or 5; did you mean '4'?",
        "f.toml: id: missing; allowed: text",
    )
    for one in pickle.loads(pickle.dumps(CatalogError([fault, missing]))).faults:
        same = fault if one == fault else missing
        assert (one, vars(one), one.at("y")) == (same, vars(same), same.at("y"))
    try:
        TIME.parse("3 nz")
    except UnitError as error:
        copy = pickle.loads(pickle.dumps(error))
    assert copy.fault.at("t").startswith("t: found '3 nz' with the unit 'nz'; a time is allowed")
