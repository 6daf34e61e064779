"""A plugin of pytest: curves of one's own, published or measured, held against the model.

The fixture `hcasim` simulates and compares (`hcasim.pytest.model.Model`), and the marker `hcasim`
does that before a test begins, with the arguments of `Model.holds`.

pytest loads this with every run, so it imports nothing of hcasim before that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hcasim.pytest.model import Model


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "hcasim(published, testbed, workload=None, within=None, ...): hold a curve against what "
        "hcasim simulates, before the test begins",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Hold the curves of a test's markers against the model, and then run the test."""
    for mark in item.iter_markers("hcasim"):
        from inspect import signature

        from hcasim.ground.errors import CatalogError
        from hcasim.pytest.model import Disagreement, Model

        model = Model(item.path.parent)
        try:
            signature(model.holds).bind(*mark.args, **mark.kwargs)
        except TypeError as error:
            allowed = (
                "hcasim(published, testbed, workload, ...), as the fixture's holds() takes them"
            )
            pytest.fail(f"hcasim: {error}; allowed: {allowed}", pytrace=False)
        try:
            model.holds(*mark.args, **mark.kwargs)
            continue
        except (CatalogError, Disagreement) as error:
            said = str(error)
        pytest.fail(said, pytrace=False)


@pytest.fixture
def hcasim(request: pytest.FixtureRequest) -> Model:
    """The model, which simulates, and which curves are held against."""
    from hcasim.pytest.model import Model

    return Model(request.path.parent)
