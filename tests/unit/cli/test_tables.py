"""One printer of tables: drawn on a terminal, aligned text elsewhere, and never cut off."""

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hcasim.cli.tables import print_table

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
    assert " ".join(" ".join(lines[3:]).split()).count("…") == 0


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_id_and_no_number_is_cut_off_whatever_the_width(draw: Draw, width: int) -> None:
    columns = ("claim", "scenario", "statement", "published", *(f"n{n}" for n in range(12)))
    ids = ("LIU-038", "benjegerdes2004/fig01")
    numbers = tuple(f"{n}.123456 MB/s" for n in range(12))
    lines = draw(width, "Title", columns, [(*ids, STATEMENT, "4.8 us", *numbers)], columns[4:])
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    assert all(one in text for one in (*ids, *numbers, *STATEMENT.split()))


def test_columns_that_do_not_fit_follow_in_a_table_with_the_same_key(draw: Draw) -> None:
    rows = [(f"adapter.bus.parameter_{n}", f"{n} ns", STATEMENT) for n in range(2)]
    lines = draw(50, "", ("path", "value", "source"), rows)
    heads = [line.split() for line in lines if line.startswith("path")]
    assert heads == [["path", "value", "source"]]
    rows = [(f"adapter.bus.bridge.bus.parameter_{n}", f"{n} ns", STATEMENT) for n in range(2)]
    lines = draw(50, "", ("path", "value", "source"), rows)
    heads = [line.split() for line in lines if line.startswith("path")]
    assert heads == [["path", "value"], ["path", "source"]]
    assert sum(line.startswith("adapter.bus.bridge.bus.parameter_1") for line in lines) == 2


def test_what_is_aside_is_the_first_to_go(draw: Draw) -> None:
    columns, row = ("claim", "scenario", "error"), ("LIU-038", "benjegerdes2004/fig01", "+0.1 %")
    heads = [
        [line.split() for line in draw(width, "", columns, [row], aside=("scenario",))][::3]
        for width in (80, 30)
    ]
    assert heads[0][0] == ["claim", "scenario", "error"]
    assert heads[1][0] == ["claim", "error"]


def test_a_path_that_is_longer_than_its_column_is_divided_at_its_dots(draw: Draw) -> None:
    path, word = "adapter.send.latency", "x" * 18
    lines = draw(40, "", ("path", "value"), [(path, word)])
    assert [line.split() for line in lines[2:]] == [["adapter.send.", word], ["latency"]]
    long = "adapter.requester.context_cache.entries"
    words = [line.strip() for line in draw(24, "", ("path",), [(long,)])[2:]]
    assert words == ["adapter.requester.", "context_cache.entries"]


def test_a_name_longer_than_the_terminal_is_folded(draw: Draw) -> None:
    lines = draw(30, "", ("path", "value"), [("x" * 70, "1")])
    assert max(map(len, lines)) <= 30
    assert "".join(lines).count("x") == 70
    assert lines[0].split() == ["path", "value"]
