"""A copy of the catalogue's data that a test may damage."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError, folders, load, resolve

Edit = Callable[[str, str, str], None]
FaultsOf = Callable[..., list[str]]


def refused(*args: Any, **request: Any) -> list[str]:
    """What the catalogue says about a machine that there cannot be."""
    with pytest.raises(CatalogError) as caught:
        resolve(*args, **request)
    return caught.value.faults


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that holds models/ and calibration/; the catalogue reads nothing else.

    The files are snapshots, so that tuning a shipped value changes no test.
    """
    shutil.copytree(Path(__file__).with_name("data"), tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(folders, "roots", lambda: (tmp_path,))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def edit(data: Path) -> Edit:
    """Replace one text of a file by another; the text must be there exactly once."""

    def replace(file: str, old: str, new: str) -> None:
        path = data / file
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        path.write_text(text.replace(old, new))

    return replace


@pytest.fixture
def faults_of() -> FaultsOf:
    """What the catalogue says about a damaged model."""

    def read(identifier: str, kind: str | None = None) -> list[str]:
        with pytest.raises(CatalogError) as caught:
            load(identifier, kind)
        assert str(caught.value).splitlines() == caught.value.lines
        return caught.value.faults

    return read
