"""The table of a result: its rows as text, data for programs, and files by their endings."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcasim.ground.quantities import measured, title, with_ends, written
from hcasim.ground.text import STEERING, html_table, plain_table, printable
from hcasim.ground.writing import write_atomically
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

FIGURES = (".png", ".svg", ".pdf")
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Begins of cells that spreadsheets compute, of half and full width; signed numbers are none."""
SHOWN = 200
"""Rows that a notebook shows."""


class Table:
    """What all results can do with their rows.

    Attributes:
        title: what the table is about.
        rows: a mapping for each row; the last word of a key of what was measured is its unit.
        axes: keys of what tells the rows apart.
    """

    if TYPE_CHECKING:
        # A property would stand in the way of a field that a data class calls so.
        @property
        def title(self) -> str: ...

        @property
        def rows(self) -> Sequence[Mapping[str, Any]]: ...

        @property
        def axes(self) -> tuple[str, ...]: ...

        def to_dict(self) -> dict[str, Any]:
            """Return it for JSON."""

        def plot(self) -> Figure:
            """Draw it; not every result has a figure."""

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """The rows as files hold them, with how each was measured where the result knows it."""
        return self.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """All keys of rows, as they first appear."""
        return tuple(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def fields(self) -> tuple[str, ...]:
        """Keys of what was measured."""
        return measured(name for name in self.columns if "." not in name)

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of what was measured, each with its ends behind it, and of what these rest on."""
        return with_ends(self.fields, self.columns)

    def lines(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and the cells of each row as text."""
        names = (*self.axes, *self.shown)
        titles = tuple(AXES[name].title if name in AXES else title(name) for name in names)
        return [titles, *(tuple(cell(row.get(n), n) for n in names) for row in self.rows)]

    def render(self, ending: str) -> str | bytes:
        """Return what a file with an ending holds, JSON if it is not known."""
        return _FORMS.get(ending, _FORMS[".json"])(self)

    def save(self, file: Path) -> None:
        """Write it whole into a file, in the form that the ending says."""
        ending = file.suffix.lower()
        found = figure(self.plot(), ending) if ending in FIGURES else self.render(ending)
        write_atomically(file, found)

    def to_json(self) -> str:
        """Return it as a JSON document."""
        return to_json(self.to_dict())

    def to_csv(self) -> str:
        """Return its rows as CSV."""
        return to_csv(self.records)

    def to_jsonl(self) -> str:
        """Return its rows as JSON Lines."""
        return "".join(f"{json.dumps(row, ensure_ascii=True)}\n" for row in self.records)

    def to_parquet(self) -> bytes:
        """Return its rows as a file of Parquet; needs pandas and pyarrow."""
        _needs("pyarrow", "Parquet")
        buffer = io.BytesIO()
        frame(self.records).to_parquet(buffer, index=False)
        return buffer.getvalue()

    def to_pandas(self) -> pd.DataFrame:
        """Return its rows as a table of pandas."""
        return frame(self.records)

    def to_xarray(self) -> xr.Dataset:
        """Return what was measured over what varies, NaN elsewhere; needs xarray and pandas.

        Raises:
            ValueError: points that nothing tells apart, or nothing varies.
        """
        _needs("xarray", "to_xarray()")
        import xarray as xr

        if not self.axes:
            raise ValueError("nothing varies; to_pandas() has the only row")
        table = frame(self.rows).set_index(list(self.axes))
        return xr.Dataset.from_dataframe(table[list(self.shown)])

    def to_text(self) -> str:
        """Return it as aligned text."""
        head, *lines = self.lines()
        return plain_table(self.title, head, lines, right=head)

    def to_markdown(self) -> str:
        """Return it as a table of Markdown."""
        head, *lines = ([one.replace("|", "\\|") for one in row] for row in self.lines())
        every = [head, ["---:"] * len(head), *lines]
        return "".join(f"| {' | '.join(row)} |\n" for row in every)

    def to_latex(self) -> str:
        """Return it as a tabular of LaTeX."""
        head, *lines = (" & ".join(map(_latex, row)) + r" \\" for row in self.lines())
        columns = "r" * len(self.lines()[0])
        body = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", head, r"\hline", *lines, r"\hline"]
        return "\n".join([*body, r"\end{tabular}", ""])

    def to_html(self) -> str:
        """Return it as a table of HTML, as notebooks show it."""
        head, *lines = self.lines()
        more = f", the first {SHOWN} of {len(lines)}" if len(lines) > SHOWN else ""
        return html_table(head, lines[:SHOWN], f"{self.title}{more}")

    def _repr_html_(self) -> str:
        return self.to_html()


_FORMS: Mapping[str, Callable[[Table], str | bytes]] = {
    ".json": Table.to_json,
    ".csv": Table.to_csv,
    ".jsonl": Table.to_jsonl,
    ".parquet": Table.to_parquet,
    ".txt": Table.to_text,
    ".md": Table.to_markdown,
    ".tex": Table.to_latex,
    ".html": Table.to_html,
}
"""Forms of a table, by the ending of a file."""
ENDINGS = (*_FORMS, *FIGURES)
"""Of files that hold a result, or its figure."""
LISTINGS = tuple(_FORMS)
"""Of files that hold a result without a figure."""


@dataclass(frozen=True)
class Listing(Table):
    """Rows of text, which no figure shows; `data` is what JSON holds."""

    title: str
    rows: Sequence[Mapping[str, Any]]
    data: Mapping[str, Any]
    axes: tuple[str, ...] = ()

    def lines(self) -> list[tuple[str, ...]]:
        """Return the keys, and the cells of each row as text."""
        cells = (tuple(str(row.get(name, "")) for name in self.columns) for row in self.rows)
        return [self.columns, *cells]

    def to_dict(self) -> dict[str, Any]:
        return dict(self.data)


def cell(value: Any, name: str = "") -> str:
    """Write a value of a row under its key."""
    if value is None:
        return ""
    if name in AXES:
        return AXES[name].label(value)
    return written(value, name) if isinstance(value, float) else str(value)


def figure(drawn: Figure, ending: str) -> bytes:
    """Return a figure as a file with an ending; one that is not known is PNG."""
    from hcasim.runs.drawing import render

    return render(drawn, (ending if ending in FIGURES else FIGURES[0]).removeprefix("."))


def to_json(data: object) -> str:
    """Return a JSON document as text."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    # JSON leaves some of these as they are, but a terminal may obey them; all have four digits.
    return re.sub(f"(?!\n)[{STEERING}]", lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, a line each; the columns are all keys, as they first appear."""
    columns = dict.fromkeys(key for row in rows for key in row)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writerow({name: _literal(name) for name in columns})
    for row in rows:
        words = {key: _literal(one) for key, one in row.items() if isinstance(one, str)}
        writer.writerow({**row, **words})
    return stream.getvalue()


def _literal(text: str) -> str:
    """Return text that spreadsheets take for text, not for a formula; a number stays one."""
    if text.startswith(_FORMULA):
        try:
            float(text)
        except ValueError:
            return f"'{printable(text)}"
    return printable(text)


def frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a table of pandas."""
    _needs("pandas", "to_pandas()")
    import pandas as pd

    return pd.DataFrame([*rows])


def _needs(library: str, what: str) -> None:
    from importlib.util import find_spec

    if find_spec(library) is None:
        raise ImportError(f"{what} needs {library}; install it with: pip install 'hcasim[tables]'")


def _latex(text: str) -> str:
    text = text.replace("\\", r"\textbackslash ")
    return re.sub(r"([&%$#_{}])", r"\\\1", text)
