"""The statements of every paper are entered completely, correctly and once.

`<paper>.csv` is a second reading of a paper's numbers, with its units written out. What only one
paper has is tested in `test_statements_<paper>.py`.
"""

import csv
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import MODELS, list_ids, load
from hcasim.papers.claim import Claim, Context
from hcasim.papers.loader import list_papers, load_context, load_scenarios
from hcasim.papers.plan import plan_papers
from hcasim.papers.roles import standings
from hcasim.papers.scenario import Scenario

STATEMENTS = {
    "benjegerdes2004": ("BEN", 23),
    "liu2004": ("LIU", 116),
    "rashti2007": ("RAS", 32),
    "sur2005": ("SUR", 41),
}
"""The ids of a paper's statements begin so, and are numbered from 1 to that."""

GATHERED = ("lossy", "modern", "peers")
"""What was published in many places: its statements have the ids that files of these names list."""

EVERY = sorted([*STATEMENTS, *GATHERED])

FITTED_OF_LOSSY = """
L001 L002 L003 L004 L006 L007 L008 L009 L011 L012 L013 L014 L016 L017 L018 L019 L021 L022 L023 L024
L026 L027 L028 L029 L031 L034 L040 L042 L067 L073 L077 L078 L079 L080-1 L080-2 L080-3 L080-4 L080-5
L080-6 L080-7 L080-8 L080-9 L080-10 L089-3 L089-4 L098 L099 L100 L417
"""
FITTED_OF_MODERN = """
H059 H060 H066 H073 H145 H213 H215 H217 H219 H220 H221 H222 H223 H226 H228 H233 H285 H291 H307 H309
M001 M006 N011 N012 N159 N163 N168 N170 N177 N179 N197 N198 N200 N201 N203 N206 N208 N258 N260 N261
N266 N349 N351 N541 N580 N586 N588 N594 N597 N675 N676
"""
FITTED_OF_LIU2004 = """
4 5 6 12 38 39 41 42 44 45 56 57 65 69 72 78 81 82 89 101 103 104
"""
LINES_OF_PERFTEST = """
N013 N014 N021 N022 N271 N272 N273 N274 N275 N276 N473 N474
"""
"""A rate and a bandwidth of one line of perftest's output."""

FITTED: dict[str, set[Any]] = {
    "benjegerdes2004": {7, 10, 13, 14, 15, 17, 19, 20},
    "liu2004": {*map(int, FITTED_OF_LIU2004.split())},
    "lossy": {*FITTED_OF_LOSSY.split()},
    "modern": {*FITTED_OF_MODERN.split(), *LINES_OF_PERFTEST.split()},
    "rashti2007": {8, 9, 12, 13, 14, 15, 20, 22, 26, 29},
    "sur2005": {1, 2, 3, 13, 19, 20, 21, *range(22, 32), 37},
}
"""The claims that values were fitted to or chosen from, and those about the same numbers."""

DERIVED = {"liu2004": {8, 58, 68}, "sur2005": {32, 39, 40}}
"""The claims that follow from those by arithmetic."""

CAUSE = "-cause"
"""So ends the id of a claim about the cause that a statement names."""

REASONS = ("a unit: ", "an input", "a nominal rate: ", "background: ")


@cache
def second_reading(paper: str) -> dict[str, dict[str, str]]:
    with Path(__file__).with_name(f"{paper}.csv").open(newline="") as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


def numbered(paper: str, numbers: Iterable[Any]) -> list[str]:
    if paper in GATHERED:
        return list(numbers)
    return [f"{STATEMENTS[paper][0]}-{number:03d}" for number in numbers]


def all_of(paper: str) -> list[str]:
    if paper in GATHERED:
        return sorted(second_reading(paper))
    return numbered(paper, range(1, STATEMENTS[paper][1] + 1))


PAPERS = pytest.mark.parametrize("paper", EVERY)


@cache
def scenarios(paper: str) -> list[Scenario]:
    return load_scenarios([paper])


@cache
def entries(paper: str) -> dict[str, Claim | Context]:
    claims = [claim for scenario in scenarios(paper) for claim in scenario.claims]
    return {entry.id: entry for entry in (*claims, *load_context(paper))}


def claims(paper: str) -> list[Claim]:
    return [entry for entry in entries(paper).values() if isinstance(entry, Claim)]


def test_every_paper_is_tested() -> None:
    assert list_papers() == EVERY


@PAPERS
def test_every_numbered_statement_has_exactly_one_place(paper: str) -> None:
    places = Counter([claim.id for scenario in scenarios(paper) for claim in scenario.claims])
    places.update(context.id for context in load_context(paper))
    assert sorted(one for one in places if not one.endswith(CAUSE)) == all_of(paper)
    assert {one.removesuffix(CAUSE) for one in places} == {*all_of(paper)}
    assert set(places.values()) == {1}


def is_read_again(paper: str, entry: Claim | Context) -> bool:
    """Whether a second reading of the paper gives what a statement is entered with."""
    if isinstance(entry.published, str):
        return entry.id not in second_reading(paper)
    second = second_reading(paper)[entry.id]
    read = tuple(float(number) for number in second["value"].split(" to "))
    published = entry.published if isinstance(entry.published, tuple) else (entry.published,)
    if isinstance(entry, Claim) and entry.contradiction and len(published) == 2 and len(read) == 1:
        # The paper says one end here and the other elsewhere; both are named.
        named = all(f"{number:g}" in entry.contradiction for number in published)
        return entry.unit == second["unit"] and read[0] in published and named
    return entry.unit == second["unit"] and published == read


def test_each_scenario_of_a_collection_says_who_published_it() -> None:
    every = [one for paper in GATHERED for one in scenarios(paper)]
    assert [one.id for one in every if not one.source] == []
    named = [one.id for paper in STATEMENTS for one in scenarios(paper) if one.source]
    assert named == []


@PAPERS
def test_no_place_is_a_number_of_somebody_s_own_index(paper: str) -> None:
    places = [(one.id, one.section) for one in entries(paper).values()]
    assert [one for one in places if "index id" in one[1]] == []


@PAPERS
def test_a_second_reading_of_the_paper_gives_the_same_numbers(paper: str) -> None:
    found = entries(paper)
    assert [one for one in all_of(paper) if not is_read_again(paper, found[one])] == []


@PAPERS
def test_what_values_were_fitted_to_is_not_called_predicted(paper: str) -> None:
    standing = standings(plan_papers())
    own = (claim.id for claim in claims(paper))
    roles = {name: standing[name].role for name in own if not name.endswith(CAUSE)}
    expected = dict.fromkeys(roles, "predicted")
    expected |= dict.fromkeys(numbered(paper, FITTED.get(paper, ())), "fitted")
    expected |= dict.fromkeys(numbered(paper, DERIVED.get(paper, ())), "derived")
    assert roles == expected


@pytest.mark.parametrize("kind", MODELS)
def test_what_values_were_chosen_from_are_statements_that_are_replayed(kind: str) -> None:
    known = {claim.id for paper in EVERY for claim in claims(paper)}
    for parameter in (one for name in list_ids(kind) for one in load(name, kind).parameters):
        assert set(parameter.claims) <= known, parameter.path
        assert "chosen with" not in parameter.source.lower(), parameter.path


@PAPERS
def test_what_is_not_replayed_says_why(paper: str) -> None:
    later = ("later: ",) * (paper in GATHERED)
    assert all(one.reason.startswith((*REASONS, *later)) for one in load_context(paper))
