"""No command writes over a file that its words name, under whatever name."""

import os
import shutil
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Hcasim

GOAL = "num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 8b from 0 }\n"
STUDY = 'workload = "write_lat"\ntestbed = "mine.toml"\nsize = "8"\n'
LIU = ("--testbed", "liu2004")
APP = ("-n", "2", *LIU)


@pytest.fixture
def folder(hcasim_: Hcasim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of each kind that commands read."""
    monkeypatch.chdir(tmp_path)
    for kind, name, base in (
        ("testbed", "mine", "liu2004"),
        ("adapter", "card", "mt23108"),
        ("scenario", "curve", "liu2004/fig03"),
    ):
        made = hcasim_("new", kind, name, "--based-on", base)
        assert made.code == 0, made
    texts = {"steps.goal": GOAL, "study.toml": STUDY}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    made = hcasim_("bench", "write_lat", *LIU, "-s", "8", "-n", "9", "-o", "old.json")
    assert made.code == 0, made
    return tmp_path


def test_what_a_command_reads_is_not_written_over(hcasim_: Hcasim, folder: Path) -> None:
    bench = ("bench", "write_lat", "-s", "8", "-n", "9")
    cases: list[tuple[str, tuple[str, ...], str]] = [
        ("steps.goal", ("app", "steps.goal", *APP), "--trace"),
        ("mine.toml", (*bench, "--testbed", "mine.toml"), "-o"),
        ("card.toml", (*bench, *LIU, "--adapter", "card.toml"), "--pcap"),
        ("study.toml", ("sweep", "study.toml"), "-o"),
        ("old.json", ("compare", "old.json", "liu2004"), "--plot"),
        ("curve.toml", ("run", "curve.toml"), "--plot"),
        ("curve.toml", ("reproduce", "curve.toml"), "--report"),
        ("mine.toml", ("sensitivity", "write_lat", "-s", "8", "--testbed", "mine.toml"), "-o"),
    ]
    endings = {"--plot": ".svg", "-o": ".csv", "--report": ".html", "--pcap": ".pcap"}
    faults = []
    for number, (name, words, option) in enumerate(cases):
        linked = f"linked{number}" + endings.get(option, "")
        (os.link if number % 2 else os.symlink)(folder / name, folder / linked)
        output = linked if option in endings else name
        before = (folder / name).read_bytes()
        found = hcasim_(*words, option, output)
        kept = (folder / name).read_bytes() == before and Path(output).samefile(name)
        told = f"{output}: found the same file as" in found.messages
        if not (found.code == 2 and kept and told and found.messages.startswith("Error: ")):
            faults.append((*words, option, output, kept, found))
    assert not faults, "\n".join(map(str, faults))


def test_what_is_not_read_may_be_written_over_again(hcasim_: Hcasim, folder: Path) -> None:
    shutil.copy("steps.goal", "copy.csv")
    for _ in range(2):
        found = hcasim_("app", "steps.goal", *APP, "-o", "copy.csv", "--trace", "lines")
        assert (found.code, "rank" in (folder / "copy.csv").read_text()) == (0, True)


def test_an_id_is_no_file_even_if_one_is_called_so(hcasim_: Hcasim, folder: Path) -> None:
    for name in ("write_lat", "liu2004"):
        for _ in range(2):
            assert hcasim_("bench", "write_lat", *LIU, "-s", "8", "--trace", name).code == 0
