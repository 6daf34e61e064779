"""What requesters and responders do about packets that a link loses, corrupts or repeats."""

import pytest

from hcasim.fabric.loss import Fate, ListedLosses, LossyWay, lose
from tests.rig import WRITE, Rig, statuses

DROP, CORRUPT, DUPLICATE = Fate.DROP, Fate.CORRUPT, Fate.DUPLICATE


def lossy(rig: Rig, node: int, fates: dict[int, Fate]) -> LossyWay:
    """Let the link on which a node sends do this to its packets, counted from 1."""
    way = rig.cluster.nodes[node].adapter.ports[0].transmitter
    return lose(way, ListedLosses(fates))


@pytest.mark.parametrize("fate", [DROP, CORRUPT])
@pytest.mark.parametrize("lost", [1, 5, 9])
def test_a_lost_packet_is_refused_once_and_all_from_it_on_are_sent_again(
    lost: int, fate: Fate
) -> None:
    rig = Rig(data=True)
    a, b, qp, _ = rig.joined()
    a.mr.write(bytes(range(256)) * 48)
    way = lossy(rig, 0, {lost: fate})
    requests = a.request(WRITE, b, 10 * 1024), a.request(WRITE, b, 64, offset=20480)
    done = rig.exchange(qp, a, *requests)
    assert statuses(done) == ["SUCCESS"] * 2
    assert b.mr.read(10240, 0) == a.mr.read(10240, 0)
    assert rig.counter("naks") == 1
    assert rig.counter("retransmissions") in (1, 2)
    assert done[1].timestamp_ps < 10**9
    assert way.dropped + way.corrupted == 1
