"""The time of an operation that something delays or ends."""

import pytest

from hcasim.catalog import resolve
from hcasim.hca.qp.retry_timer import BASE_PS
from hcasim.workloads import WORKLOADS, Options
from tests.rig import machine, run

FAULT = WORKLOADS["fault"]


def test_a_row_has_the_columns_that_the_workload_names() -> None:
    row = run("fault", machine(), timeout=5).row
    assert {*FAULT.fields} <= row.keys()


@pytest.mark.parametrize("timeout", [1, 8, 14])
@pytest.mark.parametrize("retries", [0, 7])
def test_the_specification_s_timer_ends_after_one_to_four_timeouts_for_each_try(
    timeout: int, retries: int
) -> None:
    row = run("fault", machine(), timeout=timeout, retry_cnt=retries).row
    assert row["status"] == "RETRY_EXC_ERR"
    assert row["transmissions_count"] == retries + 1
    shortest = (retries + 1) * (BASE_PS << timeout) / 1e6
    assert shortest <= row["time_us"] <= 4 * shortest
    assert row["adaptive_us"] == 0


def test_a_peer_that_answers_again_has_the_next_retransmission() -> None:
    row = run("fault", machine(), timeout=10, silent_for=10).row
    assert row["status"] == "SUCCESS"
    assert row["retransmissions_count"] == 3
    assert 0 <= row["time_us"] - 3 * (BASE_PS << 10) / 1e6 < 30


def test_a_receiver_that_is_ready_late_has_the_next_try() -> None:
    row = run("fault", machine(), fault="not-ready", silent_for=2, min_rnr_timer=12).row
    assert row["status"] == "SUCCESS"
    assert row["retransmissions_count"] == 4
    assert 0 <= row["time_us"] - 4 * 640 < 60


def test_counters_grow_as_they_were_seen_to() -> None:
    pair = resolve("fault-pair")
    told = {
        fault: {
            name.removesuffix("_count"): value
            for name, value in run("fault", pair, fault=fault, rnr_retry=0).row.items()
            if name.endswith("_count") and value and "transmissions" not in name
        }
        for fault in ("not-ready", "key")
    }
    assert told == {
        "not-ready": {
            "rnr_nak_retry_err": 1,
            "req_rnr_retries_exceeded": 1,
            "server_out_of_buffer": 1,
        },
        "key": {"req_remote_access_errors": 1, "server_rx_write_requests": 1},
    }


def test_adaptive_retransmission_is_of_ethernet_alone() -> None:
    on = {kind: resolve(kind, adapter="connectx6") for kind in ("pair", "pair-roce")}
    rows = {kind: run("fault", one, timeout=10, retry_cnt=2).row for kind, one in on.items()}
    assert rows["pair"]["adaptive_us"] == rows["pair"]["roce_adp_retrans_count"] == 0
    assert rows["pair"]["local_ack_timeout_err_count"] == 3
    assert rows["pair-roce"]["roce_adp_retrans_count"] == 6
    assert rows["pair-roce"]["local_ack_timeout_err_count"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "timeout: found 0, for ever"),
        ({"fault": "not-ready"}, "rnr_retry: found 7, for ever"),
    ],
)
def test_what_would_never_end_is_refused(options: dict, said: str) -> None:
    (group,) = machine().groups
    (fault,) = FAULT.node_faults(group, Options(**options))
    assert fault.startswith(said)
    assert not [*FAULT.node_faults(group, Options(**options, silent_for=1))]
