"""What a terminal shows, and data for programs."""

import csv
import json
import re
from pathlib import Path

import pytest

from hcasim.runs.table import to_csv, to_json
from tests.unit.cli.conftest import Hcasim
from tests.unit.cli.terminals import on_terminal, sent_to_terminal

HOSTILE = (
    "Price [us] x[/y]z [link=https://e.example]a[/link] :smile: \x1b]0;title\x07\x1b[31m \u202e"
)
SEEN = (
    "Price [us] x[/y]z [link=https://e.example]a[/link] :smile: \\x1b]0;title\\x07\\x1b[31m \\u202e"
)


@pytest.mark.parametrize("columns", [80, 160])
def test_a_terminal_gets_a_drawn_table_that_fits(root: Path, columns: int) -> None:
    output = on_terminal(root, columns, "show", "mt25208")
    lines = output.replace("\r", "").splitlines()
    assert any("───" in line for line in lines)
    assert max(map(len, lines)) <= columns


def test_a_table_in_one_piece_is_that_of_a_pipe(root: Path, hcasim_: Hcasim) -> None:
    words = ("show", "liu2004", "--grep", "lanes")
    piped = hcasim_(*words).output
    assert hcasim_(*words, "--wide").output == piped
    assert on_terminal(root, 60, *words, "--wide").replace("\r", "") == piped
    assert on_terminal(root, 60, *words).replace("\r", "") != piped


@pytest.mark.parametrize(
    "words", ["list models", "show models/adapters/odd.toml", "import trace.jsonl"]
)
def test_what_others_have_named_is_text_on_a_terminal(
    root: Path, in_empty_folder: Path, words: str
) -> None:
    folder = in_empty_folder / "models" / "adapters"
    folder.mkdir(parents=True)
    text = json.dumps(HOSTILE)
    value = f'latency = {{ value = "1 us", evidence = "assumed", source = {text} }}'
    file = f'id = "odd"\nbased_on = "mt25208"\ntitle = {text}\n[send]\n{value}\n'
    (folder / "odd.toml").write_text(file)
    device = {"name": HOSTILE, "transport": "roce"}
    header = {"record": "header", "schema": "hcasim-trace", "version": 1, "device": device}
    end = {"record": "end", "points": 0, "complete": True}
    lines = (header | {"tool": {"name": "perftest"}}, end)
    Path("trace.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    paths = {"HCASIM_PATH": str(in_empty_folder), "PYTHONPATH": str(root)}
    sent = sent_to_terminal(in_empty_folder, 300, *words.split(), **paths)
    # A cell may take several lines.
    shown = re.sub(r"\x1b\[[0-9;?]*m", "", sent).split()
    assert set(SEEN.split()) <= set(shown)
    # Neither links nor titles of windows, nor a colour of the text's own.
    assert "\x1b]" not in sent
    assert "\x1b[31m" not in sent


def test_data_for_programs_steers_no_terminal_and_keeps_its_meaning() -> None:
    text = "\x1b[31m\x9b\u202e\udcff\nµ"
    assert json.loads(to_json({text: text})) == {text: text}
    for steering in "\x1b\x9b\u202e\udcff":
        assert steering not in to_json(text)
        assert steering not in to_csv([{"a": text}])
    assert to_csv([{"a": 1}, {"a": 2, "b": "x,y"}]) == 'a,b\n1,\n2,"x,y"\n'
    assert to_csv([{"a": "b\nc"}]) == "a\nb\\nc\n"


def test_a_spreadsheet_computes_no_cell() -> None:
    texts = ("=1+2", "+cmd|' /C x'!A0", "-2+3", "@SUM(A1)", "-x", "+", "- 3", "-1/A1", "+1 A1")
    for text in (*texts, "-3.5 %", *(f"{sign}1+1" for sign in "\uff1d\uff0b\uff0d\uff20")):
        head, cells = csv.reader(to_csv([{text: text, "a": 1}]).splitlines())
        assert (head, cells) == ([f"'{text}", "a"], [f"'{text}", "1"])
    numbers = ("-3.5", "+4", "-1e-9", "-.5", "1-2", "a=b", "")
    assert to_csv([{"a": one, "b": -3.5} for one in numbers]) == "a,b\n" + "".join(
        f"{one},-3.5\n" for one in numbers
    )


def test_a_bar_shows_the_time_to_go(root: Path) -> None:
    words = "bench write_bw --testbed liu2004 --size 256K,512K,1M,2M -j 1 -n 40 --exact --no-cache"
    shown = on_terminal(root, 100, *words.split())
    assert re.search(r"Simulating .* [23]/4 \d:\d\d:\d\d to go \d:\d\d:\d\d", shown)
