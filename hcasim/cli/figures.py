"""Writing figures of replays and benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hcasim.cli.outputs import Output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hcasim.papers.scenario import Scenario


class Drawable(Protocol):
    """Results that can be drawn."""

    def plot(self) -> Figure:
        """Return a figure."""


def plot_output(file: Path | None) -> Output:
    """Return what --plot names."""
    from hcasim.runs.drawing import FORMATS

    return Output("--plot", file, [f".{form}" for form in FORMATS])


def write_figure(results: Drawable, *files: Path) -> None:
    """Draw results and write them to files; a name's ending says the format, or it is PNG."""
    write_drawn(results.plot(), *files)


def write_drawn(figure: Figure, *files: Path) -> None:
    """Write a figure to files; a name's ending says the format, or it is PNG."""
    from hcasim.ground.writing import write_atomically
    from hcasim.runs.drawing import FORMATS, render

    for file in files:
        ending = file.suffix.lower().removeprefix(".")
        write_atomically(file, render(figure, ending if ending in FORMATS else FORMATS[0]))


def in_folder(folder: Path, scenario: Scenario, ending: str) -> Path:
    """Return a file of a scenario in a folder of results, such as liu2004-fig03.png."""
    return folder / f"{scenario.id.replace('/', '-')}{ending}"
