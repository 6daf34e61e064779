"""The pauses that receivers ask for that are not ready."""

import pytest

from hcasim.hca.qp.rnr import rnr_timer_code, rnr_timer_ps
from tests.rig import SEND, Rig, statuses

TABLE = """
655.36 .01 .02 .03 .04 .06 .08 .12 .16 .24 .32 .48 .64 .96 1.28 1.92 2.56 3.84 5.12 7.68 10.24 15.36
20.48 30.72 40.96 61.44 81.92 122.88 163.84 245.76 327.68 491.52
"""
"""Of codes 0 to 31 in ms (include/rdma/ib_verbs.h)."""


def test_each_code_has_the_pause_of_the_table() -> None:
    assert [rnr_timer_ps(code) for code in range(32)] == [
        round(float(ms) * 1000) * 10**6 for ms in TABLE.split()
    ]


def test_a_time_has_the_code_of_the_shortest_pause_that_is_not_shorter() -> None:
    for code in range(32):
        assert rnr_timer_code(rnr_timer_ps(code)) == code
    assert rnr_timer_code(rnr_timer_ps(12) + 1) == 13
    assert rnr_timer_code(rnr_timer_ps(31) + 1) == 0


@pytest.mark.parametrize("code", [0, 12, 31])
def test_a_sender_waits_for_the_pause_that_the_receiver_asks_for(rig: Rig, code: int) -> None:
    pause = rnr_timer_ps(code)
    a, b, qp, remote = rig.joined(min_rnr_timer_ps=pause)
    # It is there in the midst of the third pause.
    receiving = b.take(remote, b.receive(64), after=5 * pause // 2)
    sent, received = rig.run(a.send(qp, a.request(SEND, b, 64)), receiving)
    assert statuses(sent) == statuses(received) == ["SUCCESS"]
    assert rig.counter("naks") == 3
    assert 0 < received[0].timestamp_ps - 3 * pause < 60 * 10**6
