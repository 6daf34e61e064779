"""A fit is written in the form in which it is read."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError, Fit, FittedValue, list_ids, load_fit, render_fit
from hcasim.catalog.fits import parse_fit

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
names = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
free = st.builds(
    FittedValue,
    value=st.integers(1, 10**6).map(lambda n: f"{n} ps") | st.integers(0, 99) | st.booleans(),
    interval=st.none() | st.just(("1 ps", "9 ns")),
    bounds=st.none() | st.just(("0 ns", "1 us")),
    start=st.none() | st.just("5 ns"),
    verdict=words,
    claims=st.lists(words, max_size=3).map(tuple),
    note=words,
    samples=st.lists(st.integers(), max_size=3).map(tuple),
)
paths = st.tuples(st.just("adapters"), names, names, names).map(".".join)
FILE = Path("f.toml")


def fit(entries: dict[str, FittedValue], **others: Any) -> Fit:
    return Fit.at(FILE, {"id": "f", "entries": entries, **others})


def faults(entries: Any) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        parse_fit("f", FILE, {"id": "f", "entries": entries})
    return caught.value.faults


@given(
    title=words,
    notes=words,
    claims=st.lists(words),
    entries=st.dictionaries(paths, free, max_size=5),
)
def test_what_is_written_reads_back_the_same(
    title: str, notes: str, claims: list[str], entries: dict[str, FittedValue]
) -> None:
    one = fit(entries, title=title, notes=notes, claims=claims)
    assert parse_fit("f", FILE, tomllib.loads(render_fit(one))) == one


def test_a_tie_is_written_as_a_tie_and_has_what_its_leader_says() -> None:
    leader = FittedValue(value="600 ns", interval=("500 ns", "700 ns"), claims=("LIU-041",))
    tied = FittedValue(tied_to="adapters.a.b.c", note="sum")
    one = fit({"adapters.a.b.c": leader, "adapters.a.b.d": tied}, title="t")
    assert one.entries["adapters.a.b.d"] == leader.model_copy(
        update={"tied_to": "adapters.a.b.c", "note": "sum"}
    )
    text = render_fit(one)
    assert text == (
        'id = "f"\ntitle = "t"\n\n'
        '[entries."adapters.a.b.c"]\n'
        'value = "600 ns"\ninterval = ["500 ns", "700 ns"]\nclaims = ["LIU-041"]\n\n'
        '[entries."adapters.a.b.d"]\ntied_to = "adapters.a.b.c"\nnote = "sum"\n'
    )
    assert parse_fit("f", FILE, tomllib.loads(text)) == one


def test_a_tied_entry_has_no_bounds_of_its_own() -> None:
    tied = {"tied_to": "adapters.a", "bounds": ["0 ns", "1 ns"], "claims": []}
    (fault,) = faults({"adapters.a": {"value": 1}, "adapters.b": tied})
    assert fault.startswith("f.toml: entries.adapters.b: found bounds, claims, but a tied entry")


def test_a_tie_must_lead_to_a_value() -> None:
    entries = {"adapters.a": {"tied_to": "adapters.b"}, "adapters.b": {"tied_to": "adapters.a"}}
    assert len(faults(entries)) == 2
    (fault,) = faults({"adapters.a.x": {"value": 1}, "adapters.b": {"tied_to": "adapters.a.y"}})
    assert fault.endswith("allowed: an entry with a value; did you mean 'adapters.a.x'?")


@pytest.mark.parametrize("identifier", list_ids("calibrations"))
def test_a_shipped_fit_says_what_all_and_each_value_was_fitted_to(identifier: str) -> None:
    one = load_fit(identifier)
    assert parse_fit(identifier, one.file, tomllib.loads(render_fit(one))) == one
    assert {claim for entry in one.entries.values() for claim in entry.claims} <= set(one.claims)
