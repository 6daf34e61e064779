"""What was published lies between the ends that are printed, and these are not far apart."""

from statistics import median

import pytest

from hcasim.papers.plan import plan_papers
from hcasim.papers.report import reproduce
from tests.docs.site.bands import Coverage
from tests.docs.site.kinds import kinds_of
from tests.published.test_claims import PAPERS

pytestmark = pytest.mark.check

WIDTH = 1.6
"""Median of the upper end over the lower one that tells a reader something."""
NARROW, WIDE = 1.25, 1.6
"""What specifications bind, and what a processor does."""
COUNTED = ("", "%", "kB")
"""Units of what is counted, not timed."""


@pytest.fixture(scope="module")
def found() -> Coverage:
    return Coverage.of(reproduce(PAPERS, jobs=1).verdicts)


def test_nine_of_ten_numbers_lie_between_the_ends(found: Coverage) -> None:
    predicted = found.by(lambda one: one.role)["predicted"]
    for shown in (found, predicted):
        assert 0.85 <= shown.inside <= 0.95
        assert median(shown.widths) <= WIDTH


def test_all_rates_and_times_of_lossless_machines_have_ends(found: Coverage) -> None:
    """Depths of queues and counts have none, nor have times that timers set."""
    without = [one for one in found.verdicts if one.low is None]
    paced = [one for one in without if one.unit not in COUNTED]
    assert [one.id for one in paced if not one.scenario.startswith("lossy/")] == []


def test_ends_are_as_far_apart_as_what_binds_is_unknown(found: Coverage) -> None:
    kinds = kinds_of(plan_papers())
    own = found.by(lambda one: kinds[one.id])
    assert median(own["bandwidth"].widths) < NARROW
    bus = own["bus"].by(lambda one: one.bound_by.partition(".")[0])
    assert median(bus["bus"].widths) < NARROW
    assert NARROW < median(bus["DMA read"].widths) < WIDE
    assert median(bus["host"].widths) > WIDE
    assert NARROW < median(own["latency"].widths) < WIDE
    assert median(own["rate of one thread"].widths) > WIDE
