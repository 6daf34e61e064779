"""One printer of tables: drawn on a terminal, aligned text elsewhere, and never cut off."""

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hcasim.cli.output import print_table

Draw = Callable[..., list[str]]
STATEMENT = "latency of small messages with the completion queue polled by the receiver"


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Draw:
    """Print a table on a terminal of a width and give its lines, without colours."""

    def lines(width: int, *arguments: Any, **more: Any) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        print_table(*arguments, **more)
        text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        return [line.rstrip() for line in text.splitlines()]

    return lines


def test_a_drawn_table_has_its_title_above_it(draw: Draw) -> None:
    title, head, rule, row = draw(80, "A [bold] title", ("name", "value"), [("a", "[1]")])
    assert (title, head.split(), row.split()) == ("A [bold] title", ["name", "value"], ["a", "[1]"])
    assert set(rule) == {"─"}


def test_prose_is_wrapped_where_a_table_is_too_wide(draw: Draw) -> None:
    rows = [("LIU-038", STATEMENT, "4.801 us", "+0.02 %")]
    lines = draw(60, "Observations", ("claim", "statement", "simulated", "error"), rows)
    assert max(map(len, lines)) <= 60
    assert lines[1].split() == ["claim", "statement", "simulated", "error"]
    assert all(cell in lines[3] for cell in ("LIU-038", "4.801 us", "+0.02 %"))


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_nothing_is_cut_off_whatever_the_width(draw: Draw, width: int) -> None:
    digits = [str(n) * 20 for n in range(9)]
    lines = draw(width, "", digits, [[f"{one}x" for one in digits]], digits)
    text = "".join(lines)
    assert max(map(len, lines)) <= width
    assert [text.count(str(n)) for n in range(9)] == [40] * 9
    assert "…" not in text


def test_what_tells_the_rows_apart_stays_whole_if_there_is_room(draw: Draw) -> None:
    row = ("adapter.bus.bridge.bus.parameter", "1 ns", STATEMENT, STATEMENT)
    lines = draw(60, "", ("path", "value", "meaning", "source"), [row])
    assert lines[2].startswith(f"{row[0]}  1 ns")
    assert max(map(len, lines)) <= 60
