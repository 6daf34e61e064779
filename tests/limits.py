"""When a thing counts as one that would never end."""

import contextlib
import signal
from collections.abc import Iterator

SLOW = 60
"""Seconds of the processor: many times what a loaded machine takes for any of them."""


@contextlib.contextmanager
def promptly(seconds: float = SLOW) -> Iterator[None]:
    """Fail in the middle of what takes more time of the processor, or would never end."""

    def fail(number: int, frame: object) -> None:
        raise AssertionError(f"it took more than {seconds} s of the processor")

    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
