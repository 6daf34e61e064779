"""What is predicted of contents is what happens, and to repeat it leaves what happens leaves."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog.adapter import IcmCache
from hcasim.catalog.host import ProcessorCache as Processor
from hcasim.engine import SetAssociativeCache
from hcasim.hca.line_cache import LineCache
from hcasim.host.cache import BLOCK, ProcessorCache

PERIODS = 60

Act = Callable[[Any, int], object]


def logged(content: Any, act: Act, turn: int) -> list[tuple[int, ...]]:
    content.log = []
    act(content, turn)
    log, content.log = content.log, None
    return [tuple(map(int, done)) for done in log]


def check(make: Callable[[], Any], act: Act, state: Callable[[Any], object]) -> int:
    """Hold what is predicted after two periods to what happens in the next; return how often."""
    content, whole, last = make(), make(), make()
    early, accesses = (logged(content, act, turn) for turn in (0, 1))
    if len(early) != len(accesses) or not accesses:
        return 0
    pairs = list(zip(early, accesses, strict=True))
    steps = [tuple(b - a for a, b in zip(one, other, strict=True)) for one, other in pairs]
    before = state(content)
    predicted = content.predict(accesses, steps, PERIODS)
    assert 0 <= predicted <= PERIODS
    assert state(content) == before
    for turn in (0, 1):
        act(whole, turn)
    turns = 0
    for turn in range(1, PERIODS + 1):
        said = [
            tuple(a + turn * b for a, b in zip(done, by, strict=True))
            for done, by in zip(accesses, steps, strict=True)
        ]
        if logged(whole, act, 1 + turn) != said:
            break
        turns = turn
    assert predicted <= turns
    if predicted:
        content.repeat(accesses, steps, predicted)
        for turn in range(2 + predicted):
            act(last, turn)
        assert state(content) == state(last)
    return predicted


def in_sets(cache: SetAssociativeCache) -> object:
    cache._put_right()
    return cache.last, [list(cache._sets.get(place, ())) for place in range(cache.sets)]


@given(
    case=st.builds(
        SimpleNamespace,
        sets=st.integers(1, 8),
        ways=st.integers(1, 4),
        policy=st.sampled_from(["lru", "fifo"]),
        held=st.lists(st.integers(0, 60), max_size=40),
        firsts=st.lists(st.integers(0, 30), min_size=1, max_size=4),
        step=st.integers(-3, 6),
        other=st.integers(0, 3),
        let_go=st.booleans(),
    )
)
def test_a_cache_of_sets_goes_on_as_foreseen(case: Any) -> None:
    def make() -> SetAssociativeCache:
        cache = SetAssociativeCache(case.sets * case.ways, case.ways, case.policy)
        for key in case.held:
            cache.fill(1000 + key)
        return cache

    def act(cache: SetAssociativeCache, turn: int) -> None:
        for place, first in enumerate(case.firsts):
            key = 1000 + first + turn * (case.step + (case.other == 3 and place == 0))
            if not cache.touch(key):
                cache.fill(key)
            if case.let_go and place == 1:
                cache.discard(key)

    check(make, act, in_sets)


def in_banks(cache: LineCache) -> object:
    return [
        (list(bank.lines.items()), bank.changed, bank.size, getattr(bank, "_names", ()))
        for bank in cache._banks
    ]


@given(
    case=st.builds(
        SimpleNamespace,
        lines=st.integers(2, 24),
        banks=st.integers(1, 3),
        policy=st.sampled_from(["lru", "fifo", "random"]),
        held=st.lists(st.integers(0, 60), max_size=40),
        firsts=st.lists(st.integers(0, 30), min_size=1, max_size=3),
        step=st.integers(0, 3),
        marked=st.booleans(),
    )
)
def test_a_cache_of_lines_goes_on_as_foreseen(case: Any) -> None:
    def make() -> LineCache:
        cache = LineCache(
            IcmCache(size=64 * case.lines, latency=0, banks=case.banks, policy=case.policy)
        )
        for line in case.held:
            cache.fill(0, line, 64)
        if case.marked and case.held and cache.holds(0, case.held[-1]):
            cache.mark(0, case.held[-1])
        return cache

    def act(cache: LineCache, turn: int) -> None:
        for table, first in enumerate(case.firsts):
            line = first + turn * case.step
            if not cache.touch(table % 2, line):
                cache.fill(table % 2, line, 64 if table else 32)

    check(make, act, in_banks)


def in_processor(cache: ProcessorCache) -> object:
    return list(cache._used), list(cache._written)


@given(
    case=st.builds(
        SimpleNamespace,
        blocks=st.integers(11, 20),
        of_devices=st.integers(0, 20),
        used=st.lists(st.integers(0, 100), max_size=10),
        written=st.lists(st.integers(0, 100), max_size=30),
        first=st.integers(0, 50),
        sizes=st.lists(st.sampled_from([BLOCK, 2 * BLOCK, 100]), min_size=1, max_size=3),
        gap=st.sampled_from([0, 0, 0, 1, 100]),
        does=st.sampled_from(["place", "look and place", "invalidate", "place and invalidate"]),
    )
)
def test_the_cache_of_a_socket_goes_on_as_foreseen(case: Any) -> None:
    def make() -> ProcessorCache:
        cache = ProcessorCache(
            Processor.model_construct(size=case.blocks * BLOCK, ddio=case.of_devices * BLOCK)
        )
        for block in (1000, *case.used):
            cache.access(block * BLOCK, BLOCK)
        for block in case.written:
            cache.place(block * BLOCK, BLOCK)
        return cache

    def act(cache: ProcessorCache, turn: int) -> None:
        address = case.first * BLOCK + turn * (sum(case.sizes) + case.gap * BLOCK)
        for size in case.sizes:
            if "look" in case.does:
                cache.holds(address, size)
            if "place" in case.does:
                cache.place(address, size)
            if "invalidate" in case.does:
                cache.invalidate(address - 2 * BLOCK * ("place" in case.does), size)
            address += size

    check(make, act, in_processor)


def of_sets(policy: Any, held: int) -> SetAssociativeCache:
    cache = SetAssociativeCache(16, 2, policy)
    for key in range(held):
        cache.fill(key)
    return cache


def of_devices(held: int) -> ProcessorCache:
    cache = ProcessorCache(Processor.model_construct(size=64 * BLOCK, ddio=16 * BLOCK))
    cache.place(0, held * BLOCK)
    return cache


def of_a_processor(further: int) -> ProcessorCache:
    cache = ProcessorCache(Processor.model_construct(size=400 * BLOCK, ddio=0))
    cache.access(0, 200 * BLOCK)
    cache.access(1000 * BLOCK, further * BLOCK)
    return cache


def look_up(cache: SetAssociativeCache, turn: int) -> None:
    for key in range(1000 + 4 * turn, 1004 + 4 * turn):
        if not cache.touch(key):
            cache.fill(key)


def write_to_memory(cache: ProcessorCache, turn: int) -> None:
    for block in (2 * turn, 2 * turn + 1):
        cache.invalidate(block * BLOCK, BLOCK)


def place_two(cache: ProcessorCache, turn: int) -> None:
    cache.place((100 + 2 * turn) * BLOCK, 2 * BLOCK)


@pytest.mark.parametrize(
    ("make", "act", "state", "periods"),
    [
        *(
            (partial(of_sets, policy, held), look_up, in_sets, PERIODS)
            for policy in ("lru", "fifo")
            for held in (0, 3, 100)
        ),
        # A new block displaces nothing until the part of devices is full.
        (partial(of_devices, 0), place_two, in_processor, 16 // 2 - 2),
        (partial(of_devices, 16), place_two, in_processor, PERIODS),
        *(
            (partial(of_a_processor, further), write_to_memory, in_processor, PERIODS)
            for further in (0, 100)
        ),
    ],
)
def test_a_long_sweep_is_foreseen_as_a_whole(
    make: Callable[[], Any], act: Act, state: Callable[[Any], object], periods: int
) -> None:
    assert check(make, act, state) == periods


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("later", range(8))
def test_a_block_is_new_again_once_it_has_left(place: int, later: int) -> None:
    def make() -> ProcessorCache:
        cache = ProcessorCache(Processor.model_construct(size=64 * BLOCK, ddio=6 * BLOCK))
        # The first two periods displace two blocks.
        for number in range(6):
            cache.place((104 + later if number == 2 + place else number) * BLOCK, BLOCK)
        return cache

    def act(cache: ProcessorCache, turn: int) -> None:
        cache.place((102 + turn) * BLOCK, BLOCK)

    assert check(make, act, in_processor) == (PERIODS if later > place else later)


def test_how_often_it_is_repeated_costs_nothing() -> None:
    """Here it would take days otherwise."""
    often = 10**12
    cache = SetAssociativeCache(16, 2)
    accesses, steps = [(0, 7, 0), (1, 7, 0)], [(0, 1, 0), (0, 1, 0)]
    assert cache.predict(accesses, steps, often) == often
    cache.repeat(accesses, steps, often)
    assert {key for key in range(7 + often - 20, 7 + often + 20) if key in cache} == set(
        range(7 + often - 15, 7 + often + 1)
    )

    processor = ProcessorCache(Processor.model_construct(size=64 * BLOCK, ddio=16 * BLOCK))
    processor.place(0, 16 * BLOCK)
    accesses, steps = [(1, 99 * BLOCK, BLOCK, BLOCK)], [(0, BLOCK, 0, 0)]
    assert processor.predict(accesses, steps, often) == often
    processor.repeat(accesses, steps, often)
    assert list(processor._written) == list(range(99 + often - 15, 99 + often + 1))
