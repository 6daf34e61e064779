"""What the cache of a socket holds."""

from hcasim.catalog.host import ProcessorCache as Description
from hcasim.host.cache import BLOCK, ProcessorCache


def cache(blocks: int = 4, ddio: int = 0) -> ProcessorCache:
    rate = 10**9
    return ProcessorCache(
        Description.model_construct(
            size=blocks * BLOCK, hit_bandwidth=rate, miss_bandwidth=rate, ddio=ddio * BLOCK
        )
    )


def test_what_was_used_last_is_held() -> None:
    held = cache(4)
    assert held.access(0, 4 * BLOCK) == 4 * BLOCK
    assert held.access(0, BLOCK) == 0
    assert held.access(4 * BLOCK, BLOCK) == BLOCK  # in the place of the second
    assert held.access(2 * BLOCK, 2 * BLOCK) == 0
    assert held.access(0, BLOCK) == 0
    assert held.access(BLOCK, BLOCK) == BLOCK


def test_no_more_is_missed_than_was_asked_for() -> None:
    assert cache().access(BLOCK - 1, 2) == 2
    assert cache().access(3, 5) == 5


def test_what_is_written_elsewhere_is_forgotten() -> None:
    held = cache()
    held.access(0, 3 * BLOCK)
    held.invalidate(BLOCK + 8, 8)
    assert held.access(0, 3 * BLOCK) == BLOCK


def test_a_device_fills_its_part_and_no_more() -> None:
    held = cache(4, ddio=2)
    assert held.ddio
    assert held.place(0, 2 * BLOCK) == 0
    assert held.place(0, 2 * BLOCK) == 0
    assert held.place(2 * BLOCK, BLOCK) == BLOCK
    assert held.access(BLOCK, 2 * BLOCK) == 0
    assert held.access(0, BLOCK) == BLOCK


def test_a_device_writes_over_what_the_processor_holds() -> None:
    held = cache(4, ddio=1)
    held.access(0, 3 * BLOCK)
    assert held.place(0, 3 * BLOCK) == 0
    assert not cache().ddio
