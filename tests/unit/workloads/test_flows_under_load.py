"""Flows over networks that lose, mark, pause and reorder packets say so, and count what arrives."""

from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.runs.benchmark import bench
from tests.patterns import flows_of
from tests.unit.runs.test_options import faults_of

LOADED = (
    *("amplification_times", "retransmissions_count", "discards_count", "marks_count"),
    *("pauses_count", "paused_us", "largest_queue_KiB"),
)


def test_a_network_under_load_says_what_it_discarded_marked_and_carried_again() -> None:
    usual = {"size": 2**18, "nodes": 3, "cache": False}
    quiet, _ = flows_of("incast", "ideal-100g-4mb", **usual)
    # Data in packets of 1 KiB with 82 B around each, of which each is acknowledged.
    assert quiet["amplification_times"] == pytest.approx(1 + (82 + 84) / 1024, rel=0.005)
    assert [quiet[name] for name in LOADED[1:-1]] == [0, 0, 0, 0, 0]
    # Half of what two send waits for the other half, in frames of 1082 B.
    assert quiet["largest_queue_KiB"] == pytest.approx(256 * 1082 / 1024, rel=0.02)
    small = {"switch.memory.size": "96 KiB", "switch.memory.reserve": "0 B"}
    lossy = {"adapter": "connectx6", "switch": "spectrum-tail-drop", "overrides": small}
    found = bench("incast", "ideal-100g", **usual, **lossy)
    row, counts = found.rows[0], found.counters
    assert row["discards_count"] == counts["switch_discards"] > 0
    assert row["retransmissions_count"] == counts["retransmissions"] > 0
    # What was discarded was sent once more at least.
    least = (2 * 256 + row["discards_count"]) * (1024 + 82) / (2 * 256 * 1024)
    assert least < row["amplification_times"] < 2 * least
    assert not {*LOADED} & flows_of("incast", **usual)[0].keys()


@pytest.mark.parametrize("routing", ["spray", "destination"])
def test_a_network_that_changes_the_order_of_packets_says_so(routing: str) -> None:
    given: dict[str, Any] = {"nodes": 8, "size": 8192, "adapter": "bluefield-3-selective"}
    how = {"switch.routing": routing}
    found = bench("permutation", "ideal-fat-tree", overrides=how, cache=False, **given)
    count = found.counters["out_of_sequence"]
    told = f": {count} packets came out of order; retransmissions: "
    assert any(told in note for note in found.notes) == (routing == "spray")
    assert (count > 0) == (routing == "spray")


def test_a_network_that_pauses_says_how_often_and_for_how_long() -> None:
    small = {"switch.memory.size": "1 MiB"}
    usual = {"size": 2**18, "nodes": 3, "cache": False}
    row = bench("incast", "ideal-100g-4mb", overrides=small, **usual).rows[0]
    assert row["pauses_count"] > 2
    # Each sender stands still for half of the time, but for what the memory takes of its data.
    assert 0.5 < row["paused_us"] / row["completion_max_us"] < 1
    assert row["largest_queue_KiB"] < 300


def test_no_more_nodes_send_than_there_are() -> None:
    assert faults_of("permutation", nodes=4, senders=5) == [
        "senders: found 5; allowed: up to 4, or 0"
    ]


@pytest.mark.parametrize(("connection", "verb"), [("UC", "write"), ("UC", "send"), ("UD", "send")])
def test_of_what_nobody_acknowledges_that_counts_which_arrives(connection: str, verb: str) -> None:
    # The 4 MB of the switch hold all that four nodes send.
    given: dict[str, Any] = {"connection": connection, "verb": verb, "size": 1024, "iters": 64}
    goodput = 12_500 * 1024 / (1024 + 82)
    row, _ = flows_of("incast", "ideal-100g-4mb", nodes=5, **given)
    # The last comes to the node when all have gone over its link, and a little later.
    assert 0.8 * goodput < row["bandwidth_MBps"] < goodput
    if verb == "write":
        given = {"connection": "UC", "size": "64K", "iters": 8}
        row = bench("write_bw", "ideal-100g-4mb", clients=3, cache=False, **given).rows[0]
        assert 0.8 * goodput < row["bandwidth_MBps"] < 1.01 * goodput


def test_messages_that_lost_a_packet_for_good_count_for_nothing() -> None:
    small = {"switch.memory.size": "96 KiB", "switch.memory.reserve": "0 B"}
    lossy = {"adapter": "connectx6", "switch": "spectrum-tail-drop", "overrides": small}
    usual: dict[str, Any] = {"size": "256K", "connection": "UC", "iters": 4, "cache": False}
    found = bench("write_bw", "ideal-100g", jobs=1, **usual, **lossy)
    assert any("is lost counts as sent" in note for note in found.notes) == (
        found.counters["switch_discards"] > 0
    )
    with pytest.raises(CatalogError) as caught:
        bench("write_bw", "ideal-100g", clients=3, jobs=1, **usual, **lossy)
    nothing, why = caught.value.faults
    assert "bandwidth_MBps: found 0; allowed: more than 0" in nothing
    assert "switches discarded" in why


@pytest.mark.parametrize("connection", ["UC", "UD"])
def test_flows_over_unreliable_services_end_when_they_have_left(connection: str) -> None:
    row, _ = flows_of("incast", size=1000, nodes=3, verb="send", connection=connection)
    assert (
        row["completion_max_us"]
        < 1
        < flows_of("incast", size=1000, nodes=3)[0]["completion_max_us"]
    )
