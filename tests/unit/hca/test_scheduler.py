"""Schedule queues share the send engine between queue pairs."""

import pytest

from hcasim.hca import CompletionQueue, QueuePair
from hcasim.hca.scheduler import Scheduler


def queue_pairs(*numbers: int) -> list[QueuePair]:
    cq = CompletionQueue(1, 8)
    return [QueuePair(number, 1, 0, cq, cq) for number in numbers]


def taken(scheduler: Scheduler) -> list[int]:
    order = []
    while scheduler:
        order.append(scheduler.take().qpn)
    return order


def test_queue_pairs_take_turns_by_their_queue() -> None:
    scheduler = Scheduler(16)
    for qp in queue_pairs(5, 3, 9):
        scheduler.add(qp)
    assert taken(scheduler) == [3, 5, 9]


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


def test_queue_pairs_of_one_queue_are_served_in_the_order_in_which_they_became_ready() -> None:
    scheduler = Scheduler(16)
    for qp in queue_pairs(33, 1, 17):
        scheduler.add(qp)
    assert taken(scheduler) == [33, 1, 17]


def test_a_queue_shares_its_turn_however_many_queue_pairs_it_holds() -> None:
    scheduler = Scheduler(16)
    crowd, lone = queue_pairs(1, 17, 33), queue_pairs(2)
    for qp in crowd + lone:
        scheduler.add(qp)
    order = []
    for _ in range(6):
        qp = scheduler.take()
        order.append(qp.qpn)
        scheduler.add(qp)
    assert order == [1, 2, 17, 2, 33, 2]


def test_a_queue_pair_is_ready_once() -> None:
    scheduler = Scheduler(4)
    (qp,) = queue_pairs(7)
    scheduler.add(qp)
    scheduler.add(qp)
    assert taken(scheduler) == [7]
    assert not scheduler


@pytest.mark.parametrize("queues", [1, 2, 3, 12, 16, 100])
def test_any_number_of_queues_serves_every_queue_pair(queues: int) -> None:
    scheduler = Scheduler(queues)
    for qp in queue_pairs(*range(1, 41)):
        scheduler.add(qp)
    assert sorted(taken(scheduler)) == list(range(1, 41))
