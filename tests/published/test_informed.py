"""What was in view when a value was set stays said of it, whatever its source is later."""

import csv
from pathlib import Path

from hcasim.catalog import load

FILE = Path(__file__).with_name("informed.csv")
"""The statements that were in view, by model and path. Rows are added, never taken away."""


def test_a_value_stays_informed_by_what_was_in_view() -> None:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) >= 119
    forgotten = []
    for row in rows:
        found = {one.path: one for one in load(row["model"], row["kind"]).parameters}
        known = found.get(row["path"])
        informed = () if known is None else known.informed
        if not {*row["statements"].split()} <= {*informed}:
            forgotten.append((row["model"], row["path"], row["statements"], informed))
    assert forgotten == []
