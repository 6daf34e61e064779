"""Memory of processes: late writes and early reads never show."""

from __future__ import annotations

import ctypes
import mmap
import os

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hcasim.launch.memory import Bank, Memory

SIZE = 200_000
PLACES = st.sampled_from([0, 63, 4096, 65537])
LENGTHS = st.sampled_from([1, 64, 65536])


@settings(max_examples=200)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from("rwnnp"), st.integers(0, 1), PLACES, LENGTHS),
        min_size=20,
        max_size=40,
    )
)
@example(steps=[("w", 0, 4096, 64), ("r", 0, 0, 64), ("n", 0, 0, 1), ("r", 0, 4096, 64)])
def test_adapters_and_programs_see_what_was_written_last(
    steps: list[tuple[str, int, int, int]],
) -> None:
    # Two processes that share all their memory, at different addresses.
    file = os.memfd_create("shared")
    os.ftruncate(file, SIZE)
    maps = [mmap.mmap(file, SIZE) for _ in range(2)]
    os.close(file)
    starts = [ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in maps]
    memory = maps[0]
    expected = bytearray(SIZE)
    unsettled: list[Bank] = []
    bank = Bank(unsettled)
    both = [Memory(os.open("/proc/self/mem", os.O_RDWR), bank, lambda: None) for _ in range(2)]
    behind = 0
    for number, (step, who, place, length) in enumerate(steps):
        data = bytes([number + 1]) * length
        if step == "n":  # what lies behind the last step's bytes
            place = behind
        if step in "rn":
            assert both[who].read(starts[who] + place, length) == expected[place : place + length]
        else:
            expected[place : place + length] = data
            if step == "w":
                both[who].write(starts[who] + place, data)
            else:  # A program goes on, and writes.
                for one in unsettled:
                    one.settle()
                unsettled.clear()
                memory[place : place + length] = data
                assert memory[:] == expected
        behind = place + length if place + length < SIZE // 2 else 0
    for one in both:
        one.close()
    assert memory[:] == expected


def test_not_much_waits_to_be_written() -> None:
    memory = mmap.mmap(-1, 4 << 20)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    one = Memory(os.open("/proc/self/mem", os.O_RDWR), Bank([]), lambda: None)
    for place in range(0, len(memory), 4096):
        one.write(start + place, b"x" * 4096)
    assert memory[: 3 << 20].count(b"x") == 3 << 20
    one.close()
    assert memory[:].count(b"x") == len(memory)
