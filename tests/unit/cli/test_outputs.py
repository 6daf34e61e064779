"""No command writes over a file that it reads, under whatever name."""

import os
import shutil
from pathlib import Path

import pytest

from hcasim.workloads import own as own_workloads
from tests.unit.cli.conftest import Hcasim

GOAL = "num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 8b from 0 }\n"
STUDY = 'workload = "write_lat"\ntestbed = "mine.toml"\nsize = "8"\n'
OWN = """
import hcasim as hc
import helper
from pathlib import Path

@hc.workload("latency_us")
def mine(run):
    Path("ran").touch()
    import late
    return {"latency_us": helper.VALUE + late.VALUE}
"""
SCRIPT = "#!/bin/sh\ntouch ran\n. $(dirname $0)/inner.sh\n"
PROGRAM = "#!/usr/bin/env python3\nimport helper\nopen('ran', 'w')\n"
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
    texts = {"steps.goal": GOAL, "study.toml": STUDY, "own.py": OWN, "hosts": "node0\n"}
    texts |= {"helper.py": "VALUE = 1.0\n", "late.py": "VALUE = 1.0\n", "input": "words\n"}
    texts |= {"child.toml": 'based_on = "mine.toml"\n', "run.sh": SCRIPT, "inner.sh": "wc -c data"}
    texts |= {"prog": PROGRAM, "script": "touch ran\n. ./inner.sh\n", "data": "\0 not a text"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name in ("run.sh", "prog"):
        (tmp_path / name).chmod(0o755)
    made = hcasim_("bench", "write_lat", *LIU, "-s", "8", "-n", "9", "-o", "old.json")
    assert made.code == 0, made
    return tmp_path


def test_what_a_command_reads_is_not_written_over(hcasim_: Hcasim, folder: Path) -> None:
    bench = ("bench", "write_lat", "-s", "8", "-n", "9")
    own = ("bench", "own.py:mine")
    cases: list[tuple[str, tuple[str, ...], str]] = [
        ("steps.goal", ("app", "steps.goal", *APP), "--trace"),
        ("mine.toml", (*bench, "--testbed", "mine.toml"), "-o"),
        ("card.toml", (*bench, *LIU, "--adapter", "card.toml"), "--pcap"),
        ("study.toml", ("sweep", "study.toml"), "-o"),
        ("old.json", ("compare", "old.json", "liu2004"), "--plot"),
        ("curve.toml", ("run", "curve.toml"), "--plot"),
        ("curve.toml", ("reproduce", "curve.toml"), "--report"),
        ("mine.toml", ("sensitivity", "write_lat", "-s", "8", "--testbed", "mine.toml"), "-o"),
        ("mine.toml", (*bench, "--testbed", "child.toml"), "-o"),
        ("mine.toml", (*bench, "--testbed", "child.toml"), "--trace"),
        ("own.py", (*own, *LIU), "--trace"),
        ("helper.py", (*own, *LIU), "--trace"),
        ("late.py", (*own, *LIU), "-o"),
        ("late.py", ("sweep", "own.py:mine", "--over", "size=8,64", *LIU), "-o"),
        ("hosts", ("launch", "--hostfile", "hosts", *LIU, "--", "true"), "--trace"),
        ("run.sh", ("launch", *LIU, "--", "./run.sh"), "--trace"),
        ("run.sh", ("launch", *LIU, "--", "sh", "-c", "cd .;./run.sh"), "--pcap"),
        ("inner.sh", ("launch", *LIU, "--", "./run.sh"), "--trace"),
        ("input", ("launch", *LIU, "--", "./run.sh", "--in=input"), "--series"),
        ("own.py", ("launch", *LIU, "--", "python3", "own.py"), "--trace"),
        ("late.py", ("launch", *LIU, "--", "python3", "own.py"), "--trace"),
        ("helper.py", ("launch", *LIU, "--", "./prog"), "--trace"),
        ("inner.sh", ("launch", *LIU, "--", "sh", "script"), "--trace"),
        ("data", ("launch", *LIU, "--", "sh", "script"), "--trace"),
    ]
    endings = {
        "--plot": ".svg",
        "-o": ".csv",
        "--report": ".html",
        "--pcap": ".pcap",
        "--series": ".csv",
    }
    faults = []
    for number, (name, words, option) in enumerate(cases):
        linked = f"linked{number}" + endings.get(option, "")
        (os.link if number % 2 else os.symlink)(folder / name, folder / linked)
        output = linked if option in endings else name
        before = (folder / name).read_bytes()
        # Without what an earlier command of this process has read.
        own_workloads._read.cache_clear()
        found = hcasim_(words[0], option, output, *words[1:])
        kept = (folder / name).read_bytes() == before and Path(output).samefile(name)
        told = f"{output}: found the same file as" in found.messages
        ran = (folder / "ran").exists()
        if ran or not (found.code == 2 and kept and told and found.messages.startswith("Error: ")):
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


def test_a_module_that_only_the_run_names_is_not_written_over(
    hcasim_: Hcasim, folder: Path
) -> None:
    (folder / "own.py").write_text(OWN.replace("import late", "late = __import__('late')"))
    found = hcasim_("bench", "own.py:mine", *LIU, "--trace", "late.py")
    same = "--trace late.py: found the same file as late.py, which is read; allowed: one of its own"
    assert (found.faults, (folder / "late.py").read_text()) == ([same], "VALUE = 1.0\n")
    assert not [*folder.glob(".*")]


def test_what_is_read_from_standard_input_is_not_written_over(
    process: Hcasim, folder: Path
) -> None:
    assert process("bench", "write_lat", *LIU, "-s", "8", "-n", "9", "-o", "t.jsonl", cwd=folder)
    with (folder / "t.jsonl").open() as stream:
        found = process("import", "-", "-o", "t.jsonl", cwd=folder, stdin=stream)
    assert found.faults[0].startswith("--output t.jsonl: found the same file as <stdin>, which")
    assert (folder / "t.jsonl").stat().st_size > 0


def test_a_timeline_has_nodes_of_the_machine(hcasim_: Hcasim, folder: Path) -> None:
    traced = ("--trace", "t.json", "--trace-node", "1,77", *LIU)
    for words in (("bench", "write_lat", "-s", "8"), ("app", "steps.goal", "-n", "2")):
        assert hcasim_(*words, *traced).faults == ["--trace-node: found 77; allowed: 0 to 3"]
    assert not (folder / "t.json").exists()
