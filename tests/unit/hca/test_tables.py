"""What misses of tables leave behind: lines that are written back, completions in their order."""

import pytest

from hcasim.hca import CompletionQueue
from hcasim.verbs import QP
from tests.rig import (
    SEND,
    WRITE,
    Program,
    Rig,
    machine,
    statuses,
)

CACHES = ("sqpc", "rqpc", "cqc", "mpt", "mtt")
TINY = {
    f"adapter.{name}.{key}": value
    for name in CACHES
    for key, value in (("entries", "2"), ("ways", "1"))
}


def test_contexts_are_written_back_and_translations_are_not() -> None:
    rig = Rig(machine(TINY, adapter="mt25218", firmware_mode="memfree"))
    a, b = rig.peers
    for number in range(6):
        rig.exchange(rig.connect(a, b)[0], a, a.request(WRITE, b, 3000, offset=number << 16))
    written = {name: rig.counter(f"{name}_writeback_bytes") for name in CACHES}
    assert written["mpt"] == written["mtt"] == 0
    for name in ("sqpc", "rqpc"):
        # All that came has left but for what is still there: two entries at each end.
        assert rig.counter(f"{name}_fetch_bytes") - written[name] <= 2 * 2 * 256
        assert written[name] > 0


@pytest.mark.pure
def test_completions_of_one_queue_keep_their_order_when_their_translations_miss() -> None:
    one = {f"adapter.{name}.{key}": "1" for name in CACHES for key in ("entries", "ways")} | {
        "adapter.mtt.outstanding": "1",
        "adapter.completion.latency": "0 ns",
    }
    rig = Rig(machine(one, adapter="mt25218", firmware_mode="memfree"))
    a, b = rig.peers
    pairs = [rig.connect(a, b)[0] for _ in range(8)]
    finished: list[tuple[int, int]] = []
    complete = a.adapter.completions._write

    def noted(cq: object, completion: object) -> None:
        finished.append((completion.qpn, completion.wr_id))
        complete(cq, completion)

    a.adapter.completions._write = noted

    def program(qp: QP) -> Program:
        yield from a.post(qp, *(a.request(WRITE, b, 100, wr_id=number) for number in range(12)))

    *_, found = rig.run(*map(program, pairs), a.collect(96))
    assert [(c.qpn, c.wr_id) for c in found] == finished
    times = [c.timestamp_ps for c in found]
    assert times == sorted(times)
    for qp in pairs:
        assert [c.wr_id for c in found if c.qpn == qp.qp_num] == list(range(12))


@pytest.mark.pure
@pytest.mark.parametrize("mode", ["mem", "memfree"])
def test_thousands_of_completions_that_wait_for_one_translation_do_not_nest(mode: str) -> None:
    # One fetch translates eight pages of completions.
    line = {"adapter.mtt.line": "64 B"}
    rig = Rig(machine(line, adapter="mt25218", firmware_mode=mode), cqe=5000)
    a, b = rig.peers
    # All are posted while the first waits to be sent again, and then fail with it.
    qp, _ = rig.connect(a, b, max_send_wr=4000, rnr_retry=1, min_rnr_timer_ps=10**10)
    longest = 0
    write_next = a.adapter.completions._write_next

    def noted(cq: CompletionQueue) -> None:
        nonlocal longest
        longest = max(longest, len(cq.unwritten))
        write_next(cq)

    a.adapter.completions._write_next = noted
    found = rig.exchange(qp, a, *[a.request(SEND, b)] * 4000)
    assert statuses(found) == ["RNR_RETRY_EXC_ERR"] + ["WR_FLUSH_ERR"] * 3999
    assert [c.posted for c in found] == list(range(1, 4001))
    assert longest > 3000
