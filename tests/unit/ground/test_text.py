"""Text from elsewhere neither ends a line nor steers a terminal or a page; tables are aligned."""

import tomllib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import Fit, render_fit
from hcasim.ground.text import html_table, plain_table, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mlx5_0, 4 µs", "mlx5_0, 4 µs"),
        ("a\nError: b", "a\\nError: b"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("a\u2028b\u202ec", "a\\u2028b\\u202ec"),
        ("a\udcff", "a\\udcff"),
    ],
)
def test_what_steers_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_what_is_printable_has_one_line_and_no_controls(text: str) -> None:
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert not [one for one in shown if unicodedata.category(one) == "Cc"]
    assert printable(shown) == shown


@given(st.text())
def test_a_comment_of_a_file_ends_where_it_should(text: str) -> None:
    fit = Fit(id="some", title="t", notes="n")
    found = tomllib.loads(render_fit(fit, [text, "last"]))
    assert found == {"id": "some", "title": "t", "notes": "n"}


def test_plain_columns_are_aligned_and_lines_have_no_trailing_blanks() -> None:
    rows = [("a", "1.5"), ("longer", "10.25")]
    assert plain_table("Title", ("name", "value"), rows, right=("value",)) == (
        "Title\nname    value\na         1.5\nlonger  10.25\n"
    )
    assert plain_table("", ("name", "value"), []) == "name  value\n"


def test_a_table_of_html_shows_names_as_text() -> None:
    assert html_table(("a", "<b>"), [("&", "1"), ("x", '"')], "<i>") == (
        "<table><caption>&lt;i&gt;</caption><thead><tr><th>a</th><th>&lt;b&gt;</th></tr></thead>"
        "<tbody><tr><th>&amp;</th><td>1</td></tr><tr><th>x</th><td>&quot;</td></tr></tbody></table>"
    )
