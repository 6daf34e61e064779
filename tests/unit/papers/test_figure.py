"""Figures have the papers' axes, mark what was published, and are the same each time."""

import re
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.ground.quantities import title
from hcasim.papers.figure import NESTED, STAR
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.replay import replay
from hcasim.papers.scenario import Scenario
from hcasim.runs.drawing import FORMATS, render

pytestmark = pytest.mark.usefixtures("simulated")


def drawn(scenario: str | Scenario, **given: Any) -> Any:
    """The axes of a figure."""
    return replay(scenario, jobs=1, **given).plot().axes[0]


def with_axes(scenario: str, **changed: Any) -> Scenario:
    found = load_scenario(scenario)
    return found.model_copy(update={"axes": found.axes.model_copy(update=changed)})


def in_lines() -> Scenario:
    """A table, drawn as curves."""
    return with_axes("sur2005/table1", kind="lines")


def stars(axes: Any) -> dict[str, list[tuple[float, float]]]:
    """The places of published numbers, by their name in the legend."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in axes.containers:
        if one.get_label().endswith("published"):
            places = found.setdefault(one.get_label().removeprefix("_"), [])
            places.append(tuple(one.lines[0].get_xydata()[0].tolist()))
    return found


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("figure", "form"), [*zip(["fig03", "fig05", "fig11"], FORMATS, strict=True)]
)
def test_the_same_figure_is_the_same_file(figure: str, form: str) -> None:
    found = replay(f"liu2004/{figure}", jobs=1)
    assert render(found.plot(), form) == render(found.plot(), form)


POWERS = ["4", "16", "64", "256", "1K", "4K", "16K", "64K", "1M"]


@pytest.mark.parametrize(
    ("scenario", "scale", "ticks", "x", "y"),
    [
        ("liu2004/fig06", "log", POWERS, "Message Size (Bytes)", "Bandwidth (MB/s)"),
        ("sur2005/fig3c", "log", [str(2**n) for n in range(8)], "Number of QPs", "Memory (KiB)"),
        (
            "sur2005/table1",
            "linear",
            ["0", "25", "50", "75", "100"],
            "Buffer Reuse (%)",
            "Bandwidth (MB/s)",
        ),
    ],
)
def test_the_axes_are_those_of_the_paper(
    scenario: str, scale: str, ticks: list[str], x: str, y: str
) -> None:
    axes = drawn(with_axes(scenario, kind="lines"))
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ticks
    assert (axes.get_xscale(), axes.get_xlabel(), axes.get_ylabel()) == (scale, x, y)
    assert axes.get_title().startswith(f"{load_scenario(scenario).place}: ")


def test_each_axis_has_a_name_and_the_unit_of_what_is_drawn() -> None:
    for scenario in list_scenarios():
        found = load_scenario(scenario)
        if found.axes.field == "count":
            continue
        unit = re.fullmatch(r".+ (\(.+\))", found.axes.y)
        assert unit is not None
        assert title(found.axes.field).endswith(unit[1])
        named = "(" in found.options.axis.title
        assert ("(" in found.axes.x) == (found.options.axis.is_size or named) or (
            found.axes.kind == "bars"
        )


def test_the_axis_is_logarithmic_or_from_zero_as_far_as_the_paper_s() -> None:
    assert drawn("liu2004/fig04").get_ylim() == (0.0, 60.0)
    assert drawn("rashti2007/fig5").get_yscale() == "log"


def test_values_that_are_alike_do_not_lie_on_the_edge() -> None:
    axes = drawn(in_lines(), series=["mem"])
    (line,) = (one for one in axes.lines if one.get_label() == "Mem, simulated")
    assert axes.get_ylim()[1] >= 1.049 * max(line.get_ydata())


def test_published_values_are_marked_where_they_were_read_in_the_unit_of_the_axis() -> None:
    axes = drawn("liu2004/fig03")
    assert stars(axes) == {
        "PCI-Express, published": [(4.0, 3.8)],
        "PCI-X, published": [(4.0, 4.8)],
    }
    assert legend(axes) == [
        *("PCI-Express, simulated", "PCI-X, simulated"),
        *("PCI-Express, published", "PCI-X, published"),
    ]
    axes = drawn(in_lines(), series=["mem"])
    printed = {100: 926, 75: 925, 50: 927, 25: 926, 0: 922}
    read = [(at, pytest.approx(one * 2**20 / 1e6)) for at, one in printed.items()]
    assert stars(axes) == {"Mem, published": read}
    assert legend(axes) == ["Mem, simulated", "Mem, published"]


def test_a_limit_from_below_is_marked() -> None:
    found = replay("benjegerdes2004/fig01", series=["dell"], jobs=1)
    (mark,) = found.marks()
    assert (mark.series, mark.bound) == ("dell", ">")
    assert mark.low == pytest.approx(6e9 / 2**20)
    assert legend(found.plot().axes[0])[1] == "Dell 2650, 2.4 GHz, published"


def test_the_largest_of_a_curve_is_marked_where_it_is() -> None:
    found = replay("rashti2007/fig10", jobs=1)
    (mark,) = (one for one in found.marks() if one.low == 100.0)
    curve = found[mark.series]
    assert curve.at(mark.at)["overlap_percent"] == max(curve["overlap_percent"])


def test_a_star_that_would_hide_another_is_smaller_and_lies_on_it() -> None:
    axes = drawn(in_lines())
    found = [one.lines[0] for one in axes.containers]
    assert {one.get_xydata()[0][0] for one in found} == {0.0, 25.0, 50.0, 75.0, 100.0}
    sizes = {one.get_zorder(): one.get_markersize() for one in found}
    assert sizes == {3: STAR, 4: pytest.approx(STAR * NESTED)}
    alone = drawn("liu2004/fig03", series=["pcie"])
    assert alone.containers[0].lines[0].get_markersize() == STAR


def test_a_what_if_is_not_put_beside_published_values() -> None:
    assert not stars(drawn("liu2004/fig03", series=["pcie"], overrides={"adapter.bus.lanes": "1"}))


def test_bars_stand_in_groups_and_by_what_varies() -> None:
    axes = drawn("liu2004/fig05")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["comp_swap", "fetch_add"]
    assert len(axes.patches) == 4
    assert legend(axes) == ["PCI-X, simulated", "PCI-Express, simulated"]
    axes = drawn("liu2004/fig19")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2"]
    assert len(axes.patches) == 2 * len(load_scenario("liu2004/fig19").series)


@pytest.mark.usefixtures("edit")
def test_a_published_value_is_marked_on_its_bar() -> None:
    file = Path("scenarios/liu2004/fig05.toml")
    claim = """
