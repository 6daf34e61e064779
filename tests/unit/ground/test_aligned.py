"""Tables of text are aligned."""

from hcasim.ground.aligned import plain_table


def test_plain_columns_are_aligned_and_lines_have_no_trailing_blanks() -> None:
    rows = [("a", "1.5"), ("longer", "10.25")]
    assert plain_table("Title", ("name", "value"), rows, right=("value",)) == (
        "Title\nname    value\na         1.5\nlonger  10.25\n"
    )


def test_a_table_without_rows_still_has_its_head() -> None:
    assert plain_table("", ("name", "value"), []) == "name  value\n"
