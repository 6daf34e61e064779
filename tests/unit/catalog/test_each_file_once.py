"""Inside a block each file of the catalogue is read once, and what comes of it is the same."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import load, loader, resolve
from hcasim.catalog.loader import each_file_once

SETTINGS = {"adapter.bus.lanes": "4", "host.memory.read_latency": "300 ns", "link.speed": "DDR"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that have been read."""
    usual, names = loader.read_toml, list[str]()

    def noted(file: Path) -> Any:
        names.append(file.name)
        return usual(file)

    monkeypatch.setattr(loader, "read_toml", noted)
    return names


def test_machines_are_the_same_and_share_nothing_that_a_setting_changes(read: list[str]) -> None:
    wanted: list[dict[str, Any]] = [
        {},
        {"overrides": SETTINGS},
        {"adapter": "mt23108"},
        {"overrides": {"adapter.bus": "mt23108"}},
        {"switch": False},
        {"mtu": 2048},
        {},
    ]
    apart = [resolve("liu2004", **one) for one in wanted]
    read.clear()
    with each_file_once():
        together = [resolve("liu2004", **one) for one in wanted]
    assert [one.model_dump() for one in together] == [one.model_dump() for one in apart]
    assert len(read) == len(set(read))


def test_a_file_that_has_changed_is_read_again_in_the_next_block(
    root: Path, tmp_path: Path, read: list[str]
) -> None:
    file = tmp_path / "infiniscale.toml"
    shutil.copy(root / "models" / "switches" / "infiniscale.toml", file)
    before = load(str(file), "switches").model.title
    with each_file_once():
        load(str(file), "switches")
        file.write_text(file.read_text().replace(before, "another"))
        assert load(str(file), "switches").model.title == before
    assert load(str(file), "switches").model.title == "another"
    assert read == ["infiniscale.toml"] * 3
