"""Each source is predicted without what only it determined, as by a reader with another machine."""

import pytest

from hcasim.papers.loader import load_scenarios
from tests.docs.site.left_out import LeftOut, leave_out

pytestmark = pytest.mark.check

WORSE = 1.5
"""By what the median error of a source may be more without its own values."""
NEED_THEIR_OWN = {
    "pcie-bench/data",
    "starcloud-ai/kube-ansible",
    "stmatengss/useful_shell_instructions",
}
"""Sources that are worse by more than that; one that no longer is leaves this list."""


@pytest.fixture(scope="module")
def found() -> list[LeftOut]:
    """Those of machines of today; few values of the four papers' have a base."""
    return leave_out({one.publication for one in load_scenarios(["modern"])}, jobs=1)


def test_sources_are_as_good_without_their_own_values_but_for_those_that_are_named(
    found: list[LeftOut],
) -> None:
    worse = {
        one.source
        for one in found
        if one.medians is not None and one.medians[1] > WORSE * one.medians[0]
    }
    assert worse == NEED_THEIR_OWN


def test_a_source_whose_values_have_no_base_stays_as_it_is(found: list[LeftOut]) -> None:
    without = [one for one in found if not any(back.base for back in one.values)]
    assert [one.source for one in without if one.own != one.based] == []
