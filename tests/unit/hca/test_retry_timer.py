"""The transport timer: from when on it runs, and when it has expired too often."""

from hcasim.engine import Call, Simulator
from hcasim.fabric import Opcode, Packet
from hcasim.fabric.packet import Route, packet_size
from hcasim.hca import Path, QPType
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.retry_timer import BASE_PS, RetryTimer

TIMEOUT = 3
EXPIRY = BASE_PS << TIMEOUT


def endpoint() -> Endpoint:
    made = Endpoint(1, 1, 0, QPType.RC, False, packet_size)
    made.path = Path(timeout=TIMEOUT, retries=2)
    return made


def packet(sent_ps: int, opcode: Opcode = Opcode.SEND, *, asks: bool = True) -> Packet:
    made = Packet(opcode, Route(1), 1, 0, 8, ack_request=asks)
    made.staged_at = sent_ps
    return made


def test_it_runs_from_the_last_answer_or_from_the_request_behind_it() -> None:
    sim, ends = Simulator(), list[int]()
    end = endpoint()
    timer = RetryTimer(sim, end, Call(lambda: ends.append(sim.now), ()))

    def heard(at: int) -> None:
        timer.heard_at = at

    # Who waits for no answer does not start it; of those that do the first one counts.
    for at, lost in (
        (1000, packet(100, asks=False)),
        (2000, packet(200)),
        (3000, packet(300, Opcode.RDMA_READ_REQUEST, asks=False)),
    ):
        sim.call_at(at, timer.lost, lost)
    sim.run()
    assert ends == [200 + EXPIRY]
    # An answer to what was sent before starts it anew.
    begin = sim.now
    sim.call_at(begin + 10, timer.lost, packet(begin + 1))
    sim.call_at(begin + 50, heard, begin + 50)
    sim.run()
    assert ends[1:] == [begin + 50 + EXPIRY]
    # One that came before the packet was lost, too.
    begin = sim.now
    heard(begin + 5)
    sim.call_at(begin + 10, timer.lost, packet(begin + 1))
    sim.run()
    assert ends[2:] == [begin + 5 + EXPIRY]


def test_it_is_exhausted_when_it_has_expired_too_often_in_a_row() -> None:
    sim = Simulator()
    found: list[bool] = []

    def expire() -> None:
        timer.lost(packet(sim.now))
        sim.run()

    end = endpoint()
    timer = RetryTimer(sim, end, Call(lambda: found.append(timer.exhausted), ()))
    for _ in range(2):
        expire()
    timer.heard_at = sim.now
    for _ in range(3):
        expire()
    assert found == [False] * 4 + [True]
    end.path = Path(timeout=0)
    expire()
    assert len(found) == 5
