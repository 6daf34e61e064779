"""What was in view when a value was set stays said of it, whatever its source is later."""

import csv
import hashlib
from pathlib import Path

from hcasim.catalog import load

FILE = Path(__file__).with_name("informed.csv")
"""The statements that were in view, by model and path. Rows are added at its end."""

DIGESTS = {119: "488259aa00e692069587b8ab9077e606b1853de96fba5aedf8301538220609f1"}
"""Of the first so many rows. Those who add rows add a digest of all; none is ever changed."""


def test_no_row_is_changed_or_taken_away() -> None:
    rows = FILE.read_bytes().splitlines(keepends=True)[1:]
    found = {n: hashlib.sha256(b"".join(rows[:n])).hexdigest() for n in DIGESTS}
    assert found == DIGESTS
    assert len(rows) == max(DIGESTS)


def test_a_value_stays_informed_by_what_was_in_view() -> None:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    forgotten = []
    for row in rows:
        found = {one.path: one for one in load(row["model"], row["kind"]).parameters}
        known = found.get(row["path"])
        informed = () if known is None else known.informed
        if not {*row["statements"].split()} <= {*informed}:
            forgotten.append((row["model"], row["path"], row["statements"], informed))
    assert forgotten == []
