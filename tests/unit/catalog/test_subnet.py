"""What the manager of a subnet sets up: what is read, and what is refused."""

from typing import Any

import pytest

from hcasim.catalog import CatalogError, resolve
from hcasim.catalog.subnet import Qos, Share


def test_lanes_and_tables_are_read() -> None:
    qos = Qos(max_vls=4, sl2vl="0,1,0", vlarb_high="1:64, 2:0", high_limit=3)
    assert qos.lanes == (0, 1, 0, *(level % 4 for level in range(3, 16)))
    assert qos.high == (Share(1, 64), Share(2, 0))
    assert qos.low == (Share(0, 64), Share(2, 64), Share(3, 64))


def test_a_testbed_has_one_lane_and_no_congestion_control() -> None:
    on = resolve("fat-tree-64")
    assert (on.qos, on.congestion_control) == (None, None)
    assert not on.loses
    both = resolve("cloud-hdr", switch="quantum-congestion-control")
    assert both.congestion_control is not None
    assert both.loses


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"qos.max_vls": 3}, "max_vls: found 3; allowed: 1, 2, 4, 8 or 15"),
        (
            {"qos.max_vls": 2, "qos.sl2vl": "0,3"},
            "lane 3 for service level 1; allowed: up to lane 1",
        ),
        ({"qos.max_vls": 2, "qos.sl2vl": "0,15"}, "'0,15'; allowed: up to 16 lanes of 0 to 14"),
        ({"qos.max_vls": 2, "qos.vlarb_low": "0:256"}, "weight 256; allowed: weights of 0 to 255"),
        ({"qos.max_vls": 2, "qos.vlarb_low": "15:1"}, "lane 15; allowed: lanes 0 to 14"),
        ({"qos.max_vls": 2, "qos.vlarb_high": "2:1"}, "table with lane 2; allowed: up to lane 1"),
        ({"qos.max_vls": 2, "qos.vlarb_low": "0:1,1:0"}, "lane 1 in no arbitration table"),
        ({"qos.max_vls": 2, "qos.vlarb_low": "0"}, "'0'; allowed: lanes and weights such as"),
        (
            {"qos.max_vls": 15},
            "switch.buffer: found 16 KiB; allowed: from 32640 B, to hold a packet",
        ),
        ({"congestion_control.threshold": 16}, "found 16; allowed: whole numbers from 0 to 15"),
        ({"congestion_control.cct": "4:1"}, "'4:1'; allowed: up to 128 of shift, 0 to 3"),
        ({"congestion_control.ccti_min": 9}, "ccti_min 9; allowed: up to 1, the last place of cct"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], words: str) -> None:
    usual: dict[str, Any] = {}
    if any(path.startswith("congestion") for path in settings):
        usual = {
            "threshold": 15,
            "marking_rate": 10,
            "packet_size": "512 B",
            "victim_mask": "none",
            "ccti_increase": 1,
            "ccti_timer": 100,
            "ccti_min": 0,
            "cct": "0:0,0:1",
        }
    given = {f"congestion_control.{name}": value for name, value in usual.items()} | settings
    paths = {f"switch.{path}": value for path, value in given.items()}
    with pytest.raises(CatalogError) as error:
        resolve("fat-tree-64", overrides=paths)
    assert words in str(error.value)


def test_links_of_ethernet_have_no_lanes() -> None:
    with pytest.raises(CatalogError, match="found links of Ethernet; allowed: links of InfiniBand"):
        resolve("roce-100g", switch="spectrum", overrides={"switch.qos.max_vls": 2})
