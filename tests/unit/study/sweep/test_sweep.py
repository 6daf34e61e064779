"""Sweeps: what is written becomes points, and these one table, wherever they are simulated."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hcasim.workloads
from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.runs.benchmark import bench
from hcasim.study.sweep.expression import ExpressionError, read_expression
from hcasim.study.sweep.plan import read_plan
from hcasim.study.sweep.sweep import sweep
from hcasim.study.sweep.values import Times, several
from hcasim.workloads import Options, Result
from hcasim.workloads.options import OPTIONS
from tests.unit.conftest import formula

BED = "liu2004"
LATENCY = "host.memory.read_latency"


def faults(call: Callable[..., Any], *words: Any, **named: Any) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        call(*words, **named)
    return caught.value.faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4,8,4", ["4", "8"]),
        ("4..20", [4, 8, 16, 20]),
        ("0..10+5", [0, 5, 10]),
        ("1..1000*10", [1, 10, 100, 1000]),
        ("1..3*1.5", [1, 1.5, 2.25]),
        ("1..2/3", [1, 1.5, 2]),
        ("100 ns..250 ns+100 ns", ["100 ns", "200 ns"]),
        ("100 ns..200 ns/4", ["100 ns", "133.333 ns", "166.667 ns", "200 ns"]),
        ("100..200/2 ns", None),
        ("100..200 ns", ["100 ns", "200 ns"]),
        ("x0.5, x1", [Times(one) for one in (0.5, 1)]),
        (["a,b", "c"], ["a,b", "c"]),
        ((1, True), [1, True]),
        (range(3), [0, 1, 2]),
        (7, [7]),
    ],
)
def test_values_are_read_as_they_are_written(text: Any, expected: list[Any] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="found the range"):
            several(text, None)
    else:
        assert several(text, None) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "4,,8", "8..4", "0..8", "1..8*1", "1..8+0", "1..2/1", "1 ns..2 us", "..", "1.."),
        *("1..2*1.000001", f"1..{'9' * 5000}", f"1..2*1.{'0' * 300}1"),
        [],
        [[1]],
    ],
)
def test_values_that_mean_nothing_are_refused(text: Any) -> None:
    with pytest.raises(ValueError, match=r"^found .*(allowed|below)"):
        several(text, None)


@given(st.integers(1, 2**20), st.integers(1, 2**20))
def test_sizes_range_as_those_of_a_benchmark_do(one: int, other: int) -> None:
    text = f"{min(one, other)}..{max(one, other)}"
    assert several(text, OPTIONS["size"]) == list(OPTIONS["size"].read(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64 * qps", 256),
        ("qps / 8", 0.5),
        ("2 * us", 2_000_000),
        ("4 * KiB if qps > 2 else 1", 4096),
        ("1 < qps <= 4 and not qps == 3", True),
        ("max(qps, adapter.bus.lanes)", 8),
        ("log2(qps) ** 2", 4),
        ("-qps // 3", -2),
    ],
)
def test_expressions_are_worked_out(text: str, expected: Any) -> None:
    found = read_expression(text).value({"qps": 4, "adapter.bus.lanes": 8})
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1 +", "qps.__class__()", "__import__('os')", "[1]", "lambda: 1", "f'{qps}'"),
        "qps[0]",
        *("1" * 2000, "(" * 500 + ")" * 500, "max(a=1)", "1 if qps", "qps := 3", "b''", "1 in 2"),
        "x" + "()" * 400,
    ],
)
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="found"):
        read_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        *("1 / 0", "9 ** 9 ** 9", "sqrt(0 - 1)", "'a' * 9", "log2(0)", "(-1) ** 0.5"),
        *("round(1, -1000000000)", "round(1, 31)", "-" * 900 + "1"),
    ],
)
def test_what_has_no_value_is_said(text: str) -> None:
    with pytest.raises(ExpressionError, match="found"):
        read_expression(text).value({})


@given(st.text(max_size=40))
def test_no_text_gets_by_as_an_expression_with_another_exception(text: str) -> None:
    try:
        read_expression(text)
    except ExpressionError:
        return


def test_each_value_is_taken_with_each_other_and_what_is_zipped_in_step() -> None:
    plan = read_plan({"size": [1, 2], "qps": [1, 4], "window": [8, 16]}, [("qps", "window")])
    found = [tuple(one.values()) for one in plan.combinations()]
    assert found == [(1, 1, 8), (1, 4, 16), (2, 1, 8), (2, 4, 16)]
    assert plan.size == len(found)
    again = read_plan(
        {"mode": ["single", "binding", "striping"], "ports": [1, 2, 2]}, [("mode", "ports")]
    )
    assert [one["ports"] for one in again.combinations()] == [1, 2, 2]
    assert read_plan({"region": "1M..4M"}).settings["region"] == [1 << 20, 2 << 20, 4 << 20]


def test_a_sweep_has_the_numbers_of_the_benchmark_and_a_column_for_every_setting() -> None:
    asked = {"size": [8, 64], "overrides": {LATENCY: "x1,x2"}}
    found = sweep("write_lat", BED, jobs=1, cache=False, **asked)
    assert found.axes == ("size", f"{LATENCY}_ns")
    for row in found.rows:
        ns = row[f"{LATENCY}_ns"]
        own = bench("write_lat", BED, size=row["size"], overrides={LATENCY: f"{ns} ns"}, jobs=1)
        assert row["latency_us"] == own.curve.rows[0]["latency_us"]
        assert own.curve.settings.items() <= row.items()
    assert [row[f"{LATENCY}_ns"] for row in found.rows] == [450, 900, 450, 900]


def test_tables_say_the_same_in_every_form() -> None:
    found = sweep("write_lat", [BED, "sur2005"], size="8,64", jobs=1, cache=False)
    table = found.to_pandas()
    assert list(table["testbed"]) == [BED, BED, "sur2005", "sur2005"]
    pd.testing.assert_frame_equal(pd.read_parquet(BytesIO(found.to_parquet())), table)
    assert [json.loads(line) for line in found.to_jsonl().splitlines()] == list(found.rows)
    assert found.to_dict()["rows"] == list(found.rows)
    array = found.to_xarray()
    assert dict(array.sizes) == {"testbed": 2, "size": 2}
    assert float(array.latency_us.sel(testbed=BED, size=64)) == found.rows[1]["latency_us"]
    assert "<table>" in found._repr_html_()


def test_a_setting_may_follow_from_others_and_leave_combinations_out() -> None:
    found = sweep(
        "write_bw",
        BED,
        size=4096,
        qps="1..4",
        let={"tx_depth": "32 * qps", "adapter.bus.lanes": "8 if qps > 1 else 4"},
        where="tx_depth < 128",
        jobs=1,
        cache=False,
    )
    seen = [(row["qps"], row["tx_depth"], row["adapter.bus.lanes"]) for row in found.rows]
    assert seen == [(1, 32, 4), (2, 64, 8)]


def test_all_that_is_wrong_is_said_at_once_and_of_how_many() -> None:
    told = faults(
        sweep,
        ["write_lat", "write_lt"],
        BED,
        sise=8,
        size="8..4",
        let={"qps": "1 +", "windw": "1"},
        zipped=[("size",)],
        where="quips < 3",
    )
    for words in ("'sise'", "did you mean 'size'", "8..4", "let qps", "windw", "zip size", "quips"):
        assert any(words in one for one in told), words
    (some,) = faults(sweep, ["write_lat", "write_lt"], BED, size=8)
    assert some.startswith("workload: found 'write_lt'")
    assert some.endswith("(1 of 2 combinations, the first with workload=write_lt)")
    (path,) = faults(sweep, "write_lat", BED, overrides={"adapter.bus.lane": [4, 8]})
    assert "did you mean 'adapter.bus.lanes'?" in path
    (none,) = faults(sweep, "write_lat", BED, size=[8, 16], where="size > 16")
    assert none == "where: no combination of 2 fulfils it"
    lanes = {"adapter.bus.lanes": ["--5", "x"]}
    for fault in faults(sweep, "write_lat", BED, overrides=lanes, where="adapter.bus.lanes > 4"):
        assert "has no value" in fault


def test_no_more_is_looked_at_when_so_much_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcasim.study.sweep.plan._ENOUGH", 21)
    told = faults(sweep, "write_lat", BED, overrides={"adapter.bus.lanes": "100..199+1"})
    assert told[0].endswith("(1 of 100 combinations, the first with adapter.bus.lanes=100)")
    assert told[20:] == ["... and 1 or more faults"]
    (told_first,) = faults(sweep, "write_lat", BED, size="1..1000+1", qps="1..1000+1")
    assert told_first.startswith("found 1000000 combinations")


def test_a_machine_of_python_may_be_swept_beside_an_id() -> None:
    machine = resolve(BED, overrides={"adapter.bus.lanes": 4})
    found = sweep("write_lat", [BED, machine], size=8, jobs=1, cache=False)
    first, second = (row["latency_us"] for row in found.rows)
    assert first < second


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Sizes that were simulated, by a formula in place of the simulator; the third is stopped."""
    sizes: list[int] = []

    def run(workload: str, machine: Machine, options: Options, listen: object = None) -> Result:
        if len(sizes) == 2:
            sizes.append(0)
            raise KeyboardInterrupt
        sizes.append(options.size)
        return formula(workload, machine, options)

    monkeypatch.setattr(hcasim.workloads, "run_point", run)
    monkeypatch.setenv("HCASIM_CACHE", str(tmp_path))
    return sizes


