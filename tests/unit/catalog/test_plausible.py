"""Each value that nobody has published has a range with a reason, others have none."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import Parameter, list_ids, resolve
from hcasim.catalog.plausible import Doubts, plausible
from hcasim.catalog.section import SET, UNPUBLISHED, Evidence


def parameter(evidence: Evidence = "assumed", **more: Any) -> Parameter[int]:
    known: dict[str, Any] = {"path": "host.memory.read_latency", "value": 400, "text": "0.4 ns"}
    return Parameter(**{**known, "unit": "ps", "source": "", "evidence": evidence, **more})


@pytest.mark.parametrize("evidence", ["spec", "datasheet", "driver"])
def test_what_is_published_has_no_range(evidence: Evidence) -> None:
    assert plausible(parameter(evidence)) is None


def test_what_the_user_has_set_has_no_range() -> None:
    assert plausible(parameter(source=SET)) is None


def test_a_fitted_value_has_the_interval_of_its_fit() -> None:
    found = plausible(parameter("fitted", interval=(300, 600)))
    assert found is not None
    assert (found.low, found.high) == (0.75, 1.5)


def test_all_that_is_unpublished_has_a_range_around_its_value_and_a_reason() -> None:
    for name in list_ids("testbeds"):
        for one in resolve(name).parameters:
            if (ends := plausible(one)) is not None:
                assert one.evidence in UNPUBLISHED
                assert 0 < ends.low <= 1 <= ends.high, one.path
                assert ends.reason


def test_doubts_are_found_by_patterns() -> None:
    doubts = Doubts(hc.machine("pair").parameters)
    paths = [one.path for one, _ in doubts.of("stack.cycles.post_* host.core.fence")]
    assert {"host.core.fence", "stack.cycles.post_send"} <= {*paths}
    assert all(one.startswith(("stack.cycles.post_", "host.core.fence")) for one in paths)
    assert doubts.of("") == []
