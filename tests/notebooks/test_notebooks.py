"""The notebooks run from top to bottom, and are kept without output."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def test_there_is_a_notebook_to_begin_with() -> None:
    assert [path.name for path in NOTEBOOKS][:1] == ["01-first-replay.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_output(path: Path) -> None:
    for cell in read(path).cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The kernel is a process of its own and must find the package under test.
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("PYTHONWARNINGS", "error::DeprecationWarning:hcasim")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    # Figures are shown in the notebook, whatever the other tests draw on.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = read(path)
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(root)}}
    )
    client.execute()
    kinds = {
        kind
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    }
    assert {"text/html", "image/png"} <= kinds
