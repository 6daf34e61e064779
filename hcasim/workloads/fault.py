"""An operation that something delays or ends: how long it takes, and what the adapters count.

The method is that of github.com/unionxic/rdma-fault-characterization: one request is posted after
the fault, its completion is awaited, and counters are read before and behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hcasim.verbs import (
    CQ,
    PD,
    QP,
    SGE,
    Access,
    Completion,
    Context,
    QPAttr,
    QPAttrMask,
    SendWR,
    WROpcode,
)
from hcasim.workloads.end import Steps, receive, request
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

PS_PER_MS = 10**9
TARGET = Access.LOCAL_WRITE | Access.REMOTE_WRITE
REGULAR, ADAPTIVE = EXPIRIES = ("local_ack_timeout_err", "roce_adp_retrans")
"""Events of the retry timer, which bear the names of what counts them."""
SERVER = ("out_of_buffer", "rx_write_requests", "resp_cqe_error", "resp_remote_access_errors")
CLIENT = (
    REGULAR,
    ADAPTIVE,
    "rp_cnp_handled",
    "rnr_nak_retry_err",
    "req_rnr_retries_exceeded",
    "req_transport_retries_exceeded",
    "req_remote_access_errors",
    "req_cqe_flush_error",
)
"""Counters of either end that make columns; all others are among the counters of a result."""


class Expiries:
    """Listens for the retry timer: when it expired, by what counts that."""

    def __init__(self, run: Run) -> None:
        self.times_ps: dict[str, list[int]] = {event: [] for event in EXPIRIES}
        run.sim.listeners.append(self._note)

    def _note(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        if event in self.times_ps:
            self.times_ps[event].append(time_ps)

    def columns(self, posted_ps: int) -> Iterator[tuple[str, float]]:
        """Columns of a row in us, 0 where nothing expired."""
        adaptive, regular = self.times_ps[ADAPTIVE], self.times_ps[REGULAR]
        yield "adaptive_us", (adaptive[-1] - posted_ps) / 1e6 if adaptive else 0.0
        yield "regular_us", (regular[0] - posted_ps) / 1e6 if regular else 0.0
        yield "interval_us", (regular[-1] - regular[-2]) / 1e6 if len(regular) > 1 else 0.0


class Faulty:
    """Two ends, of which the server's is silent, not ready, or refuses."""

    def __init__(self, run: Run) -> None:
        self.options = options = run.options
        self.nodes = run.cluster.nodes
        self.contexts = [Context(run.sim, node, 0) for node in self.nodes]
        domains = [PD(context) for context in self.contexts]
        self.memories = [domain.reg_mr(options.size, TARGET) for domain in domains]
        self.cqs = [CQ(context, 4) for context in self.contexts]
        client, self.server = (QP(pd, cq, cq) for pd, cq in zip(domains, self.cqs, strict=True))
        self.client = client
        client.connect(
            self.server,
            timeout=options.timeout,
            retry_cnt=options.retry_cnt,
            rnr_retry=options.rnr_retry,
        )
        self._sim = run.sim
        self.completion: Completion | None = None
        if options.fault != "silent":
            self._join()

    def _join(self) -> None:
        self.server.connect(self.client)
        pause = QPAttr(min_rnr_timer=self.options.min_rnr_timer)
        self.server.modify_qp(pause, QPAttrMask.MIN_RNR_TIMER)

    def request(self) -> SendWR:
        options, (near, far) = self.options, self.memories
        if options.fault == "not-ready":
            sge = SGE(near.addr, options.size, near.lkey)
            return SendWR(WROpcode.SEND, (sge,))
        found = request(WROpcode.RDMA_WRITE, near, 0, options.size, far, 0)
        if options.fault == "key":
            found.rkey ^= 1 << 31
        return found

    def recover(self) -> Steps:
        """End the fault after the time of the option, unless it is for ever."""
        options = self.options
        if not options.silent_for or options.fault == "key":
            return
        yield self._sim.timeout(options.silent_for * PS_PER_MS)
        if options.fault == "silent":
            self._join()
        else:
            yield from self.server.post_recv(receive(self.memories[1], 0, options.size))

    def post(self) -> Steps:
        """Post the request, and wait for its completion."""
        yield from self.client.post_send(self.request())
        self.completion = yield from self.cqs[0].wait()

    def counters(self) -> list[dict[str, int]]:
        return [node.adapter.counters() for node in self.nodes]


def fault(run: Run) -> Result:
    """Measure one request whose peer is silent, not ready, or refuses it."""
    ends = Faulty(run)
    expiries = Expiries(run)
    before, posted = ends.counters(), run.sim.now
    run.sim.process(ends.recover())
    run.sim.run(until=run.sim.process(ends.post()))
    completion = ends.completion
    assert completion is not None
    client, server = (
        {name: value - old.get(name, 0) for name, value in new.items()}
        for old, new in zip(before, ends.counters(), strict=True)
    )
    row: dict[str, Any] = {
        "status": completion.status.name,
        "time_us": (completion.timestamp_ps - posted) / 1e6,
        **dict(expiries.columns(posted)),
        "transmissions_count": 1 + client["retransmissions"],
        "retransmissions_count": client["retransmissions"],
    }
    # An adapter has only those counters that its driver shows.
    row |= {f"{name}_count": client.get(name, 0) for name in CLIENT}
    row |= {f"server_{name}_count": server.get(name, 0) for name in SERVER}
    sized = ("size", "timeout", "retry_cnt", "rnr_retry", "silent_for")
    return run.result(row, sized=sized)
