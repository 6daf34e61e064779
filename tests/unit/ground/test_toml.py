"""What is written as TOML reads back the same, and a list of numbers or words is one line."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, StrictInt, ValidationError

from hcasim.ground.errors import CatalogError
from hcasim.ground.faults import without_faults
from hcasim.ground.toml import read_toml, render_toml

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=9)
leaves = words | st.integers(-(2**63), 2**63 - 1) | st.booleans()
lists = st.lists(leaves, max_size=4)
tables = st.dictionaries(words, leaves | lists | st.lists(st.dictionaries(words, lists)))


@given(st.dictionaries(words, tables | leaves | lists | st.lists(lists)), st.lists(words))
def test_what_is_written_reads_back_the_same(table: dict[str, Any], header: list[str]) -> None:
    assert tomllib.loads(render_toml(table, header)) == table


def test_a_list_of_numbers_or_words_is_one_line() -> None:
    table = {"a": [1, 2], "b": ["x,", "y\u2028z"], "c": [], "d": {"e": [0.5]}}
    lines = ["a = [1, 2]", 'b = ["x,", "y\u2028z"]', "c = []", "", "[d]", "e = [0.5]", ""]
    assert render_toml(table) == "\n".join(lines)


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


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a." * 300_000 + "a = 1", "found a key of more than 64 parts"),
        ("[" + '"a" . ' * 100 + "a]", "found a key of more than 64 parts"),
        ("a." * 40 + "a = 1", "found tables and lists more than 16 deep in each other"),
        ("a = " + "[" * 100 + "]" * 100, "found tables and lists more than 16 deep in each other"),
        ("a = " + "{a=" * 100_000, ""),
        ("a = 0x" + "f" * 5000, "found a whole number of more than 64 bits"),
        ("a = " + "9" * 5000, ""),
    ],
)
def test_what_takes_long_or_is_too_deep_is_refused_at_once(
    text: str, fault: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.toml"
    file.write_text(text)
    with pytest.raises(CatalogError, match=f"not valid TOML: {fault}"):
        read_toml(file)


def test_prose_with_points_and_keys_with_parts_are_read(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f'a.b."c.d".e = "{"Word. And another. " * 50}{"1.2" * 60}"\n')
    assert set(read_toml(file)["a"]["b"]["c.d"]) == {"e"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[" * 5000 + "]" * 5000, "found tables and lists more than 16 deep in each other"),
        ("{a=" * 5000 + "1" + "}" * 5000, "found tables and lists more than 16 deep in each other"),
        ("1" * 100_000, "found a whole number of more than 64 bits"),
    ],
)
def test_what_python_cannot_hold_is_told_as_what_is_too_deep_or_large(
    tmp_path: Path, text: str, fault: str
) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(f"a = {text}\n")
    with pytest.raises(CatalogError) as caught:
        read_toml(file)
    assert caught.value.faults == [f"{file}: not valid TOML: {fault}"]
