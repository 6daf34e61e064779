"""Figures have the papers' axes, mark what was published, and are the same each time."""

import itertools
import math
import re

import pytest

from hcasim.ground.quantities import title
from hcasim.papers.figure import STAR
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.replay import replay
from hcasim.runs.drawing import FORMATS, render

pytestmark = pytest.mark.usefixtures("simulated")


@pytest.mark.parametrize(
    ("figure", "form"), [*zip(["fig03", "fig05", "fig11"], FORMATS, strict=True)]
)
def test_the_same_figure_is_the_same_file(figure: str, form: str) -> None:
    found = replay(f"liu2004/{figure}", jobs=1)
    assert render(found.plot(), form) == render(found.plot(), form)


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


def test_stars_that_would_hide_each_other_stand_side_by_side() -> None:
    figure = replay("sur2005/table1", jobs=1).plot()
    figure.canvas.draw()
    stars = [container.lines[0] for container in figure.axes[0].containers]
    assert len(stars) == 10
    drawn = [
        tuple(star.get_transform().transform(star.get_xydata())[0] * 72 / figure.dpi)
        for star in stars
    ]
    apart = [math.dist(one, two) for one, two in itertools.combinations(drawn, 2)]
    assert min(apart) >= 0.99 * STAR
    # Where nothing is near, a star stands where it belongs.
    alone = replay("liu2004/fig03", series=["pcie"], jobs=1).plot()
    (star,) = [container.lines[0] for container in alone.axes[0].containers]
    place = alone.axes[0].transData.transform([(4, 3.8)])[0]
    assert star.get_transform().transform(star.get_xydata())[0] == pytest.approx(place)


def test_a_limit_from_below_is_marked_in_the_unit_of_the_axis() -> None:
    found = replay("benjegerdes2004/fig01", series=["dell"], jobs=1)
    (mark,) = found.marks()
    assert (mark.series, mark.bound) == ("dell", ">")
    assert mark.low == pytest.approx(6e9 / 2**20)
    labels = [text.get_text() for text in found.plot().axes[0].get_legend().get_texts()]
    assert labels == ["Dell 2650, 2.4 GHz", "Dell 2650, 2.4 GHz, published"]


def test_ten_percent_of_a_scatter_can_be_seen() -> None:
    axes = replay("sur2005/fig3b", jobs=1).plot().axes[0]
    assert axes.get_yscale() == "log"


def test_each_y_axis_has_a_name_and_the_unit_of_what_is_drawn() -> None:
    for scenario in list_scenarios():
        axes = load_scenario(scenario).axes
        found = re.fullmatch(r".+ (\(.+\))", axes.y)
        assert found is not None
        assert title(axes.field).endswith(found[1])


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


def test_queue_pairs_are_a_logarithmic_axis_with_each_number() -> None:
    axes = replay("sur2005/fig3c", jobs=1).plot().axes[0]
    assert axes.get_xscale() == "log"
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert labels == ["1", "2", "4", "8", "16", "32", "64", "128"]
    assert axes.get_ylabel() == "Memory (KiB)"


def test_reuse_is_a_linear_axis_and_a_table_is_titled_as_one() -> None:
    axes = replay("sur2005/table1", jobs=1).plot().axes[0]
    assert axes.get_xscale() == "linear"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "25", "50", "75", "100"]
    assert axes.get_title().startswith("sur2005, Table 1: ")


def test_published_values_are_marked_where_they_were_read_and_in_the_unit_of_the_axis() -> None:
    axes = replay("sur2005/table1", series=["mem"], jobs=1).plot().axes[0]
    marks = [tuple(container.lines[0].get_xydata()[0]) for container in axes.containers]
    printed = {100: 926, 75: 925, 50: 927, 25: 926, 0: 922}
    assert marks == [(at, pytest.approx(one * 2**20 / 1e6)) for at, one in printed.items()]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Mem", "Mem, published"]


def test_values_that_are_alike_do_not_lie_on_the_edge() -> None:
    axes = replay("sur2005/table1", series=["mem"], jobs=1).plot().axes[0]
    (line,) = (one for one in axes.lines if one.get_label() == "Mem")
    assert axes.get_ylim()[1] >= 1.049 * max(line.get_ydata())
