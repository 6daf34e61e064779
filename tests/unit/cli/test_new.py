"""`hcasim new` writes a file to start from, and never over another."""

import json
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import folders
from tests.unit.cli.conftest import Hcasim
from tests.unit.cli.fits import LINEAR

BASED = ("--based-on", "mt25208")


def test_what_it_writes_is_found_by_its_path_and_in_a_folder_by_its_id(
    hcasim_: Hcasim, in_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hcasim_("new", "adapter", "mine", *BASED).messages == "Wrote mine.toml\n"
    folder = in_empty_folder / "own" / "models" / "adapters"
    folder.mkdir(parents=True)
    assert hcasim_("new", "adapter", "other", *BASED, "-o", str(folder)).code == 0
    monkeypatch.setenv("HCASIM_PATH", "own")
    for name in ("./mine.toml", "other"):
        words = ("bench", "write_lat", "--testbed", "liu2004", "--size", "8", "--json")
        found = hcasim_(*words, "--adapter", name, "-n", "10").json
        assert found["adapter"] == name.removeprefix("./").removesuffix(".toml")


def test_a_machine_in_files_is_fitted_and_takes_on_its_fit(
    hcasim_: Hcasim, exact: Path, in_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_GIVEN", {})
    hcasim_("new", "adapter", "mine", *BASED)
    hcasim_("new", "testbed", "lab", "--based-on", "liu2004")
    machine = ("--testbed", "./lab.toml", "--adapter", "./mine.toml")
    # What was simulated on another machine stands for a measurement.
    free = (
        "--free",
        "adapter.send.latency=0ns..2us",
        *LINEAR,
        "--allow-mismatch",
        "-o",
        "fit.toml",
    )
    fitted = hcasim_("calibrate", str(exact / "write_lat.jsonl"), *machine, *free, "-j", "1")
    assert fitted.code == 0
    assert "adapters.mine.send.latency" in Path("fit.toml").read_text()

    def take(*words: str) -> Any:
        # As in a process of its own, in which nothing was given before.
        monkeypatch.setattr(folders, "_GIVEN", {})
        return hcasim_(*words, "--calibration", "fit.toml")

    taken = take("bench", "write_lat", *machine, "-s", "8", "-n", "10", "--json").output
    assert list(json.loads(taken)["overrides"]) == ["adapter.send.latency"]
    for words in (("./lab.toml", "--adapter", "./mine.toml"), ("./mine.toml",)):
        shown = take("show", *words, "--grep", "calibration fit.toml: identified")
        assert "adapter.send.latency" in shown.output
    # Elsewhere the parts are known only if they are given.
    Path("elsewhere").mkdir()
    Path("fit.toml").rename("elsewhere/fit.toml")
    Path("fit.toml").symlink_to("elsewhere/fit.toml")
    assert take("bench", "write_lat", *machine, "-s", "8", "-n", "10").code == 0
    monkeypatch.chdir("elsewhere")
    faults = take("show", "mt25208").faults
    assert any("or the adapter of a file that lies beside this one" in fault for fault in faults)


@pytest.mark.usefixtures("simulated")
def test_an_experiment_of_ones_own_begins_as_a_published_one(
    hcasim_: Hcasim, in_empty_folder: Path
) -> None:
    assert hcasim_("new", "scenario", "mine", "--based-on", "liu2004/fig03").code == 0
    found, theirs = (hcasim_("run", name, "--json").json for name in ("mine.toml", "liu2004/fig03"))
    assert found["scenario"] == "own/mine"
    assert found["series"] == theirs["series"]
    assert hcasim_("reproduce", "mine.toml").code == 0
    assert hcasim_("new", "scenario", "next", "--based-on", "./mine.toml").code == 0
    (fault,) = hcasim_("new", "scenario", "last", "--based-on", "liu2004/fig3").faults
    assert "did you mean 'liu2004/fig03'?" in fault


def test_a_notebook_of_ones_own_is_a_copy_of_one_that_hcasim_brings(
    hcasim_: Hcasim, in_empty_folder: Path, root: Path
) -> None:
    based = ("--based-on", "04-memfree")
    assert hcasim_("new", "notebook", "mine", *based).messages == "Wrote mine.ipynb\n"
    theirs = root / "notebooks" / "04-memfree.ipynb"
    assert Path("mine.ipynb").read_text() == theirs.read_text()
    (fault,) = hcasim_("new", "notebook", "mine", *based).faults
    assert fault == "mine.ipynb: exists; choose another name or folder"
    (fault,) = hcasim_("new", "notebook", "other", "--based-on", "04-memfre").faults
    assert "did you mean '04-memfree'?" in fault


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("mt23108", *BASED), "NAME: found 'mt23108', which there is; allowed: any but "),
        (("a/b", *BASED), "NAME: found 'a/b'; allowed: letters, digits, - and _"),
        (("there", *BASED), "there.toml: exists; choose another name or folder"),
        (("mine", *BASED, "-o", "none"), "--output: found 'none', which is no folder"),
        (("mine",), "--based-on: missing; allowed: bluefield-2, "),
        (("mine", "--based-on", "mt2520"), "did you mean 'mt25208'?"),
        (("mine", "--based-on", "vapi"), "found no adapter 'vapi'"),
    ],
)
def test_it_refuses_what_would_be_no_id_or_is_there(
    hcasim_: Hcasim, in_empty_folder: Path, words: tuple[str, ...], fault: str
) -> None:
    (in_empty_folder / "there.toml").write_text("")
    (found,) = hcasim_("new", "adapter", *words).faults
    assert fault in found
    assert [file.name for file in in_empty_folder.iterdir()] == ["there.toml"]
