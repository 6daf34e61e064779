"""Samples of real outputs, and how to import a text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.traces import Hints, Source, Trace, import_trace

DATA = Path(__file__).parent / "data"


@pytest.fixture
def data() -> Path:
    """The folder of samples."""
    return DATA


@pytest.fixture
def read() -> Callable[..., Trace]:
    """Import a text, or a sample by its path."""

    def read(text: str | Path, form: str = "", **hints: Any) -> Trace:
        if isinstance(text, Path):
            return import_trace(Source(text.name, text.read_bytes()), form, Hints(**hints))
        return import_trace(Source("file", text.encode()), form, Hints(**hints))

    return read


@pytest.fixture
def faults(read: Callable[..., Trace]) -> Callable[..., list[str]]:
    """The faults of a text that cannot be imported."""

    def faults(text: str | Path, form: str = "", **hints: Any) -> list[str]:
        with pytest.raises(CatalogError) as caught:
            read(text, form, **hints)
        return caught.value.faults

    return faults
