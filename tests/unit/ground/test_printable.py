"""Names from elsewhere neither end a line nor steer a terminal."""

import tomllib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import Fit, render_fit
from hcasim.ground.printable import printable


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
