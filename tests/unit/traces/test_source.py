"""How much is said of a file in which much is wrong."""

import pytest

from hcasim.traces.source import few


def test_up_to_twenty_faults_are_all_said() -> None:
    faults = [f"file:{line}: found x" for line in range(20)]
    assert few("file", faults) == faults


@pytest.mark.parametrize(
    ("times", "more"), [(1, "11 more lines"), (4, "11 more lines"), (11, "1 more line")]
)
def test_of_more_faults_ten_are_said_and_the_lines_of_the_others_counted(
    times: int, more: str
) -> None:
    first = [f"file:{line}: found x" for line in range(10)]
    lines = [10] * times if times > 10 else [10 + n for n in range(11) for _ in range(times)]
    told = few("file", first + [f"file:{line}: found {n}" for n, line in enumerate(lines)])
    assert told == [*first, f"file: ... and {more} that cannot be read"]
