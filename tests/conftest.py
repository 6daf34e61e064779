"""Settings that every test shares."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser import chromium, opened

__all__ = ["chromium", "opened"]

# Figures are drawn without a display.
os.environ["MPLBACKEND"] = "Agg"
# A terminal's width and colours must not change what the tests read.
os.environ["COLUMNS"] = "100"
os.environ["NO_COLOR"] = "1"
os.environ.pop("FORCE_COLOR", None)

# What one test simulates of the papers, with the code under test, another need not simulate again;
# the user's own cache is left alone.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["HCASIM_CACHE"] = tempfile.mkdtemp(prefix="hcasim-tests-")

# The same examples on every machine, and no failure because a machine is busy. To look
# further: pytest --hypothesis-profile=explore
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    """End the processes of a test, which do not know what the next one replaces."""
    yield
    if "hcasim.runs.pool" in sys.modules:
        from hcasim.runs import pool, processes

        processes.end_kept()
        pool._alone = 0.0


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the points of this run when all of it ends."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["HCASIM_CACHE"], ignore_errors=True)
