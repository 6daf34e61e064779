"""What a claim says of the model follows from where the values of its machines come from."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.catalog import CatalogError
from hcasim.papers.plan import plan_papers
from hcasim.papers.report import reproduce
from hcasim.papers.roles import standings

pytestmark = pytest.mark.usefixtures("edit")

Roles = dict[str, str]

BED = "models/testbeds/liu2004.toml"
INFORMED = ' informed = ["LIU-006", "LIU-056"],'
"""The statements that were in view when the MTU was set."""
PROPAGATION = 'propagation = { value = "5 ns/m", evidence = "assumed"'
HOST = "models/hosts/xeon-e7520.toml"
COMPLETION = 'evidence = "chosen", claims = ["LIU-065", "LIU-072"]'


def change(file: str, old: str, new: str) -> None:
    """Change the copied catalogue."""
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def roles() -> Roles:
    return {name: one.role for name, one in standings(plan_papers()).items()}


@pytest.fixture(scope="module")
def before() -> Roles:
    """Those of the catalogue as it is."""
    return roles()


def changed(before: Roles, after: Roles) -> dict[str, tuple[str, str]]:
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def test_one_provenance_changes_the_roles_of_all_that_follows_from_it(before: Roles) -> None:
    change(BED, INFORMED, "")
    assert changed(before, roles()) == {
        "LIU-006": ("fitted", "predicted"),
        "LIU-056": ("fitted", "predicted"),
        # Ratios of 972 MB/s, and twice as much.
        "LIU-008": ("derived", "predicted"),
        "LIU-058": ("derived", "predicted"),
        "LIU-068": ("derived", "predicted"),
        "LIU-068-cause": ("derived", "predicted"),
    }


def test_a_report_shows_the_changed_role(simulated: Callable[[], object]) -> None:
    change(HOST, COMPLETION, 'evidence = "assumed"')
    found = {one.id: one.role for one in reproduce(["liu2004/fig08"], jobs=1).verdicts}
    assert found["LIU-065"] == found["LIU-068"] == "predicted"


def test_what_a_value_is_chosen_from_is_fitted_wherever_it_is_stated(before: Roles) -> None:
    change(BED, PROPAGATION, PROPAGATION.replace('"assumed"', '"chosen", claims = ["LIU-061"]'))
    stated = dict.fromkeys(("LIU-007", "LIU-022", "LIU-061"), ("predicted", "fitted"))
    # A ratio of it.
    assert changed(before, roles()) == stated | {"LIU-106": ("predicted", "derived")}


def test_the_claims_of_a_fit_count_as_those_of_a_choice(before: Roles) -> None:
    change("calibration/fits/liu2004.toml", '"LIU-044"', '"LIU-041"')
    assert changed(before, roles()) == {"LIU-044": ("fitted", "predicted")}


def test_from_an_order_follows_no_number_and_no_other_order(before: Roles) -> None:
    """That striping carries more than binding says not by how much."""
    change(BED, PROPAGATION, PROPAGATION.replace('"assumed"', '"chosen", claims = ["LIU-071"]'))
    assert changed(before, roles()) == {"LIU-071": ("predicted", "fitted")}
    # Over 128 queue pairs both modes are slower; that says nothing of one against the other.
    assert (before["SUR-019"], before["SUR-018"]) == ("fitted", "predicted")


def test_what_is_described_alike_is_no_prediction(before: Roles) -> None:
    """Both kernels share one description, which was fitted: that they agree says nothing."""
    assert before["BEN-020"] == "fitted"


def test_statements_of_the_same_numbers_are_counted_once() -> None:
    found = standings(plan_papers())
    again = {name: one.first for name, one in found.items() if one.first != name}
    # A line of perftest's output states a bandwidth and, behind it, the rate; and an MTU that a
    # connection does not get changes nothing. One write at a time was measured by two programs.
    rates = {name: again.pop(name) for name in sorted(again) if name.startswith("N")}
    assert len(rates) == 46
    assert {int(name[1:]) - int(one[1:]) for name, one in rates.items()} == {1, 2}
    assert again == {
        "L073": "L067",
        "L077": "L026",
        "L078": "L026",
        "L079": "L001",
        "L349": "L342",
        "L350": "L345",
        "L351": "L347",
        "L352": "L348",
        "BEN-008-cause": "BEN-008",
        "BEN-014-cause": "BEN-014",
        "LIU-043-cause": "LIU-043",
        "LIU-060-cause": "LIU-060",
        "LIU-068-cause": "LIU-068",
        "LIU-067": "LIU-024-cause",
        "RAS-020-cause": "RAS-020",
        "SUR-039": "SUR-032",
        "LIU-022": "LIU-007",
        "SUR-037": "SUR-003",
        "LIU-023": "LIU-009",
        "LIU-023-cause": "LIU-009",
        "LIU-025": "LIU-010",
        "LIU-026": "LIU-014",
        "LIU-041": "LIU-004",
        "LIU-042": "LIU-005",
        "LIU-056": "LIU-006",
        "LIU-058": "LIU-008",
        "LIU-061": "LIU-007",
        "LIU-076": "LIU-010",
        "LIU-077": "LIU-011",
        "LIU-081": "LIU-012",
        "LIU-086": "LIU-013",
        "LIU-092": "LIU-014",
        "LIU-105": "LIU-011",
        "LIU-111": "LIU-027-cause",
        "R746": "R741",
        "R774": "R768",
        "RAS-009": "RAS-008",
        "RAS-019": "RAS-018",
        "SUR-013": "SUR-001",
        "SUR-020": "SUR-002",
        "SUR-020-cause": "SUR-002",
        "SUR-036": "SUR-006",
    }
    assert (found["LIU-061"].role, found["LIU-061"].first) == ("predicted", "LIU-007")


def test_the_same_number_in_another_scenario_is_the_same(edit: Callable[[str, str], None]) -> None:
    measure = 'measure = { series = "pcie", select = "smallest" }'
    edit(measure, 'measure = { series = "liu2004/fig02:pcie", at = 4 }')
    found = standings(plan_papers())
    own, other = found["LIU-041"], found["LIU-038"]
    assert (own.role, own.first) == (other.role, other.first) == ("fitted", "LIU-038")


def test_a_value_cannot_be_chosen_from_a_statement_that_there_is_not() -> None:
    change(BED, INFORMED, INFORMED.replace("LIU-056", "LIU-560"))
    with pytest.raises(CatalogError) as caught:
        roles()
    (fault,) = caught.value.faults
    assert fault.startswith("mtu: claims: found no 'LIU-560' in the scenarios; did you mean 'LIU-")


def test_what_an_option_was_chosen_from_is_no_prediction() -> None:
    found = roles()
    assert (found["N208"], found["N210"]) == ("fitted", "predicted")
    change("scenarios/modern/n-to-1-herd.toml", 'chosen_from = ["N208"]\n', "")
    assert roles()["N208"] == "predicted"
