"""Descriptions of the user's own: found by id below HCASIM_PATH, and anywhere by path."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.catalog import CatalogError, data_path, find_kind, list_ids, load, resolve
from hcasim.catalog.folders import VARIABLE, find_file, shipped
from hcasim.papers.loader import load_scenarios

Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Copy a shipped model to a place below the current, empty folder, under a name of its own."""
    monkeypatch.chdir(tmp_path)

    def copy(kind: str, identifier: str, place: str, **changed: str) -> Path:
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (shipped() / "models" / kind / f"{identifier}.toml").read_text()
        for key, new in {"id": file.stem, **changed}.items():
            (old,) = (line for line in text.splitlines() if line.startswith(f"{key} = "))
            text = text.replace(f"{old}\n", f'{key} = "{new}"\n', 1)
        # A fit names what it was fitted for.
        given = '{ value = "100 ns", evidence = "assumed",'
        file.write_text(re.sub(r'\{ evidence = "fitted", fit = "\w+",', given, text))
        return file

    return copy


def search(monkeypatch: pytest.MonkeyPatch, *folders: str) -> None:
    monkeypatch.setenv(VARIABLE, os.pathsep.join(folders))


def test_a_model_in_a_folder_of_the_users_is_found_by_its_id(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put("adapters", "mt25208", "mine/models/adapters/fast.toml")
    assert "fast" not in list_ids("adapters")
    search(monkeypatch, "mine")
    assert "fast" in list_ids("adapters")
    assert load("fast").file == file
    assert resolve("liu2004", adapter="fast").adapter.id == "fast"


def test_the_first_folder_with_an_id_wins_and_shadows_what_is_shipped(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put("hosts", "xeon-e7520", "a/models/hosts/xeon-e7520.toml")
    put("hosts", "xeon-e7520", "b/models/hosts/xeon-e7520.toml")
    search(monkeypatch, "a", "b")
    assert find_file("xeon-e7520", "hosts") == first
    assert list_ids("hosts").count("xeon-e7520") == 1


def test_a_fit_may_lie_in_a_folder_of_the_users(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = tmp_path / "mine" / "calibration" / "fits"
    fits.mkdir(parents=True)
    text = data_path("calibration", "fits", "liu2004.toml").read_text()
    (fits / "liu2004.toml").write_text(text.replace('"790 ns"', '"800 ns"'))
    search(monkeypatch, "mine")
    sent = next(p for p in load("mt25208").parameters if p.path == "send.latency")
    assert sent.value == 800_000


def test_a_folder_that_is_missing_is_a_fault_of_the_variable(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(monkeypatch, "none")
    with pytest.raises(CatalogError, match=f"PATH: found '{tmp_path / 'none'}'; allowed: folders"):
        list_ids("adapters")


def test_a_missing_id_names_the_folders_that_were_looked_into(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("adapters", "mt25208", "a/models/adapters/fast.toml")
    put("adapters", "mt25208", "b/models/adaptors/slow.toml")
    search(monkeypatch, "a", "b")
    ours = shipped() / "models"
    with pytest.raises(CatalogError) as caught:
        load("slow", "adapters")
    (fault,) = caught.value.faults
    assert fault.startswith(f"a/models/adapters, {ours / 'adapters'}: found no adapter 'slow'; ")
    with pytest.raises(CatalogError) as caught:
        load("slow")
    (fault,) = caught.value.faults
    assert fault.startswith(f"a/models, b/models, {ours}: found no model 'slow'; allowed: ")
    assert ", fast, " in fault
    with pytest.raises(CatalogError) as caught:
        load_scenarios(["liu2004/fig3"])
    (fault,) = caught.value.faults
    assert fault.startswith(f"{shipped() / 'scenarios'}: found no scenario 'liu2004/fig3'; ")
    assert fault.endswith("; did you mean 'liu2004/fig03'?")


def test_a_path_may_stand_for_an_id(put: Put) -> None:
    put("adapters", "mt25208", "lab/fast.toml")
    for name in ("lab/fast.toml", "./lab/fast.toml", str(Path("lab/fast.toml").absolute())):
        assert load(name, "adapters").model.id == "fast"
        assert resolve("liu2004", adapter=name).adapter.id == "fast"
    with pytest.raises(CatalogError, match=r"lab/fest\.toml: no such file; .* mean 'fast\.toml'"):
        load("lab/fest.toml", "adapters")


def test_a_path_inside_a_file_starts_from_that_file(put: Put) -> None:
    put("hosts", "xeon-e7520", "lab/parts/box.toml")
    put("testbeds", "liu2004", "lab/beds/bed.toml", host="../parts/box.toml")
    assert resolve("lab/beds/bed.toml").host.id == "box"
    put("testbeds", "liu2004", "lab/beds/wrong.toml", host="../parts/bax.toml")
    with pytest.raises(CatalogError) as caught:
        load("lab/beds/wrong.toml", "testbeds")
    said = "no such file; its folder holds box.toml; did you mean 'box.toml'?"
    place = "lab/beds/wrong.toml: nodes.host: lab/parts/bax.toml"
    assert caught.value.faults == [f"{place}: {said}"]


@pytest.mark.parametrize(
    ("kind", "identifier"),
    [("adapters", "ne010e"), ("hosts", "powermac-g5"), ("switches", "xg700"), ("stacks", "thca")],
)
def test_the_kind_of_a_file_follows_from_its_keys(put: Put, kind: str, identifier: str) -> None:
    put(kind, identifier, "some.toml")
    assert find_kind("some.toml") == kind
    assert load("some.toml").kind == kind


def test_a_file_of_another_kind_says_only_that(put: Put, tmp_path: Path) -> None:
    put("testbeds", "liu2004", "lab/ring.toml")
    (tmp_path / "fast.toml").write_text('id = "fast"\ntitle = "x"\nbased_on = "mt25208"\n')
    with pytest.raises(CatalogError) as caught:
        resolve("liu2004", adapter="lab/ring.toml")
    assert caught.value.faults == ["lab/ring.toml: found a testbed; allowed: an adapter"]
    with pytest.raises(CatalogError) as caught:
        resolve("fast.toml")
    assert caught.value.faults == ["fast.toml: found an adapter; allowed: a testbed"]


def test_the_keys_of_a_file_tell_its_kind_before_its_folder_does(put: Put) -> None:
    file = put("testbeds", "liu2004", "adapters/lab.toml", host="xeon-e752")
    assert find_kind("adapters/lab.toml") == "testbeds"
    with pytest.raises(CatalogError, match=r"nodes\.host: .* did you mean 'xeon-e7520'"):
        load(str(file), "testbeds")
