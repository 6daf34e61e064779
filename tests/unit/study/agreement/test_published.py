"""Curves come in many forms, and say all that is wrong with them."""

from pathlib import Path

import pandas as pd
import pytest

from hcasim.catalog import CatalogError
from hcasim.pytest.model import Disagreement, Model
from hcasim.runs.curve import Curve
from hcasim.study.agreement.published import Published, opened, read_published

ROWS = ({"size": 8, "latency_us": 3.8}, {"size": 1024, "latency_us": 6.5})
WRITE = ("write_lat", "size", ("latency_us",))
WINDOW = ("window_bw", "size", ("bandwidth_MBps", "rate_Mps"))


def values(published: object, quantity: str = "", unit: str = "") -> object:
    return read_published(published, *WRITE, quantity, unit).values


@pytest.mark.parametrize(
    "published",
    [
        {8: 3.8, 1024: 6.5},
        {"8": "3.8", "1K": 6.5},
        list(ROWS),
        Curve("mine", "Mine", ROWS),
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS).set_index("size"),
        pd.DataFrame([{**row, "rate_Mps": 1.0} for row in ROWS]),
    ],
)
def test_a_curve_is_read_from_what_people_have(published: object) -> None:
    assert values(published) == {8: 3.8, 1024: 6.5}


def test_a_range_keeps_both_ends() -> None:
    assert values({8: (3.7, 3.9), 16: [4, 5]}) == {8: (3.7, 3.9), 16: (4.0, 5.0)}


def test_numbers_may_be_in_another_unit() -> None:
    found = read_published({4096: 891.0}, *WINDOW, "bandwidth", "MiB/s")
    assert found == Published("bandwidth_MBps", "MiB/s", 1e6 / 2**20, {4096: 891.0})
    # One message after the other carries its bytes in a latency.
    assert read_published({8: 2.0}, *WRITE, "bandwidth", "").field == "bandwidth_MBps"


def test_a_file_of_csv_is_seen_from_the_folder_of_the_test(tmp_path: Path) -> None:
    (tmp_path / "lat.csv").write_bytes("\ufeffsize,latency_us\r\n8,3.8\r\n1K,6.5\r\n".encode())
    assert values(opened("lat.csv", tmp_path)) == {8: 3.8, 1024: 6.5}
    with pytest.raises(CatalogError, match=r"none\.csv: cannot be read: no such file"):
        opened("none.csv", tmp_path)
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogError, match=r"bad\.csv: found no CSV in UTF-8"):
        opened(tmp_path / "bad.csv", tmp_path)


@pytest.mark.parametrize(
    ("published", "quantity", "unit", "said"),
    [
        ({}, "", "", "published: found no point to compare"),
        ([], "", "", "published: found no rows"),
        ({8: 0}, "", "", "size 8: found 0; allowed: a positive number"),
        ({8: True}, "", "", "size 8: found True"),
        ({8: float("inf")}, "", "", "size 8: found inf"),
        ({8: (4, 3)}, "", "", r"size 8: found \(4, 3\)"),
        ({8: (3,)}, "", "", r"size 8: found \(3,\)"),
        ({8: "x", "y": 1}, "", "", "size 8: found 'x'(.|\n)*size: found 'y'"),
        ({8: 1.0, "8": 2.0}, "", "", "found size 8 twice"),
        ([{"bytes": 8, "us": 3}], "", "", "found the columns bytes or us; size is missing"),
        ([{"size": 8, "us": 3}], "", "", "the table has none of latency_us"),
        ([{"size": 8, "us": 3}], "latency", "", "size or us; latency_us is missing"),
        ({8: 1.0}, "latencies", "", "write_lat has latency or bandwidth; did you mean 'latency'"),
        ({8: 1.0}, "", "uss", "allowed: us or ns; did you mean 'us'"),
        (3.8, "", "", "published: found 3.8; allowed: numbers by the x axis"),
    ],
)
def test_all_that_is_wrong_is_said(published: object, quantity: str, unit: str, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        values(published, quantity, unit)


def test_of_several_quantities_one_has_to_be_named() -> None:
    with pytest.raises(CatalogError, match="quantity: missing; window_bw has bandwidth or rate"):
        read_published({8: 1.0}, *WINDOW, "", "")


def test_a_curve_that_was_not_simulated_at_a_point_is_refused(tmp_path: Path) -> None:
    model = Model(tmp_path)
    settings = {"workload": "write_lat", "testbed": "mine", "adapter": "card"}
    found = Curve("mine", "Mine", ROWS, settings)
    assert not model.agrees(found, {8: 3.8}).missed
    with pytest.raises(CatalogError, match="published: has size 16, which was not simulated"):
        model.agrees(found, {8: 3.8, 16: 4.0})
    with pytest.raises(CatalogError, match="found: has size 8 twice; allowed: one curve"):
        model.agrees(Curve("mine", "Mine", (ROWS[0], ROWS[0]), settings), {8: 3.8})
    with pytest.raises(Disagreement):
        model.agrees(found, {8: 3.8, "1K": 8.0})


def test_what_means_nothing_beside_a_trace_is_refused(tmp_path: Path) -> None:
    model = Model(tmp_path)
    with pytest.raises(CatalogError, match=r"qps: found beside a trace(.|\n)*workload: missing"):
        model.holds({8: 3.8}, "liu2004", qps=4)
    with pytest.raises(CatalogError, match=r"over: found 'sizes'"):
        model.holds({8: 3.8}, "liu2004", "write_lat", over="sizes")


def test_descriptions_are_seen_from_the_folder_of_the_test(tmp_path: Path) -> None:
    text = 'id = "mine"\ntitle = "Mine"\nbased_on = "mt25208"\n'
    (tmp_path / "mine.toml").write_text(text)
    found = Model(tmp_path).bench("write_lat", "liu2004", adapter="./mine.toml", size=8)
    assert found.machine.adapter.id == "mine"
