"""Host memory of connections, against numbers worked out by hand from the drivers' sources."""

from functools import cache

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.workloads.footprint import Component, footprint

KIB = 1024

# What was assumed changes; what the drivers' sources say does not.
FIXED = {
    "stack.driver.reserved_srqs": "0",
    "stack.driver.process": "8 MiB",
    "adapter.limits.max_wr": "65535",
}


@cache
def _machine(mode: str, overrides: tuple[tuple[str, str], ...]) -> Machine:
    settings = FIXED | dict(overrides)
    return resolve("liu2004", adapter="mt25218", overrides=settings, firmware_mode=mode)


def take(mode: str, qps: int, depth: int = 128, **overrides: str) -> tuple[Component, ...]:
    named = {f"stack.driver.{name}": text for name, text in overrides.items()}
    return footprint(_machine(mode, tuple(sorted(named.items()))), qps, depth)


def kib(memory: tuple[Component, ...]) -> dict[str, float]:
    return {one.name: one.size / KIB for one in memory}


def test_128_queue_pairs_with_memory_on_the_adapter() -> None:
    tables = ("qpc", "eqpc", "rdb", "cqc", "srqc", "mpt", "mtt", "mcg", "eqc")
    assert kib(take("mem", 128)) == {
        **{f"icm_{table}": 0 for table in tables},
        "event_queues": 4096 + 8 + 8,  # 131072, 256 and 256 entries of 32 B
        "work_queues": 128 * 16,  # 2 x 128 entries of 64 B
        "completion_queues": 2048,  # 32768 completions and a spare: 65536 entries of 32 B
        "doorbell_records": 0,
        "uar_pages": 4,
        "wr_ids": 128 * 2,
        "process": 8192,
    }


def test_128_queue_pairs_without_memory_on_the_adapter() -> None:
    memory = kib(take("memfree", 128))
    assert {name: memory[name] for name in memory if name.startswith("icm")} == {
        "icm_qpc": 512,  # the firmware's 1024 contexts of 256 B fill the first chunk
        "icm_eqpc": 256,
        "icm_rdb": 256,
        "icm_cqc": 256,
        "icm_srqc": 0,
        "icm_mpt": 256,
        "icm_mtt": 256,
        "icm_mcg": 512,  # all of 8192 entries of 64 B
        "icm_eqc": 4,  # 32 contexts of 64 B in one page
    }
    assert memory["doorbell_records"] == 8  # 129 records of 8 B from either end of a UARC
    others = ("event_queues", "work_queues", "completion_queues", "uar_pages", "wr_ids", "process")
    with_memory = kib(take("mem", 128))
    assert all(memory[name] == with_memory[name] for name in others)


@pytest.mark.parametrize(
    ("table", "last", "chunks"),
    [
        ("icm_qpc", 1024, 2),  # 256 B each, 1024 of the firmware before
        ("icm_eqpc", 8192 - 1024, 1),
        ("icm_rdb", 1024, 1),  # 128 B each, behind the place of the firmware's 1024
        ("icm_mpt", 4096 - 16 - 3 - 1, 1),  # with three event queues and one completion queue
    ],
)
def test_a_table_takes_its_next_chunk_with_the_first_entry_in_it(
    table: str, last: int, chunks: int
) -> None:
    assert kib(take("memfree", last, 1))[table] == chunks * 256
    assert kib(take("memfree", last + 1, 1))[table] == (chunks + 1) * 256


def test_translation_segments_of_a_buffer_are_a_power_of_two() -> None:
    changes = {"adapter.mtt.location": "host", "stack.driver.icm_chunk": "4 KiB"}
    machine = resolve("liu2004", adapter="mt25218", overrides=changes, firmware_mode="mem")
    # 2 x 1152 entries of 64 B are 36 pages, 5 segments of 8 pages, made 8; before those of 64
    # queue pairs are 16 of the firmware and 128 + 1 + 1 of event queues, behind them 2 x 128 of
    # completion queues; 64 segments of 64 B are a chunk.
    segments = 16 + 130 + 64 * 8 + 2 * 128
    assert kib(footprint(machine, 64, 1152))["icm_mtt"] == -(-segments // 64) * 4


@pytest.mark.parametrize(
    ("mode", "depth", "pages"),
    [("mem", 100, 4), ("mem", 97, 4), ("mem", 96, 3), ("memfree", 96, 4), ("memfree", 129, 8)],
)
def test_work_queues_are_whole_pages_and_powers_of_two_in_mode_memfree(
    mode: str, depth: int, pages: int
) -> None:
    assert kib(take(mode, 7, depth))["work_queues"] == 7 * pages * 4


@pytest.mark.parametrize(
    ("qps", "pages", "devices"), [(511, 2, 1), (512, 4, 1), (15871, 62, 1), (15872, 64, 2)]
)
def test_a_device_is_opened_again_when_its_doorbell_records_are_used_up(
    qps: int, pages: int, devices: int
) -> None:
    """64 pages of 512 records, filled from both ends, which may not meet; one for the CQ."""
    memory = kib(take("memfree", qps, 1))
    assert memory["doorbell_records"] == pages * 4
    assert memory["uar_pages"] == devices * 4


def test_completions_beyond_the_largest_queue_take_another() -> None:
    assert kib(take("mem", 1, 65535))["completion_queues"] == 4096  # 131070 and a spare
    assert kib(take("mem", 4, 16384))["completion_queues"] == 2 * 4096  # 131072
    assert kib(take("mem", 1, 1))["completion_queues"] == 4
