"""A fit is written in the form in which it is read."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError, Fit, FittedValue, fit_path, list_ids, load_fit, render_fit
from hcasim.catalog.fits import parse_fit

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
names = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("value", "tied_to", "interval", "claims", "note", "id")
)
free = st.builds(
    FittedValue,
    value=st.integers(1, 10**6).map(lambda n: f"{n} ps") | st.integers(0, 99) | st.booleans(),
    interval=st.none() | st.just(("1 ps", "9 ns")),
    bounds=st.none() | st.just(("0 ns", "1 us")),
    start=st.none() | st.just("5 ns"),
    verdict=words,
    claims=st.lists(words, max_size=3).map(tuple),
    note=words,
)
paths = st.tuples(st.just("adapters"), names, names, names).map(".".join)


@given(title=words, notes=words, entries=st.dictionaries(paths, free, max_size=5))
def test_what_is_written_reads_back_the_same(
    title: str, notes: str, entries: dict[str, FittedValue]
) -> None:
    file = Path("fit.toml")
    fit = Fit("fit", title, notes, file, entries)
    again = parse_fit("fit", file, tomllib.loads(render_fit(fit)))
    assert again == fit


def test_a_tie_is_written_as_a_tie() -> None:
    leader = FittedValue("600 ns", ("500 ns", "700 ns"), ("LIU-041",), "")
    tied = FittedValue("600 ns", ("500 ns", "700 ns"), ("LIU-041",), "sum", "adapters.a.b.c")
    fit = Fit("f", "t", "", Path("f"), {"adapters.a.b.c": leader, "adapters.a.b.d": tied})
    text = render_fit(fit)
    assert text == (
        'id = "f"\ntitle = "t"\nnotes = ""\n\n[adapters.a.b]\n'
        'c = { value = "600 ns", interval = ["500 ns", "700 ns"], claims = ["LIU-041"] }\n'
        'd = { tied_to = "adapters.a.b.c", note = "sum" }\n'
    )
    assert parse_fit("f", Path("f"), tomllib.loads(text)) == fit


def test_a_header_is_a_comment() -> None:
    fit = Fit("f", "t", "", Path("f"), {"adapters.a.b": FittedValue(1)})
    text = render_fit(fit, ["first", "", "last"])
    assert text.startswith('# first\n#\n# last\n\nid = "f"\n')
    assert parse_fit("f", Path("f"), tomllib.loads(text)) == fit


def test_a_tied_entry_has_no_bounds_of_its_own() -> None:
    tied = {"tied_to": "adapters.a", "bounds": ["0 ns", "1 ns"], "claims": []}
    with pytest.raises(CatalogError) as caught:
        parse_fit("f", Path("f.toml"), {"id": "f", "adapters": {"a": {"value": 1}, "b": tied}})
    assert [fault.partition(": found")[0] for fault in caught.value.faults] == [
        "f.toml: adapters.b.bounds",
        "f.toml: adapters.b.claims",
    ]


@pytest.mark.parametrize("key", ["interval", "bounds"])
def test_an_interval_and_bounds_have_two_ends(key: str) -> None:
    with pytest.raises(CatalogError, match=rf"adapters\.a\.{key}: found \['1 ns'\]; allowed"):
        parse_fit("f", Path("f.toml"), {"id": "f", "adapters": {"a": {"value": 1, key: ["1 ns"]}}})


def test_a_tie_must_lead_to_a_value() -> None:
    table = {
        "id": "f",
        "adapters": {"a": {"tied_to": "adapters.b"}, "b": {"tied_to": "adapters.a"}},
    }
    with pytest.raises(CatalogError) as caught:
        parse_fit("f", Path("f.toml"), table)
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize("identifier", list_ids("calibrations"))
def test_a_shipped_fit_reads_back_from_what_is_written(identifier: str) -> None:
    fit = load_fit(identifier)
    assert parse_fit(identifier, fit_path(identifier), tomllib.loads(render_fit(fit))) == fit
