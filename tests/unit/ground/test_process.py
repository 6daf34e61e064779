"""Which build runs is found out from where the engine is."""

from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from hcasim.ground import process


def test_the_build_is_said_as_the_import_system_finds_it() -> None:
    file = import_module("hcasim.engine.clock").__file__
    assert file is not None
    assert process.build() == ("pure Python" if file.endswith(".py") else "compiled")


def test_an_extension_module_goes_before_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "__file__", str(tmp_path / "ground" / "process.py"))
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "clock.py").touch()
    assert process.build() == "pure Python"
    (engine / f"clock{EXTENSION_SUFFIXES[0]}").touch()
    assert process.build() == "compiled"
