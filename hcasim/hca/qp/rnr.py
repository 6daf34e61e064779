"""How long a requester waits for a receiver that is not ready, as codes of 5 bits say it."""

from __future__ import annotations

from typing import Final

TICK_PS: Final = 10_000_000
"""The shortest pause: 0.01 ms."""
CODES: Final = 32


def rnr_timer_ps(code: int) -> int:
    """Return the pause of a code, 0 to 31, in ps; that of 0 is the longest, 655.36 ms.

    Source: InfiniBand Architecture Specification volume 1, 9.7.5.2.8, table 45; Linux,
    include/rdma/ib_verbs.h, ib_rnr_timeout.
    """
    if code == 0:
        return TICK_PS << 16
    return TICK_PS if code == 1 else TICK_PS * (2 + code % 2) << code // 2 >> 1


def rnr_timer_code(duration_ps: int) -> int:
    """Return the code of the shortest pause that is not shorter than a time in ps."""
    for code in range(1, CODES):
        if rnr_timer_ps(code) >= duration_ps:
            return code
    return 0
