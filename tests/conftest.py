"""Settings that every test shares."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Figures are drawn without a display.
os.environ["MPLBACKEND"] = "Agg"
# A terminal's width and colours must not change what the tests read.
os.environ["COLUMNS"] = "100"
os.environ["NO_COLOR"] = "1"
os.environ.pop("FORCE_COLOR", None)

# The same examples on every machine, and no failure because a machine is busy. To look
# further: pytest --hypothesis-profile=explore
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent
