"""Reads what tests write as a trace."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.apps.replay import Trace, read_schedule
from hcasim.ground.errors import CatalogError
from tests.limits import promptly

Read = Callable[..., Trace]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(text: str | bytes) -> Trace:
        file = tmp_path / "a.txt"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_schedule(file)

    return read


def fault(read: Read, *given: Any, **more: Any) -> str:
    """What is wrong with a trace, behind the name of its file."""
    with pytest.raises(CatalogError) as error, promptly():
        read(*given, **more)
    (found,) = error.value.faults
    return found.partition("a.txt")[2] or found
