"""Replays for the tests of claims."""

import pytest

from hcasim.papers.report import Report, reproduce


@pytest.fixture(scope="module")
def replayed(request: pytest.FixtureRequest) -> Report:
    """The scenarios of a file's tests that are to run, replayed once.

    The other workers need the other processors.
    """
    here = [one for one in request.session.items if one.path == request.path]
    given = [one.callspec.params for one in here if hasattr(one, "callspec")]
    return reproduce([one["scenario"] for one in given if "scenario" in one], jobs=1)
