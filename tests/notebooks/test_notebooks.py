"""The notebooks run from top to bottom, and are kept with what they show."""

import base64
import io
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.image
import nbformat
import numpy as np
import pytest

from tests.notebooks.running import NOTEBOOKS, WIDGET, checks, read, run


def shown(notebook: Any, kinds: tuple[str, ...]) -> list[Any]:
    """What each cell shows, of some kinds of data."""
    found: list[Any] = []
    for number, cell in enumerate(notebook.cells):
        if "stream" in kinds:
            # A busy machine hands over what is printed in more pieces.
            streams = [one for one in cell.get("outputs", []) if one.output_type == "stream"]
            found += [(number, "".join(one.text for one in streams))] if streams else []
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            found += [(number, data[kind]) for kind in kinds if kind in data]
    return found


def curves(notebook: Any) -> list[Any]:
    """What is in the figures of each cell, whatever draws them."""
    return [
        (number, json.loads(output.metadata["drawn"]))
        for number, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]


def pixels(image: str) -> Any:
    return matplotlib.image.imread(io.BytesIO(base64.b64decode(image)))


def test_there_is_a_notebook_to_begin_with() -> None:
    assert [path.name for path in NOTEBOOKS][:1] == ["01-first-replay.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_for_readers(path: Path) -> None:
    """It is kept with what it shows, was run in order, and holds no checks, which are tests."""
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert not [cell.source for cell in cells if "assert" in cell.source]
    assert shown(read(path), ("image/png",))
    assert shown(read(path), ("text/html",))
    for _, figure in curves(read(path)):
        assert any(axes["lines"] or axes["bars"] or axes["images"] for axes in figure["axes"])
    errors = [one for cell in cells for one in cell.outputs if one.output_type == "error"]
    assert errors == []
    assert "widgets" not in read(path).metadata
    assert WIDGET not in path.read_text(encoding="utf-8")
    assert {*checks(path)} <= {cell.id for cell in read(path).cells}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize(
    "path",
    [
        NOTEBOOKS[0],
        *(pytest.param(path, marks=pytest.mark.check) for path in NOTEBOOKS[1:]),
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_shows_what_it_is_kept_with(path: Path) -> None:
    kept, new = read(path), run(read(path), checks(path))
    words = ("stream", "text/plain", "text/html")
    assert shown(new, words) == shown(kept, words), "run: make notebooks"
    assert curves(new) == curves(kept), "run: make notebooks"
    figures = zip(shown(kept, ("image/png",)), shown(new, ("image/png",)), strict=True)
    for (cell, one), (_, other) in figures:
        # Another release of matplotlib may draw the same otherwise.
        if kept.metadata["matplotlib"] == version("matplotlib"):
            before, now = pixels(one), pixels(other)
            assert before.shape == now.shape, (path.stem, cell)
            assert np.mean(np.any(before != now, axis=-1)) < 1e-3, (path.stem, cell)


@pytest.mark.check
def test_a_notebook_without_widgets_answers_in_words() -> None:
    (path,) = (one for one in NOTEBOOKS if "line-rate" in one.stem)
    notebook = read(path)
    asked = next(cell for cell in notebook.cells if cell.id == "widget")
    hidden = nbformat.v4.new_code_cell("import sys\nsys.modules['ipywidgets'] = None")
    first = [cell for cell in notebook.cells if cell.id == "start"]
    notebook.cells = [hidden, *first, asked]
    # A slow kernel sends what one cell prints in pieces.
    text = "".join(one.text for one in run(notebook).cells[-1].outputs)
    assert text.startswith("97.2% of the link")
