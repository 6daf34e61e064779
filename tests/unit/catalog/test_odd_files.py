"""Whatever stands in a file, the answer is a description or faults that name the file."""

import copy
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError, load, read_toml
from hcasim.ground.reading import render_toml

ODD = (False, 5, -1.5, float("nan"), "", "x", "1 ns", [], ["x"], [[1]], {}, {"kind": 1})
ODD += ({"value": 1}, {"x": {"y": 1}}, date(1979, 5, 27))
TEXT = ("notes", "title", "paper", "references", "source")


def places(table: dict[str, Any]) -> Iterator[list[str]]:
    """The paths of a table's keys, and of those of the tables in it."""
    for key, value in table.items():
        yield [key]
        if isinstance(value, dict):
            yield from ([key, *rest] for rest in places(value))


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_odd_value_anywhere_is_a_fault(data: Path, odd: object) -> None:
    file = data / "models" / "testbeds" / "liu2004.toml"
    whole = copy.deepcopy(read_toml(file))
    for path in [*places(whole), ["odd"]]:
        table = changed = copy.deepcopy(whole)
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = odd
        file.write_text(render_toml(changed))
        faults: list[str] = []
        try:
            load("liu2004", "testbeds")
        except CatalogError as error:
            faults = error.faults
        assert all(fault.startswith("models/") for fault in faults), faults
        understood = path[-1] in TEXT or (path, odd) == (["nodes", "count", "value"], 5)
        assert faults or understood, path
