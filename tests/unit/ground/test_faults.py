"""Faults have fields in every process."""

import difflib
import pickle

import pytest

from hcasim.ground import errors
from hcasim.ground.errors import CatalogError, Fault, nearest
from hcasim.ground.units import TIME, UnitError


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


def test_of_many_faults_the_first_are_shown_and_only_they_are_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []

    def search(word: str, *rest: object, **more: object) -> list[str]:
        searched.append(word)
        return ["width"]

    monkeypatch.setattr(difflib, "get_close_matches", search)
    assert str(CatalogError([])) == ""
    for time in "ab":
        found = [f"x{n}: unknown{nearest(f'{time}{n}', ['width'], n)}" for n in range(5000)]
        lines = str(CatalogError(found)).splitlines()
        assert len(lines) == errors.SHOWN + 1 == 21
        assert lines[19:] == ["x19: unknown; did you mean 'width'?", "and 4980 more"]
        assert len(CatalogError(found).faults) == 5000
    assert len(searched) == 40
    assert str(CatalogError(found[:20])).count("\n") == 19
