"""No file and no word of a user ends otherwise than by being read or refused: a short run."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, attempt

CASES = {"importers": 250, "options": 80}


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_damaged_is_read_or_refused(name: str, tmp_path: Path) -> None:
    for seed in range(CASES.get(name, 60)):
        attempt(TARGETS[name], seed, tmp_path)
