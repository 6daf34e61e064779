"""Two machines side by side."""

import pytest

from tests.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()