@pytest.mark.pure
def test_a_sweep_that_was_stopped_goes_on_without_repeating_a_point(counted: list[int]) -> None:
    sizes = [8, 16, 32, 64]
    with pytest.raises(KeyboardInterrupt):
        sweep("write_lat", BED, size=sizes, jobs=1)
    done = [one for one in counted if one]
    found = sweep("write_lat", BED, size=sizes, jobs=1)
    assert sorted(one for one in counted if one) == sizes
    assert len(done) == 2
    assert [row["size"] for row in found.rows] == sizes


def test_a_refused_point_has_a_row_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from hcasim.runs.point import Point

    def run(self: Point, *words: object) -> Result:
        if self.options.size == 64:
            raise CatalogError(["write_lat: the adapter refuses it: no room"])
        return Result({"size": self.options.size, "latency_us": 1.0})

    monkeypatch.setattr(Point, "run", run)
    found = sweep("write_lat", BED, size=[8, 64], jobs=1, cache=False)
    assert found.refused == 1
    assert found.rows[1]["error"] == "write_lat: the adapter refuses it: no room"
    assert "latency_us" not in found.rows[1]


def test_a_figure_has_a_panel_for_each_value_and_all_points() -> None:
    sizes, lanes, latencies = [8, 16, 32], [4, 8], ["x1", "x2"]
    overrides = {"adapter.bus.lanes": lanes, LATENCY: latencies}
    found = sweep("write_lat", BED, size=sizes, overrides=overrides, jobs=1)
    figure = found.plot(rows="adapter.bus.lanes")
    assert figure.get_supxlabel() == "Message Size (Bytes)"
    assert found.plot(x=f"{LATENCY}_ns").get_supxlabel() == f"{LATENCY} (ns)"
    drawn = [[line.get_ydata() for line in panel.get_lines()] for panel in figure.axes]
    expected = [
        [row["latency_us"] for row in found.rows if row["adapter.bus.lanes"] == lane]
        for lane in lanes
    ]
    assert [sorted(y for line in panel for y in line) for panel in drawn] == [
        sorted(own) for own in expected
    ]
    assert [len(panel) for panel in drawn] == [2, 2]


def test_what_cannot_be_drawn_is_said_at_once() -> None:
    found = sweep("write_lat", BED, size=[8, 16], jobs=1)
    told = faults(found.plot, x="sise", y="latency")
    assert "did you mean 'size'?" in told[0]
    assert "allowed: latency_us" in told[1]
    assert faults(found.plot, x="size", rows="size")
    alone = sweep("write_lat", BED, size=8, jobs=1)
    assert "nothing varies" in faults(alone.plot)[0]
