"""Settings that every test shares."""

import gc
import os
import sys
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

# What was once simulated of the papers, with the code under test, need not be simulated again;
# the user's own cache is left alone.
CACHES = Path(os.environ.get("XDG_CACHE_HOME", "")).expanduser()
CACHES = CACHES if CACHES.is_absolute() else Path.home() / ".cache"
os.environ["HCASIM_CACHE"] = str(CACHES / "hcasim-tests")

# The same examples on every machine, and no failure because a machine is busy. To look
# further: pytest --hypothesis-profile=explore; `make check` takes more of the same kind.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=500)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Look for garbage among what the tests make, not among the thousands of them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    """End the processes of a test, which do not know what the next one replaces."""
    yield
    if "hcasim.runs.executor" in sys.modules:
        from hcasim.runs import executor

        executor.end_workers()
        executor._alone = 0.0