[[claims]]
id = "MY-1"
section = "IV"
system = "ours"
statement = "time of an atomic"
quantity = "latency"
kind = "value"
published = 7.5
unit = "us"
relation = "="
measure = { series = "pcie_fetch_add", select = "smallest" }
"""
    file.write_text(file.read_text() + claim)
    axes = drawn("liu2004/fig05")
    ((at, height),) = stars(axes)["PCI-Express, published"]
    bar = next(one for one in axes.patches if one.get_x() < at < one.get_x() + one.get_width())
    assert (height, bar.get_x() + bar.get_width() / 2) == (7.5, pytest.approx(at))
    assert bar.get_facecolor() == axes.containers[-1].lines[0].get_color()


def test_frames_stand_side_by_side_with_scales_of_their_own() -> None:
    first, second = replay("sur2005/fig3b", jobs=1).plot().axes
    assert [axes.lines[0].get_xdata()[-1] for axes in (first, second)] == [4096, 65536]
    assert first.get_ylim()[1] != second.get_ylim()[1]
    frames = replay("sur2005/fig4", jobs=1).plot().axes
    groups = [[tick.get_text() for tick in axes.get_xticklabels()] for axes in frames]
    assert groups == [["IS", "MG"], ["LU", "CG"]]


def test_a_table_has_what_was_simulated_beside_what_was_published() -> None:
    (table,) = drawn("sur2005/table1").tables
    cells = {at: one.get_text().get_text() for at, one in table.get_celld().items()}
    head = [cells[0, column] for column in range(5)]
    own = [f"{name}\n{kind}" for name in ("MemFree", "Mem") for kind in ("simulated", "published")]
    assert head == [*own, "MemFree, 128 QPs\nsimulated"]
    assert [cells[row, -1] for row in range(1, 6)] == ["100", "75", "50", "25", "0"]
    assert (cells[1, 1], cells[5, 3]) == ("962.6", "966.8")


def test_what_the_authors_set_stands_below() -> None:
    def below(scenario: str) -> str:
        figure = replay(scenario, jobs=1).plot()
        return str(figure.get_supxlabel())

    assert below("liu2004/fig08").startswith("window 64, threshold 8K, iters 100, warmup 10")
    assert "host pcix bridge streaming set" in below("benjegerdes2004/fig05")
    assert below("sur2005/fig3a") == ""


@pytest.mark.usefixtures("edit")
@pytest.mark.parametrize(
    ("scenario", "frames", "fault"),
    [
        ("sur2005/fig4", [["IS", "MG"], ["LU", "CC"]], "found no group 'CC'"),
        ("sur2005/fig3b", [["1", "4K", "8K"]], "allowed: of curves the first and last x"),
        ("sur2005/fig3b", [["1", "many"]], "found 'many'"),
    ],
)
def test_frames_are_of_the_figure(scenario: str, frames: list[list[str]], fault: str) -> None:
    file = Path(f"scenarios/{scenario}.toml")
    text = re.sub(r"frames = .*", f"frames = {frames}", file.read_text())
    file.write_text(text)
    with pytest.raises(CatalogError) as caught:
        load_scenario(scenario)
    assert fault in str(caught.value)
