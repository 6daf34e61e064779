"""calibrate prints what was fitted and writes it where it is told."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import hcasim as hc
from hcasim.catalog import folders, load_fit
from hcasim.catalog.fits import parse_fit

Hcasim = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_simulation(invented: None) -> None:
    """All points have the same invented results, whatever the parameters are."""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    """A copy of the data that a test may damage."""
    for folder in ("models", "scenarios", "calibration"):
        shutil.copytree(root / folder, tmp_path / folder)
    monkeypatch.setattr(folders, "roots", lambda: (tmp_path,))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_fit_is_printed_as_tables(hcasim_: Hcasim) -> None:
    found = hcasim_("calibrate", "liu2004", "-j", "1")
    assert (found.code, found.messages) == (0, "")
    titles = (
        "Fit of liu2004",
        "Observations",
        "Correlation of the parameters",
        "Ties, each undone",
    )
    lines = found.output.splitlines()
    assert [line for line in lines if line in titles] == list(titles)
    assert sum(line.endswith("not at all") for line in lines) > 0
    assert any(line.startswith("LIU-041, LIU-004 ") for line in lines)


def test_the_fit_is_json_for_programs(hcasim_: Hcasim) -> None:
    data = json.loads(hcasim_("calibrate", "liu2004", "--json", "-j", "1").output)
    assert data["id"] == "liu2004"
    assert len(data["parameters"]) == 6
    assert len(data["observations"]) == 6
    assert data["ties"]
    Draft202012Validator(hc.schema("calibrate")).validate(data)


def test_the_file_is_a_fit_and_the_same_each_time(hcasim_: Hcasim, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.toml", "two.toml")]
    for file, jobs in zip(files, "12", strict=True):
        found = hcasim_("calibrate", "liu2004", "-o", str(file), "-j", jobs)
        assert found.messages == f"Wrote {file}\n"
    assert files[0].read_bytes() == files[1].read_bytes()
    read = parse_fit("liu2004", files[0], tomllib.loads(files[0].read_text()))
    assert set(read.entries) == set(load_fit("liu2004").entries)
    assert sorted(tmp_path.iterdir()) == files


def test_without_an_output_nothing_is_changed(hcasim_: Hcasim, data: Path) -> None:
    file = data / "calibration" / "fits" / "liu2004.toml"
    before = file.read_bytes()
    assert hcasim_("calibrate", "liu2004", "-j", "1").code == 0
    assert file.read_bytes() == before


def test_a_fit_to_claims_is_made_again_in_its_place(hcasim_: Hcasim, data: Path) -> None:
    """The head of each fit says how."""
    file = Path("calibration/fits/liu2004.toml")
    before = file.read_bytes()
    assert hcasim_("calibrate", "liu2004", "-o", str(file), "-j", "1").code == 0
    assert file.read_bytes() != before


def test_an_unknown_fit_is_refused(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("calibrate", "liu2005").faults
    assert "found no calibration 'liu2005'" in fault
    assert "did you mean 'liu2004'?" in fault


def test_a_fit_without_bounds_is_refused_and_nothing_is_written(
    hcasim_: Hcasim, data: Path
) -> None:
    file = data / "calibration" / "fits" / "liu2004.toml"
    text = file.read_text()
    file.write_text(text.replace('bounds = ["0 ns", "2000 ns"]\n', ""))
    faults = hcasim_("calibrate", "liu2004", "-o", "new.toml").faults
    assert len(faults) == 3
    assert all(".latency.bounds: missing; allowed: " in fault for fault in faults)
    assert not (data / "new.toml").exists()
