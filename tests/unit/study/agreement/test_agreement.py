"""A simulated number agrees with a published one, or it does not."""

from math import inf, nan

import pytest

from hcasim.catalog import CatalogError
from hcasim.pytest.model import processes
from hcasim.study.agreement.agreement import Agreement, Compared, Disagreement, checked, share


def compared(simulated: float, published: float | tuple[float, float] = 4.0) -> Compared:
    return Compared.of("8", published, simulated, "us", 0.05)


@pytest.mark.parametrize("simulated", [3.81, 4.0, 4.19])
def test_a_number_agrees_up_to_the_allowed_error(simulated: float) -> None:
    assert compared(simulated).agrees


@pytest.mark.parametrize("simulated", [3.79, 4.21, 0.0, -4.0, inf, nan])
def test_what_is_farther_off_or_no_number_does_not(simulated: float) -> None:
    found = Agreement("ours", "Size", [compared(4.0), compared(simulated)])
    with pytest.raises(Disagreement, match=r"ours: 1 of 2 points missed \(!\)"):
        checked(found)


def test_within_a_range_there_is_no_error() -> None:
    assert compared(5.0, (4.0, 6.0)).error == 0
    assert compared(6.3, (4.0, 6.0)).agrees
    assert not compared(6.4, (4.0, 6.0)).agrees


@pytest.mark.parametrize(
    ("within", "allowed"), [("5 %", 0.05), (" 2.5%", 0.025), (0.1, 0.1), (0, 0.0), (None, 0.05)]
)
def test_the_allowed_error_is_a_share_or_in_percent(within: object, allowed: float) -> None:
    assert share(within, "latency_us") == allowed


@pytest.mark.parametrize("within", [5, "5", "5 us", -0.1, 1, True, nan, "", [0.05]])
def test_anything_else_is_refused(within: object) -> None:
    with pytest.raises(CatalogError, match=r"^within: found .*; allowed: a number from 0 to below"):
        share(within, "latency_us")


def test_what_has_no_usual_tolerance_needs_one() -> None:
    with pytest.raises(CatalogError, match=r"^within: missing; fairness has no usual tolerance"):
        share(None, "fairness")


def test_beside_other_tests_one_process_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert processes() == 1
    monkeypatch.delenv("PYTEST_XDIST_WORKER")
    assert processes() is None
