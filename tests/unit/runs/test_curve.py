"""Results are arrays, tables and something to look at in a notebook."""

import json
from collections.abc import Callable

import numpy as np
import pytest

import hcasim as hc
from hcasim.runs.curve import Curve

Make = Callable[[str, dict[int, float]], Curve]


def test_a_curve_gives_arrays_over_the_size(curve: Make) -> None:
    one = curve("one", {4: 1.5, 8: 2.5})
    assert one.fields == ("latency_us",)
    assert one.x.dtype == np.int64
    assert one.x.tolist() == [4, 8]
    assert one.latency_us.tolist() == [1.5, 2.5]
    assert one["latency_us"].dtype == np.float64
    with pytest.raises(KeyError):
        _ = one.bandwidth_MBps


def test_a_curve_becomes_a_table(curve: Make) -> None:
    frame = curve("one", {4: 1.5, 8: 2.5}).to_pandas()
    assert list(frame.columns) == ["series", "size", "qps", "latency_us"]
    assert frame["latency_us"].tolist() == [1.5, 2.5]


def test_a_curve_says_how_it_was_measured_and_is_drawn() -> None:
    found = hc.bench("write_lat", "liu2004", size=[8, 64], iters=10, jobs=1).curve
    told = json.loads(found.to_json())
    assert (told["workload"], told["rows"]) == (found.settings["workload"], [*found.rows])
    (axes,) = found.plot().axes
    assert [*axes.lines[0].get_ydata()] == [*found[found.fields[0]]]


def test_without_pandas_the_message_says_what_to_install(
    curve: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install 'hcasim\\[tables\\]'"):
        curve("one", {4: 1.5}).to_pandas()


def test_a_notebook_shows_a_table_over_what_varies_with_escaped_labels() -> None:
    rows = ({"size": 8, "qps": 1, "latency_us": 4.0}, {"size": 8, "qps": 128, "latency_us": 7.234})
    one = Curve("one", "<one>", rows, axis="qps")
    assert one.x.tolist() == [1, 128]
    html = one._repr_html_()
    assert "<th>QPs</th><th>&lt;one&gt;</th>" in html
    assert "<th>128</th><td>7.23</td>" in html


def test_details_of_a_row_are_fields_too() -> None:
    rows = ({"size": 8, "qps": 1, "reuse": 0, "total_KiB": 9.0, "process_KiB": 8.0},)
    assert Curve("one", "one", rows).fields == ("total_KiB", "process_KiB")
