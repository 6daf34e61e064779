"""`hcasim new` writes a file to start from, and never over another."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hcasim = Callable[..., Any]
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
        found = json.loads(hcasim_(*words, "--adapter", name, "-n", "10").output)
        assert found["adapter"] == name.removeprefix("./").removesuffix(".toml")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("mt23108", *BASED), "NAME: found 'mt23108', which there is; allowed: any but mt23108, "),
        (("a/b", *BASED), "NAME: found 'a/b'; allowed: letters, digits, - and _"),
        (("", *BASED), "NAME: found ''"),
        (("there", *BASED), "there.toml: exists; choose another name or folder"),
        (("mine", *BASED, "-o", "none"), "--output: found 'none', which is no folder"),
        (("mine",), "--based-on: missing; allowed: mt23108, mt25208, "),
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
