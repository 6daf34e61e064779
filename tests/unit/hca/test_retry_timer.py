"""The transport timer: from when on it runs, and when it has expired too often."""

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import RoceAccl
from hcasim.catalog.retransmission import AdaptiveSteps
from hcasim.catalog.retransmission import RoceTimer as RoceTiming
from hcasim.engine import Call, Simulator
from hcasim.fabric import Opcode, Packet
from hcasim.fabric.packet import PLAIN_SIZES, Route
from hcasim.hca import Path, QPType
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.retry_timer import BASE_PS, RetryTimer, RoceTimer

TIMEOUT = 3
EXPIRY = BASE_PS << TIMEOUT


def endpoint() -> Endpoint:
    made = Endpoint(1, 1, 0, QPType.RC, False, PLAIN_SIZES)
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


MS = 10**9
STEPS = (20 * MS, 15 * MS, 30 * MS, 60 * MS, 120 * MS, 240 * MS, 480 * MS, 960 * MS)
STEPS += (1920 * MS, 3840 * MS)
REGULAR, ADAPTIVE, NOTICE = "local_ack_timeout_err", "roce_adp_retrans", "rp_cnp_handled"


def accl(*, adaptive: bool = True, floor: bool = True) -> RoceAccl:
    steps = {f"step{number}": step for number, step in enumerate(STEPS, start=1)}
    return RoceAccl(
        roce_adp_retrans_en=adaptive,
        roce_slow_restart_en=True,
        roce_slow_restart_idle_en=False,
        roce_tx_window_en=False,
        min_ack_timeout_limit_disabled=not floor,
        adaptive_routing_forced_en=False,
        selective_repeat_forced_en=False,
        timer=RoceTiming(
            floor=16,
            interval=200,
            last=400,
            first_without_floor=150,
            interval_without_floor=100,
            adaptive=AdaptiveSteps(**steps),
        ),
    )


def silence(timeout: int, retries: int, how: RoceAccl) -> tuple[list[int], list[str]]:
    """When the timer expires if nothing is ever answered, up to the end, and what counts it."""
    sim, times, counters = Simulator(), list[int](), list[str]()
    end = endpoint()
    end.path = Path(timeout=timeout, retries=retries)

    def expired() -> None:
        times.append(sim.now)
        counters.extend(timer.counters)
        if not timer.exhausted:
            timer.lost(packet(sim.now))

    timer = RoceTimer(sim, end, Call(expired, ()), how)
    timer.lost(packet(0))
    sim.run()
    return times, counters


@given(timeout=st.integers(1, 24), retries=st.integers(1, 7))
def test_firmware_retransmits_adaptively_and_then_by_twice_the_timeout(
    timeout: int, retries: int
) -> None:
    times, counters = silence(timeout, retries, accl())
    limit = BASE_PS << max(timeout, 16)
    steps = [step for step in STEPS if step <= limit]
    assert times[: len(steps)] == [*accumulate(steps)]
    assert counters.count(ADAPTIVE) == len(steps)
    assert counters.count("roce_adp_retrans_to") == 1
    # All adaptive ones are one unit of retry_cnt, and the last timeout is the error.
    regular = times[len(steps) :]
    assert counters.count(REGULAR) == len(regular) == retries - 1
    assert counters.count(NOTICE) == len(times) - 1
    if regular:
        further = STEPS[len(steps) :]
        assert regular[0] - times[len(steps) - 1] == min(2 * limit, *further[:1] or (2 * limit,))
    assert {b - a for a, b in pairwise(regular)} <= {2 * limit}


@given(timeout=st.integers(1, 16))
def test_without_retries_firmware_sends_once_more_and_waits_for_the_longest_time(
    timeout: int,
) -> None:
    (*adaptive, again, error), counters = silence(timeout, 0, accl())
    assert len(adaptive) == counters.count(ADAPTIVE)
    assert error - again == 4 * BASE_PS << 16


@given(timeout=st.integers(1, 24), retries=st.integers(0, 7))
def test_without_the_floor_there_is_one_timeout_more_than_retries(
    timeout: int, retries: int
) -> None:
    nominal = BASE_PS << timeout
    times, counters = silence(timeout, retries, accl(floor=False))
    assert times == [nominal * 3 // 2 + number * nominal for number in range(retries + 1)]
    assert counters.count(REGULAR) == retries + 1
    times, counters = silence(timeout, retries, accl(adaptive=False))
    interval = 2 * BASE_PS << max(timeout, 16)
    assert times == [number * interval for number in range(1, retries + 2)]
    assert ADAPTIVE not in counters


def test_an_answer_begins_the_schedule_anew() -> None:
    sim, times = Simulator(), list[int]()
    end = endpoint()
    end.path = Path(timeout=14, retries=7)
    timer = RoceTimer(sim, end, Call(lambda: times.append(sim.now), ()), accl())
    timer.lost(packet(0))
    sim.run()
    timer.lost(packet(sim.now))
    sim.run()
    assert times == [STEPS[0], STEPS[0] + STEPS[1]]
    timer.heard_at = begin = sim.now + MS
    sim.call_at(begin + MS, timer.lost, packet(begin + MS))
    sim.run()
    assert times[-1] == begin + MS + STEPS[0]
