"""A benchmark is drawn over what varies, NetPIPE's also as its signature graph."""

import numpy as np
import pytest

from hcasim.runs.benchmark import bench
from hcasim.runs.drawing import new_figure, plain, render

pytestmark = pytest.mark.usefixtures("simulated")


def test_netpipe_is_drawn_over_size_and_over_time() -> None:
    found = bench("netpipe", "liu2004")
    over_size, over_time = found.plot().axes
    assert over_size.get_ylabel() == "Throughput (2^20 bit/s)"
    assert over_size.get_xlabel() == "Message Size (Bytes)"
    assert (over_size.get_xscale(), over_time.get_xscale()) == ("log", "log")
    assert over_time.get_xlabel() == "Time (us)"
    for axes, field in ((over_size, "size"), (over_time, "latency_us")):
        (line,) = axes.lines
        order = np.argsort(found.curve[field], kind="stable")
        assert line.get_xdata() == pytest.approx(found.curve[field][order], rel=1e-12)
        assert line.get_ydata() == pytest.approx(found.curve["throughput_Mbps"][order], rel=1e-12)


def test_any_other_benchmark_is_drawn_over_what_varies_with_a_line_for_what_else_does() -> None:
    (axes,) = bench("window_bw", "sur2005", size="4K,64K,1M", qps="1,128").plot().axes
    assert axes.get_ylabel() == "Bandwidth (MB/s)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["QPs 1", "QPs 128"]
    assert all(list(line.get_xdata()) == [2**12, 2**16, 2**20] for line in axes.lines)
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert labels == ["4K", "64K", "1M"]


def test_a_message_of_0_bytes_has_a_place_on_the_axis() -> None:
    (axes,) = bench("osu_latency", "liu2004", size="0,1,4,16,64").plot().axes
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert labels == ["0", "1", "4", "16", "64"]
    places = axes.transAxes.inverted().transform(axes.transData.transform([(0, 0), (1, 0)]))[:, 0]
    assert 0 <= places[0] < places[1] <= 1


def test_the_x_axis_is_what_varies() -> None:
    (axes,) = bench("window_bw", "sur2005", reuse="100,50,0").plot().axes
    assert axes.get_xlabel() == "Reuse (%)"


@pytest.mark.parametrize("workload", ["write_lat", "netpipe", "host_memory", "reg_mr"])
def test_one_point_can_be_drawn(workload: str) -> None:
    sized = {} if workload == "host_memory" else {"size": 8}
    found = bench(workload, "sur2005", **sized)
    assert all(len(axes.lines) == 1 for axes in found.plot().axes)


def test_words_of_files_are_no_formula_and_steer_nothing() -> None:
    figure = new_figure()
    text = r"$\frac$ \$1 $ \x1b[31m"
    axes = figure.add_subplot()
    axes.set_title(plain("$\\frac$ \\$1 $ \x1b[31m"))
    render(figure, "png")
    assert axes.title._preprocess_math(axes.title.get_text()) == (text, False)
