"""Runs the notebooks and stores them with what they show: python -m tests.notebooks.running."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.notebooks.drawn import keep

ROOT = Path(__file__).resolve().parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    """Read a notebook."""
    return nbformat.read(path, as_version=4)


def checks(path: Path) -> dict[str, str]:
    """The checks of a notebook, by the cell that they run behind."""
    file = Path(__file__).parent / "checks" / f"{path.stem}.py"
    parts = file.read_text(encoding="utf-8").split("# %% ")[1:] if file.exists() else []
    return {name: code for name, _, code in (part.partition("\n") for part in parts)}


def run(notebook: Any, checked: Mapping[str, str] | None = None) -> Any:
    """Run a notebook from top to bottom on the package of this checkout, and return it.

    Parameters:
        notebook: what to run.
        checked: code that runs behind cells, by their id, and is not kept.
    """
    whole, checked = notebook.cells, checked or {}
    notebook.cells = [
        one
        for cell in whole
        for one in (
            [cell, nbformat.v4.new_code_cell(checked[cell.id])] if cell.id in checked else [cell]
        )
    ]
    told = "from tests.notebooks.drawn import tell; tell()"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(told))
    # The kernel is a process of its own and must find the package under test; figures are shown in
    # the notebook, whatever the tests draw on.
    environment = {name: one for name, one in os.environ.items() if name != "MPLBACKEND"} | {
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "error::DeprecationWarning:hcasim",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(ROOT)}},
    )
    client.execute(env=environment)
    notebook.cells = whole
    number = 0
    for cell in whole:
        if cell.cell_type == "code":
            number += 1
            cell.execution_count = number
            # Widgets live as long as their kernel does.
            cell.outputs = [one for one in cell.outputs if WIDGET not in one.get("data", {})]
            for output in cell.outputs:
                keep(output)
                if "execution_count" in output:
                    output.execution_count = number
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["matplotlib"] = version("matplotlib")
    return notebook


def main() -> None:
    """Store each notebook with what it shows."""
    for path in NOTEBOOKS:
        nbformat.write(run(read(path)), path)


if __name__ == "__main__":
    main()
