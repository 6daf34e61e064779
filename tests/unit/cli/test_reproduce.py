"""reproduce and run print tables and data, write files, and say how it went."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hcasim as hc
from hcasim.cli.results import Wanted
from hcasim.papers.loader import list_scenarios, load_context, load_scenario
from hcasim.papers.verdict import judge

Hcasim = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("invented")


def test_a_missed_claim_gives_exit_code_one_and_an_explanation(hcasim_: Hcasim) -> None:
    found = hcasim_("reproduce", "liu2004/fig02", "-j", "1")
    assert found.code == 1
    assert found.messages == ""
    assert "LIU-039: missed, and no deviation is documented" in found.output
    assert "0 context (not replayed)" in found.output


def test_met_claims_give_exit_code_zero(hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = {"status": "pass", "note": ""}
    monkeypatch.setattr(
        "hcasim.papers.report.judge",
        lambda claim, *more: judge(claim, *more).model_copy(update=judged),
    )
    assert hcasim_("reproduce", "liu2004/fig02", "-j", "1").code == 0


def test_json_is_all_that_is_printed(hcasim_: Hcasim) -> None:
    found = hcasim_("reproduce", "liu2004", "-j", "1", "--json")
    data = json.loads(found.output)
    assert found.messages == ""
    claims = [one.id for name in list_scenarios("liu2004") for one in load_scenario(name).claims]
    stated = {*claims, *(one.id for one in load_context("liu2004"))}
    assert {one["id"] for one in data["claims"]} == stated
    counted = [data["summary"].pop(one) for one in ("pass", "fail", "deviation", "context")]
    assert sum(counted) == len(data["claims"]) == len(stated)


def test_a_folder_receives_figures_data_and_the_table(hcasim_: Hcasim, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    found = hcasim_("reproduce", "liu2004/fig02", "liu2004/fig05", "-j", "1", "-o", str(out))
    wrote = "Wrote 2 figures, index.html, reproduce.json and reproduce.txt into"
    assert found.messages == f"{wrote} {out}\n"
    assert sorted(path.name for path in out.iterdir()) == [
        "index.html",
        "liu2004-fig02.png",
        "liu2004-fig02.svg",
        "liu2004-fig05.png",
        "liu2004-fig05.svg",
        "reproduce.json",
        "reproduce.txt",
    ]
    first, *_, last = found.output.splitlines()
    assert first.startswith("Published and simulated: 2 figures in ")
    assert first.endswith(" s; 1 of 6 claims pass, 5 missed")
    assert last.startswith(f"Look at {out}/index.html: ")
    printed = hcasim_("reproduce", "liu2004/fig02", "liu2004/fig05", "-j", "1").output
    assert (out / "reproduce.txt").read_text() == printed
    assert "<title>Published and simulated</title>" in (out / "index.html").read_text()
    assert (out / "liu2004-fig02.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((out / "reproduce.json").read_text())["claims"]


def test_a_file_in_the_place_of_the_folder_is_a_fault(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    (fault,) = hcasim_("reproduce", "liu2004/fig02", "-o", str(file)).faults
    assert "cannot be created" in fault
    assert file.read_text() == "kept"


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("run", ("liu2004-fig02.csv", "liu2004-fig02.svg")),
        ("reproduce", ("liu2004-fig02.png", "index.html", "reproduce.json", "reproduce.txt")),
    ],
)
def test_a_folder_in_the_place_of_a_result_is_found_before_anything_is_simulated(
    hcasim_: Hcasim,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    names: tuple[str, ...],
) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    monkeypatch.setattr("hcasim.papers.replay.run_points", None)
    faults = hcasim_(command, "liu2004/fig02", "-o", str(tmp_path)).faults
    said = "cannot be written: found a folder; the name of a file is needed"
    assert faults == [f"--output {tmp_path / name}: {said}" for name in names]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names)


@pytest.mark.parametrize("command", ["reproduce", "run"])
def test_an_unknown_scenario_is_answered_with_the_nearest_and_makes_no_folder(
    hcasim_: Hcasim, tmp_path: Path, command: str
) -> None:
    faults = hcasim_(command, "liu2004/fig3", "liu2005", "-o", str(tmp_path / "out")).faults
    assert len(faults) == 2
    assert "did you mean 'liu2004/fig03'?" in faults[0]
    assert not (tmp_path / "out").exists()


def test_run_prints_the_curves_side_by_side(hcasim_: Hcasim) -> None:
    lines = hcasim_("run", "liu2004/fig03", "-j", "1").output.splitlines()
    assert lines[0] == "liu2004/fig03: RDMA write latency, Latency (us)"
    assert lines[1].split() == ["Size", "PCI-Express", "PCI-X"]
    assert lines[2].split() == ["4", "4.00", "4.00"]
    assert len(lines) == 2 + 11


def test_run_prints_csv_and_json_for_programs(hcasim_: Hcasim) -> None:
    words = ("run", "liu2004/fig03", "liu2004/fig05", "-j", "1")
    rows = list(csv.DictReader(io.StringIO(hcasim_(*words, "--csv").output)))
    assert len(rows) == 2 * 11 + 4
    assert rows[0]["scenario"] == "liu2004/fig03"
    data = json.loads(hcasim_(*words, "--json").output)
    assert [one["scenario"] for one in data["scenarios"]] == ["liu2004/fig03", "liu2004/fig05"]
    assert len(data["scenarios"][0]["series"][0]["rows"]) == 11


@pytest.mark.parametrize(
    ("words", "settings", "what"),
    [
        (("--host", "opteron-8131"), {"host": "opteron-8131"}, "host opteron-8131"),
        (("--mtu", "512"), {"mtu": 512}, "mtu 512"),
        (("--no-switch",), {"switch": False}, "switch none"),
        (("--stack", "thca", "--switch"), {"stack": "thca", "switch": True}, "stack thca"),
    ],
)
def test_run_takes_the_choices_of_a_machine_and_says_so(
    hcasim_: Hcasim, words: tuple[str, ...], settings: dict[str, Any], what: str
) -> None:
    found = json.loads(hcasim_("run", "liu2004/fig05", *words, "-j", "1", "--json").output)
    assert f" ({what}" in found["title"]
    kept = {"switch": "infiniscale"} if settings.get("switch") else {}
    assert {**settings, **kept}.items() <= found["series"][0]["options"].items()
    assert hc.run("liu2004/fig05", jobs=1, **settings).to_dict()["series"] == found["series"]


def test_run_shows_another_machine_and_says_so(hcasim_: Hcasim) -> None:
    words = ("run", "liu2004/fig03", "-j", "1", "--set", "adapter.bus=mt23108")
    heading, _, *rows = hcasim_(*words).output.splitlines()
    what_if = "(adapter.bus = mt23108)"
    assert heading == f"liu2004/fig03: RDMA write latency {what_if}, Latency (us)"
    assert rows
    one = json.loads(hcasim_(*words, "--json").output)
    assert one["overrides"] == {"adapter.bus": "mt23108"}
    assert {series["adapter"] for series in one["series"]} == {"mt23108", "mt25208"}


def test_run_writes_figures_and_data(hcasim_: Hcasim, tmp_path: Path) -> None:
    folder, file = tmp_path / "out", tmp_path / "fig03.pdf"
    found = hcasim_("run", "liu2004/fig03", "-j", "1", "-o", str(folder), "--plot", str(file))
    assert found.messages == f"Wrote 1 scenario into {folder}\nWrote {file}\n"
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"liu2004-fig03.{form}" for form in ("csv", "json", "png", "svg")]
    assert file.read_bytes().startswith(b"%PDF")


def test_a_folder_is_there_only_with_a_result(hcasim_: Hcasim, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "index.html").mkdir()
    refused = hcasim_("reproduce", "liu2004/fig03", "-o", str(tmp_path / "new"))
    assert refused.code == 2
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["index.html"]
    given = {"form": "text", "output": tmp_path / "a" / "b", "as_json": False, "as_csv": False}
    wanted = Wanted(given, folder=True)
    wanted.prepare_folder([], [], "index.html")
    assert not (tmp_path / "a").exists()
