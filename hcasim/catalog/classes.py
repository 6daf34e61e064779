"""What an output of an Ethernet switch does with its priorities: traffic classes, a watchdog."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hcasim.catalog.section import Section, key
from hcasim.ground.errors import FaultError, one_of
from hcasim.ground.units import Picoseconds

PRIORITIES = 8
"""Of a frame (IEEE 802.1Q)."""
_KINDS = ("strict", "ets")
_Time = Annotated[Picoseconds, Field(ge=10**6, le=6 * 10**13)]


class TrafficClasses(Section):
    """Classes of priorities at each output (IEEE 802.1Qaz), by the names of mlnx_qos.

    Strict classes go first, that with the largest number before all. Those with enhanced
    transmission selection share what is left by their weights; what one does not use goes to the
    others.
    """

    prio_tc: str = key("class of each priority, from 0: eight numbers, such as 0,0,0,1,0,0,2,0")
    tsa: str = key("strict or ets, of each class from 0")
    tcbw: str = key("weight of each ets class in percent, 100 together; 0 of strict ones")

    @model_validator(mode="after")
    def _fits(self) -> TrafficClasses:
        kinds, found = _words(self.tsa), _words(self.tcbw)
        many = len(kinds)
        if many > PRIORITIES or not set(kinds) <= set(_KINDS):
            raise FaultError(self, f"up to 8 times {one_of(_KINDS)}", text=f"tsa {self.tsa!r}")
        known = [str(number) for number in range(many)]
        if len(_words(self.prio_tc)) != PRIORITIES or not set(_words(self.prio_tc)) <= set(known):
            allowed = f"8 numbers of classes, 0 to {many - 1}, as many as tsa names"
            raise FaultError(self, allowed, text=f"prio_tc {self.prio_tc!r}")
        numbers = [int(word) if word.isdecimal() else -1 for word in found]
        right = [
            (kind == "ets") == (share > 0) for kind, share in zip(kinds, numbers, strict=False)
        ]
        total = 100 if "ets" in kinds else 0
        if len(numbers) != many or not all(right) or sum(numbers) != total:
            allowed = f"{many} weights, 0 of strict classes, {total} together"
            raise FaultError(self, allowed, text=f"tcbw {self.tcbw!r}")
        return self

    @property
    def of_priorities(self) -> list[int]:
        return [int(word) for word in _words(self.prio_tc)]

    @property
    def weights(self) -> list[int]:
        """Of each class; 0 of strict ones."""
        return [int(word) for word in _words(self.tcbw)]


class Watchdog(Section):
    """Looks after outputs whose packets of a priority are paused for long, as pfcwd of SONiC does.

    Then it drops them, and those that come, or forwards them; until there has been no pause for a
    time.
    """

    detection_time: _Time = key("of a pause in which packets wait")
    restoration_time: _Time = key("without a pause, until pauses are obeyed again")
    action: Literal["drop", "forward", "alert"] = key("what it does; an alert only counts")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]
