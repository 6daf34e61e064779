"""A queue pair with a static rate sends no faster than that, and holds nobody else up."""

import pytest

from hcasim.verbs import QP, VerbsError
from tests.rig import WRITE, Program, Rig, succeeded

LONG = 1 << 20


def took(exact: bool = False, size: int = LONG, **options: float) -> int:
    """Picoseconds of one write."""
    rig = Rig(exact=exact)
    a, b = rig.peers
    qp, _ = rig.connect(a, b, **options)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, size)))
    return int(rig.sim.now)


@pytest.mark.parametrize(("rate", "slower"), [(2.5, 4), (5, 2), (10, 1), (20, 1), (0, 1)])
def test_packets_leave_at_the_static_rate(rate: float, slower: int) -> None:
    """Four lanes signal 10 Gbit/s; a packet of 2048 B takes 2074 B of 8 bits at 8 Gbit/s."""
    ideal = slower * LONG / 2048 * (2074 + 2) * 1000
    assert took(static_rate=rate) == pytest.approx(ideal, rel=0.03)


def test_what_is_left_out_of_a_paced_message_changes_nothing() -> None:
    assert took(static_rate=2.5) == took(static_rate=2.5, exact=True)


def test_short_messages_of_one_queue_pair_are_paced_and_others_take_the_rest() -> None:
    rig = Rig()
    a, b = rig.peers
    paced, _ = rig.connect(a, b, static_rate=2.5)
    free, _ = rig.connect(a, b)

    def sender() -> Program:
        for qp in (paced, free):
            yield from a.post(qp, *[a.request(WRITE, b, 4096) for _ in range(60)])
        return (yield from a.collect(120))

    (found,) = rig.run(sender())
    ends = {qp: [] for qp in (paced.qp_num, free.qp_num)}
    for completion in found:
        ends[completion.qpn].append(completion.timestamp_ps)
    each = 2 * (2074 + 2) * 1000
    apart = (ends[paced.qp_num][-1] - ends[paced.qp_num][9]) / 50
    assert apart == pytest.approx(4 * each, rel=0.02)
    apart = (ends[free.qp_num][-1] - ends[free.qp_num][9]) / 50
    assert apart == pytest.approx(4 / 3 * each, rel=0.05)


def test_a_rate_that_does_not_exist_is_refused() -> None:
    rig = Rig()
    a, b = rig.peers
    one, other = (QP(peer.pd, peer.cq, peer.cq) for peer in (a, b))
    with pytest.raises(VerbsError, match=r"static_rate is 3; allowed: 0, 2.5, 5, 10, 14, 20"):
        one.connect(other, static_rate=3)
