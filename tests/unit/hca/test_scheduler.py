"""Each schedule queue has one queue pair in hand, and those in hand share the port."""

from hcasim.hca.qp.requester import Requester
from hcasim.hca.scheduler import Scheduler
from hcasim.verbs import QP
from tests.rig import Rig


def queue_pairs(*numbers: int) -> list[Requester]:
    peer = Rig().peers[0]
    made = [QP(peer.pd, peer.cq, peer.cq) for _ in range(max(numbers))]
    return [made[number - 1]._qp.requester for number in numbers]


def taken(scheduler: Scheduler) -> list[int]:
    order = []
    while scheduler.competing:
        order.append(scheduler.take().qpn)
    return order


def in_hand(scheduler: Scheduler, *qps: Requester) -> list[int]:
    """Line up; which of them are in hand at once."""
    return [qp.qpn for qp in qps if scheduler.enqueue(qp)]


def test_the_turn_goes_on_from_the_queue_that_was_served_last() -> None:
    scheduler = Scheduler(16)
    three, five = queue_pairs(3, 5)
    scheduler.add(five)
    assert scheduler.take() is five
    scheduler.add(five)
    scheduler.add(three)
    assert taken(scheduler) == [3, 5]
    scheduler.add(three)
    assert taken(scheduler) == [3]
    scheduler.add(three)
    scheduler.add(five)
    assert taken(scheduler) == [5, 3]


def test_a_queue_pair_whose_turn_is_not_over_is_the_next() -> None:
    scheduler = Scheduler(16)
    three, five, nine = queue_pairs(3, 5, 9)
    for qp in (three, five, nine):
        scheduler.add(qp)
    assert scheduler.take() is three
    scheduler.add(three, goes_on=True)
    assert scheduler.take() is three
    scheduler.add(three)
    assert taken(scheduler) == [5, 9, 3]


def test_those_in_line_are_in_hand_in_the_order_in_which_they_lined_up() -> None:
    scheduler = Scheduler(16)
    first, second, third, other = queue_pairs(33, 1, 17, 2)
    assert in_hand(scheduler, first, second, third, other) == [33, 2]
    assert scheduler.contended(first)
    assert scheduler.release(first) is second
    assert first not in scheduler.members
    assert second in scheduler.members
    # It may line up again, behind the others.
    assert not scheduler.enqueue(first)
    assert scheduler.release(second) is third
    assert scheduler.release(third) is first
    assert not scheduler.contended(first)
    assert scheduler.release(first) is None
    assert scheduler.enqueue(second)


def test_a_queue_pair_is_ready_once() -> None:
    scheduler = Scheduler(4)
    (qp,) = queue_pairs(7)
    scheduler.add(qp)
    scheduler.add(qp)
    assert taken(scheduler) == [7]
    assert not scheduler.competing
