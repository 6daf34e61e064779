"""What an adapter counts of its transport, by the names that drivers of Linux give it.

Source: Linux, drivers/infiniband/hw/mlx5/counters.c and drivers/infiniband/hw/mlx4/main.c
(diag_basic and, of adapters that count each port by itself, rq_num_dup and sq_num_to of diag_ext);
NVIDIA, "Understanding mlx5 Linux counters and status parameters".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from hcasim.catalog import Adapter
from hcasim.engine.changes import Changes
from hcasim.hca.completion_queue import WCStatus

OWN: Final = (
    "doorbells",
    "wqes_fetched",
    "receive_wqes_fetched",
    "cqes_written",
    "acknowledgements",
    "naks",
    "out_of_sequence",
    "dropped",
    "retransmissions",
)
"""What no driver names, and `out_of_sequence`, which mlx5 names so."""

_MLX5: Final = (
    "rx_write_requests",
    "rx_read_requests",
    "rx_atomic_requests",
    "out_of_buffer",
    "duplicate_request",
    "rnr_nak_retry_err",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "resp_local_length_error",
    "resp_cqe_error",
    "req_cqe_error",
    "req_remote_invalid_request",
    "req_remote_access_errors",
    "resp_remote_access_errors",
    "resp_cqe_flush_error",
    "req_cqe_flush_error",
    "req_transport_retries_exceeded",
    "req_rnr_retries_exceeded",
)
_ROCE: Final = ("roce_adp_retrans", "roce_adp_retrans_to")
_CONGESTION: Final = ("rp_cnp_handled", "np_ecn_marked_roce_packets", "np_cnp_sent")
FECN: Final = ("port_pkt_rcv_fecn", "port_pkt_rcv_becn")
"""Of InfiniBand's congestion control, as infiniband-diags call what ports count."""
_MLX4: Final = {
    "resp_local_length_error": "rq_num_lle",
    "resp_cqe_flush_error": "rq_num_wrfe",
    "req_cqe_flush_error": "sq_num_wrfe",
    "req_remote_invalid_request": "sq_num_rire",
    "req_remote_access_errors": "sq_num_rae",
    "resp_remote_access_errors": "rq_num_rae",
    "req_transport_retries_exceeded": "sq_num_tree",
    "req_rnr_retries_exceeded": "sq_num_rree",
    "out_of_buffer": "rq_num_rnr",
    "rnr_nak_retry_err": "sq_num_rnr",
    "out_of_sequence": "rq_num_oos",
    "packet_seq_err": "sq_num_oos",
    "duplicate_request": "rq_num_dup",
    "local_ack_timeout_err": "sq_num_to",
}
COUNTED: Final = (*OWN, *_MLX5, *_ROCE, *_CONGESTION)

_REQUESTER: Final = {
    WCStatus.REM_INV_REQ_ERR: "req_remote_invalid_request",
    WCStatus.REM_ACCESS_ERR: "req_remote_access_errors",
    WCStatus.RETRY_EXC_ERR: "req_transport_retries_exceeded",
    WCStatus.RNR_RETRY_EXC_ERR: "req_rnr_retries_exceeded",
}


class Overdue:
    """What all timers of an adapter have waited for requests that had to be sent again.

    Attributes:
        timeouts: how often one has expired while a request waited for an answer.
        wait_ps: time in which at least one ran until it expired; at least so much, if several did.
    """

    changes: ClassVar[Changes] = Changes(counts="timeouts wait_ps", since="_until")

    def __init__(self) -> None:
        self.timeouts = self.wait_ps = self._until = 0

    def expired(self, since_ps: int, now_ps: int) -> None:
        """Note that a timer has run since then."""
        self.timeouts += 1
        self.wait_ps += now_ps - max(since_ps, self._until)
        self._until = now_ps


def shown(counts: Mapping[str, int], adapter: Adapter, over_ethernet: bool) -> dict[str, int]:
    """Return what the driver of an adapter shows of its counts, with those that are ours."""
    found = {name: counts[name] for name in (*OWN, *FECN) if name in counts}
    if (counters := adapter.counters) is None:
        return found
    if counters.driver == "mlx4":
        return found | {name: counts[one] for one, name in _MLX4.items()}
    found |= {name: counts[name] for name in _MLX5}
    if adapter.roce_accl is not None and over_ethernet:
        found |= {name: counts[name] for name in _ROCE}
    if adapter.roce_cc is not None and over_ethernet:
        found |= {name: counts[name] for name in _CONGESTION}
    return found


def count_request(counts: dict[str, int], adapter: Adapter, status: WCStatus) -> None:
    """Count a request that has ended with an error."""
    if status is WCStatus.WR_FLUSH_ERR:
        if adapter.counters is None or not adapter.counters.flushes:
            return
        counts["req_cqe_flush_error"] += 1
    elif status in _REQUESTER:
        counts[_REQUESTER[status]] += 1
    counts["req_cqe_error"] += 1


def count_receive(counts: dict[str, int], adapter: Adapter, status: WCStatus) -> None:
    """Count a receive that has ended with an error."""
    if adapter.counters is None or not adapter.counters.responder_errors:
        return
    if status is WCStatus.WR_FLUSH_ERR:
        counts["resp_cqe_flush_error"] += 1
    elif status is WCStatus.LOC_LEN_ERR:
        counts["resp_local_length_error"] += 1
    counts["resp_cqe_error"] += 1
