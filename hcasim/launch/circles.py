"""Circles: a thread that asks the same questions again and again, and always finds nothing."""

from __future__ import annotations

from typing import Final, NamedTuple

from hcasim.launch.channel import Words

_KEPT: Final = 64
"""Questions of the longest round: a thread with a longer one is not seen to go round."""
_LONGEST_PS: Final = 100_000_000
_PART: Final = 32
"""A thread that reads the clock on its way may wait for a time: it rests at most so long, and at
most this part of the time since it began to go round."""
_SHORTEST_PS: Final = 1000
_RESUMED: Final = 10_000
"""How often a thread goes round though nothing can happen any more: it may count its rounds."""


class Nothing(NamedTuple):
    """The answer of a call that looked and found nothing."""

    error: int = 0
    words: Words = ()
    data: bytes = b""


class Circle:
    """The last questions of a thread, all of which found nothing.

    Attributes:
        resumed: how often it went round because nothing else could happen.
    """

    def __init__(self) -> None:
        self.resumed = 0
        self._keys: list[tuple[object, ...]] = []
        self._times: list[int] = []
        self._stamps: list[int] = []
        self._period = 0
        self._same = 0
        self._rested_ps = 0
        self._began_ps = 0
        self._clock = False

    @property
    def begun(self) -> bool:
        """Whether the last question found nothing."""
        return bool(self._keys)

    def add(self, key: tuple[object, ...], now_ps: int, stamp: int, clock: bool) -> bool:
        """Note a question that was answered.

        Args:
            key: what was asked and answered.
            stamp: how much had happened before it was asked.
            clock: whether the clock has been read since the last one.

        Returns:
            Whether the thread has gone round twice.
        """
        keys, period = self._keys, self._period
        if not keys:
            self._began_ps = now_ps
        if period and keys[-period] == key:
            self._same += 1
        else:
            longest = min(len(keys), _KEPT)
            before = (back for back in range(1, longest + 1) if keys[-back] == key)
            self._period = period = next(before, 0)
            self._same = 1
        keys.append(key)
        self._times.append(now_ps - self._rested_ps)
        self._stamps.append(stamp)
        self._clock |= clock
        if len(keys) > 2 * _KEPT:
            del keys[:_KEPT], self._times[:_KEPT], self._stamps[:_KEPT]
        return 0 < period <= self._same

    def began(self) -> int:
        """How much had happened when the last round began."""
        return self._stamps[-self._period]

    def round_ps(self) -> int:
        """How long a round takes."""
        return max(_SHORTEST_PS, self._times[-1] - self._times[-1 - self._period])

    def longest_ps(self) -> int:
        """How long the thread may rest, if it reads the clock; 0 is for ever."""
        if not self._clock:
            return 0
        longest = (self._times[-1] + self._rested_ps - self._began_ps) // _PART
        return max(self.round_ps(), min(longest, _LONGEST_PS))

    def rested(self, duration_ps: int) -> None:
        self._rested_ps += duration_ps

    def resume(self) -> bool:
        self.resumed += 1
        return self.resumed <= _RESUMED
