"""Laws of the engine's parts, whatever is asked of them."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from hcasim.engine import Arbiter, Call, CreditPool, Rate, SerialServer, Simulator, find_period

times = st.integers(0, 60)
durations = st.integers(0, 25)


# The clock.


@given(st.lists(st.tuples(times, st.lists(st.integers(0, 5), max_size=3)), max_size=20))
def test_calls_happen_once_each_in_order_of_time_and_then_of_scheduling(
    plan: list[tuple[int, list[int]]],
) -> None:
    sim = Simulator()
    scheduled: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []

    def schedule(delay: int, nested: Sequence[int]) -> None:
        ticket = (int(sim.now) + delay, len(scheduled))
        scheduled.append(ticket)
        if ticket[1] % 2:
            sim.call_after(delay, happen, ticket, nested)
        else:
            sim.schedule(ticket[0], Call(happen, (ticket, nested)))

    def happen(ticket: tuple[int, int], nested: Sequence[int]) -> None:
        assert sim.now == ticket[0]
        seen.append(ticket)
        for delay in nested:
            schedule(delay, ())

    for delay, nested in plan:
        schedule(delay, nested)
    sim.run()
    assert seen == sorted(scheduled)


# Rates and serial servers.


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**6),
    st.integers(0, 2**40),
    st.integers(0, 2**40),
)
def test_a_rate_is_within_half_a_picosecond_of_the_exact_fraction(
    ps_per_byte: Fraction, size: int, more: int
) -> None:
    rate = Rate(ps_per_byte)
    assert abs(rate.time(size) - size * ps_per_byte) <= Fraction(1, 2)
    assert rate.time(size + more) >= rate.time(size)


@given(st.integers(1, 10**13), st.integers(0, 2**40))
def test_a_bandwidth_moves_what_it_says(bytes_per_second: int, size: int) -> None:
    exact = Fraction(size * 10**12, bytes_per_second)
    assert abs(Rate.from_bandwidth(bytes_per_second).time(size) - exact) <= Fraction(1, 2)


def check_service(jobs: list[tuple[int, int]], ends: list[int]) -> None:
    """Jobs are (arrival, duration) in the order of service."""
    before = 0
    for (arrival, duration), end in zip(jobs, ends, strict=True):
        start = end - duration
        assert start >= arrival, "served before it came"
        assert start >= before, "two served at once"
        assert start in (arrival, before), "idle although somebody waits"
        before = end


@given(st.lists(st.tuples(times, durations)))
def test_a_server_serves_one_at_a_time_and_never_rests_while_somebody_waits(
    plan: list[tuple[int, int]],
) -> None:
    sim = Simulator()
    server = SerialServer(sim, "server")
    jobs = sorted(plan, key=lambda job: job[0])
    ends: list[int] = []
    for arrival, duration in jobs:
        sim.call_at(arrival, lambda duration=duration: ends.append(server.reserve(duration)))
    sim.run()
    check_service(jobs, ends)
    assert server.busy_ps == sum(duration for _, duration in jobs)
    assert server.free_at == (ends[-1] if ends else 0)
    announced = SerialServer(Simulator(), "server")
    assert [announced.reserve_from(arrival, duration) for arrival, duration in jobs] == ends
    assert announced.busy_ps == server.busy_ps


# Arbiters.


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.lists(st.tuples(times, st.integers(0, 11), st.integers(1, 25)), max_size=40),
)
def test_an_arbiter_is_fair_work_conserving_and_loses_nothing(
    groups: list[int], plan: list[tuple[int, int, int]]
) -> None:
    sim = Simulator()
    arbiter = Arbiter(sim, "bus", groups)
    group_of = [group for group, size in enumerate(groups) for _ in range(size)]
    plan = [(time, requester % sum(groups), duration) for time, requester, duration in plan]
    plan.sort(key=lambda request: request[0])
    ends: list[tuple[int, int]] = []  # number of the request, end
    for number, (time, requester, duration) in enumerate(plan):

        def finish(number: int = number) -> None:
            ends.append((number, int(sim.now)))

        sim.call_at(time, arbiter.request, requester, duration, Call(finish, ()))
    sim.run()

    assert sorted(number for number, _ in ends) == list(range(len(plan))), "once each"
    starts = [end - plan[number][2] for number, end in ends]
    previous_end = 0
    for (number, end), start in zip(ends, starts, strict=True):
        assert start >= plan[number][0]
        assert start >= previous_end, "two at once"
        if start > previous_end:
            assert all(plan[other][0] >= start for other, t in ends if t >= end), "idle"
        previous_end = end
    for requester in range(sum(groups)):
        own = [number for number, _ in ends if plan[number][1] == requester]
        assert own == sorted(own), "out of order"
        assert arbiter.grants[requester] == len(own)
    assert arbiter.busy_ps == sum(duration for _, _, duration in plan)

    order = [number for number, _ in ends]
    for turn, (number, start) in enumerate(zip(order, starts, strict=True)):
        _, requester, _ = plan[number]
        waiting = [other for other in order[turn + 1 :] if plan[other][0] < start]
        for other in waiting:
            rival = plan[other][1]
            assert not (group_of[rival] == group_of[requester] and rival < requester), "priority"
    for group in range(len(groups)):
        turns = [turn for turn, number in enumerate(order) if group_of[plan[number][1]] == group]
        for first, second in pairwise(turns):
            passed_over = {
                group_of[plan[other][1]]
                for other in order[second + 1 :]
                if plan[other][0] < starts[first]
            }
            served = {group_of[plan[other][1]] for other in order[first + 1 : second]}
            assert passed_over - {group} <= served, "a group had two turns while another waited"


# Credits.


@given(
    st.integers(1, 6),
    st.lists(st.tuples(times, st.integers(0, 6), durations, st.booleans()), max_size=25),
)
def test_credits_are_conserved_and_go_to_the_first_in_line_as_soon_as_they_suffice(
    capacity: int, plan: list[tuple[int, int, int, bool]]
) -> None:
    sim = Simulator()
    pool = CreditPool(sim, "pool", capacity)
    plan = [(time, min(count, capacity), hold, late) for time, count, hold, late in plan]
    plan.sort(key=lambda request: request[0])
    grants: list[tuple[int, int]] = []

    def held(number: int, count: int, hold: int, announced: bool) -> None:
        assert 0 <= pool.available <= capacity
        grants.append((number, int(sim.now)))
        if announced:
            pool.release_at(int(sim.now) + hold, count)
        else:
            sim.call_after(hold, pool.release, count)

    for number, (time, count, hold, announced) in enumerate(plan):
        sim.call_at(time, pool.acquire, count, held, number, count, hold, announced)
    sim.run()

    assert [number for number, _ in grants] == list(range(len(plan))), "first come, first served"
    # The same by definition: not before the one in front, and as soon as enough have come back.
    holders: list[tuple[int, int]] = []  # end, count
    turn = 0
    waits: list[tuple[int, int]] = []
    for (time, count, hold, _), (_, granted) in zip(plan, grants, strict=True):
        turn = earliest = max(turn, time)
        for candidate in sorted({earliest, *(end for end, _ in holders if end > earliest)}):
            if sum(taken for end, taken in holders if end > candidate) + count <= capacity:
                turn = candidate
                break
        assert granted == turn
        waits.append((time, granted))
        holders.append((granted + hold, count))
    waited = {moment for begin, end in waits for moment in range(begin, end)}
    assert pool.wait_ps == len(waited)
    assert not pool.waiting
    # Everything has come back: one request can have it all.
    whole: list[int] = []
    sim.call_at(1_000_000, pool.acquire, capacity, whole.append, 1)
    sim.run()
    assert whole == [1]


# Steady state.


@given(st.lists(st.integers(1, 3), max_size=40), st.integers(1, 5), st.integers(2, 4))
def test_a_period_that_is_found_is_one_and_there_is_no_shorter(
    intervals: list[int], longest: int, repeats: int
) -> None:
    def repeated(period: int) -> bool:
        tail = intervals[-period * repeats :]
        return len(intervals) >= period * repeats and tail == tail[:period] * repeats

    expected = next((period for period in range(1, longest + 1) if repeated(period)), None)
    assert find_period(intervals, longest=longest, repeats=repeats) == expected


@given(st.lists(st.integers(100, 110), min_size=1, max_size=30), st.floats(0.001, 0.1))
def test_the_slack_of_a_period_bounds_the_difference_of_its_copies(
    intervals: list[int], slack: float
) -> None:
    period = find_period(intervals, slack=slack)
    if period is None:
        return
    ends = [0, *accumulate(intervals)]
    marks = ends[-1 : -3 * period - 2 : -period][:4]
    lengths = [later - earlier for later, earlier in pairwise(marks)]
    assert len(lengths) == 3
    assert max(lengths) * (1 - slack) <= min(lengths) + 1e-9
