"""What a terminal shows, and data for programs."""

import json
from pathlib import Path

import pytest

from hcasim.cli.output import to_csv, to_json
from tests.unit.cli.terminals import on_terminal, sent_to_terminal

HOSTILE = (
    "Price [us] x[/y]z [link=https://e.example]a[/link] :smile: \x1b]0;title\x07\x1b[31m \u202e"
)
SEEN = (
    "Price [us] x[/y]z [link=https://e.example]a[/link] :smile: \\x1b]0;title\\x07\\x1b[31m \\u202e"
)


def test_csv_has_every_column_that_some_row_has() -> None:
    assert to_csv([{"a": 1}, {"a": 2, "b": "x,y"}]) == 'a,b\n1,\n2,"x,y"\n'


@pytest.mark.parametrize("columns", [80, 160])
def test_a_terminal_gets_a_drawn_table_that_fits(root: Path, columns: int) -> None:
    output = on_terminal(root, columns, "show", "mt25208")
    lines = output.replace("\r", "").splitlines()
    assert any("───" in line for line in lines)
    assert max(map(len, lines)) <= columns
    assert any("adapter.bus.dllp_tlps_per_update" in line for line in lines)


def test_a_terminal_sees_progress_that_leaves_no_trace_in_the_data(root: Path) -> None:
    output = on_terminal(root, 80, "bench", "write_lat", "--testbed", "liu2004", "--size", "8")
    assert "Simulating" in output


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder of descriptions, one of which has a title that a terminal might obey."""
    folder = tmp_path / "models" / "adapters"
    folder.mkdir(parents=True)
    text = f'based_on = "mt25208"\ntitle = {json.dumps(HOSTILE)}\n'
    (folder / "odd.toml").write_text(text)
    return tmp_path


def assert_obeys_nothing(sent: str) -> None:
    assert SEEN in " ".join(sent.replace("\r", "").split())
    # Neither links nor titles of windows, nor a colour of the text's own.
    assert "\x1b]" not in sent
    assert "\x1b[31m" not in sent


def test_a_title_is_text_on_a_terminal(root: Path, hostile: Path) -> None:
    sent = sent_to_terminal(root, 300, "list", "models", HCASIM_PATH=str(hostile))
    assert_obeys_nothing(sent)


def test_the_title_of_a_table_is_text_on_a_terminal(root: Path, hostile: Path) -> None:
    words = ("show", str(hostile / "models" / "adapters" / "odd.toml"))
    assert_obeys_nothing(sent_to_terminal(root, 300, *words))


def test_a_trace_is_text_on_a_terminal(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    words = ("--device", HOSTILE, "-o", str(file))
    data = root / "tests" / "unit" / "traces" / "data" / "perftest"
    assert on_terminal(root, 300, "import", str(next(data.glob("*lat*"))), *words)
    assert_obeys_nothing(sent_to_terminal(root, 300, "import", str(file)))


def test_data_for_programs_steers_no_terminal_and_keeps_its_meaning() -> None:
    text = "\x1b[31m\x9b\u202e\udcff\nµ"
    assert json.loads(to_json({text: text})) == {text: text}
    for steering in "\x1b\x9b\u202e\udcff":
        assert steering not in to_json(text)
        assert steering not in to_csv([{"a": text}])
    assert to_csv([{"a": "b\nc"}]) == "a\nb\\nc\n"
