"""Bands of both sides of a comparison, and whether what they differ by is beyond them."""

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.study.comparison.compare import Comparison
from hcasim.study.comparison.sides import Side

SMALL = {"size": "8,1K", "jobs": 1}


def test_equal_machines_have_the_bands_of_a_sweep_and_a_ratio_of_one_in_every_sample() -> None:
    found = hc.compare("liu2004", "liu2004", "write_lat", uncertainty=6, **SMALL)
    alone = hc.sweep("write_lat", testbed="liu2004", uncertainty=6, **SMALL)
    names = ("latency_us", "latency_p5_us", "latency_p95_us")
    assert [[row[name] for name in names] for row in found.a.rows] == [
        [row[name] for name in names] for row in alone.rows
    ]
    assert found.drawn == alone.drawn
    for one in found.pairs:
        assert one.bands == {"latency_us": (1, 1)}
        assert one.beyond["latency_us"] is False
        assert one.a["latency_p5_us"] < one.a["latency_us"] < one.a["latency_p95_us"]


def test_what_both_have_alike_is_no_reason_to_doubt_a_difference() -> None:
    """Both bands overlap, as both share what is unknown; the ratio is never near 1."""
    found = hc.compare(
        "liu2004",
        "liu2004",
        "write_lat",
        with_b={"link.cable_length": "60 m"},
        uncertainty=8,
        **SMALL,
    )
    one = found.pairs[0]
    low, high = one.bands["latency_us"]
    assert 1 < low <= one.ratio["latency_us"] <= high
    assert one.beyond["latency_us"] is True
    assert one.a["latency_p95_us"] > one.b["latency_p5_us"]
    document = found.to_dict()["points"][0]
    assert document["beyond"] == {"latency_us": True}
    assert document["bands"] == {"latency_us": [low, high]}
    row = found.rows[0]
    assert (row["latency_p5_us_ratio"], row["latency_us_beyond"]) == (low, True)


@pytest.mark.parametrize(
    ("a", "b", "beyond"),
    [((1, 2), (3, 4), True), ((3, 4), (1, 2), True), ((1, 3), (2, 4), False)],
)
def test_bands_without_common_samples_have_to_lie_apart(
    a: tuple[int, int], b: tuple[int, int], beyond: bool
) -> None:
    rows = [
        {"size": 8, "latency_us": x, "latency_p5_us": x, "latency_p95_us": y} for x, y in (a, b)
    ]
    ours, theirs = (Side(None, "write_lat", (row,)) for row in rows)
    assert Comparison(ours, theirs).pairs[0].beyond == {"latency_us": beyond}
    alone = Side(None, "write_lat", ({"size": 8, "latency_us": 1},))
    assert Comparison(ours, alone).pairs[0].beyond == {}


@pytest.mark.parametrize(
    ("a", "workload", "samples", "fault"),
    [
        ("liu2004", None, 5, "uncertainty: found without two testbeds and a workload"),
        ("liu2004", "write_lat", 1, "uncertainty: found 1; allowed: 2 to"),
        ("liu2004", "write_lat", True, "uncertainty: found True"),
        (hc.machine("liu2004"), "write_lat", 4, "found with a machine of Python"),
    ],
)
def test_bands_of_nothing_are_refused(
    a: object, workload: str | None, samples: int, fault: str
) -> None:
    with pytest.raises(CatalogError, match=fault):
        hc.compare(a, "liu2004", workload, uncertainty=samples)
