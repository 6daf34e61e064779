"""Figures have the papers' axes, mark what was published, and are the same each time."""

import pytest

from hcasim.study import replay
from hcasim.study.plots import FORMATS, draw, render

pytestmark = pytest.mark.usefixtures("simulated")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("figure", ["fig03", "fig05", "fig11"])
def test_the_same_figure_is_the_same_file(figure: str, form: str) -> None:
    found = replay(f"liu2004/{figure}", jobs=1)
    assert render(draw(found), form) == render(draw(found), form)


def test_the_size_axis_is_logarithmic_with_the_paper_s_labels() -> None:
    axes = replay("liu2004/fig06", jobs=1).plot().axes[0]
    assert axes.get_xscale() == "log"
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert labels == ["4", "16", "64", "256", "1K", "4K", "16K", "64K", "1M"]
    assert axes.get_xlabel() == "Message Size (Bytes)"


def test_published_values_are_marked_at_what_they_say() -> None:
    axes = replay("liu2004/fig03", jobs=1).plot().axes[0]
    marks = {
        container.get_label(): container.lines[0].get_xydata()[0].tolist()
        for container in axes.containers
    }
    assert marks == {
        "PCI-Express, published": [4.0, 3.8],
        "PCI-X, published": [4.0, 4.8],
    }


def test_a_what_if_is_not_put_beside_published_values() -> None:
    found = replay("liu2004/fig03", series=["pcie"], overrides={"adapter.bus.lanes": "1"}, jobs=1)
    assert not found.plot().axes[0].containers


def test_the_axis_reaches_as_far_as_the_paper_s_and_starts_at_zero() -> None:
    axes = replay("liu2004/fig04", jobs=1).plot().axes[0]
    assert axes.get_ylim() == (0.0, 60.0)


def test_atomics_are_bars_in_groups() -> None:
    axes = replay("liu2004/fig05", jobs=1).plot().axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["comp_swap", "fetch_add"]
    assert len(axes.patches) == 4
