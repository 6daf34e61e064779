"""What the benchmarks share."""

from collections.abc import Callable

import pytest

Show = Callable[[str], None]


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """Print a line although pytest captures what tests print."""

    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n    {text}", end="", flush=True)

    return line
