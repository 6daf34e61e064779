"""What validation found wrong is left out of what is kept."""

from pydantic import BaseModel, ConfigDict, StrictInt, ValidationError

from hcasim.ground.faults import without_faults


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
