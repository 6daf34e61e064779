"""What the manager of an InfiniBand subnet sets up: virtual lanes, and congestion control.

The keys bear the names that OpenSM's options have behind ``qos_``, ``cc_sw_cong_setting_`` and
``cc_ca_cong_``. Their meaning: InfiniBand Architecture Specification volume 1, 7.6 (virtual lanes)
and annex A10 (congestion control).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import field_validator, model_validator

from hcasim.catalog.link import Seed
from hcasim.catalog.section import Section, key
from hcasim.ground.errors import FaultError
from hcasim.ground.units import Bytes

SERVICE_LEVELS = 16
"""Values of the field of 4 bits in the LRH (7.7.4)."""
UNLIMITED = 255
"""Limit of high priority that is none (7.6.9.2)."""
MOST_ENTRIES = 128
"""Entries of a congestion control table."""


class Share(NamedTuple):
    """An entry of an arbitration table: a virtual lane, and its weight in units of 64 bytes."""

    lane: int
    weight: int


class Delay(NamedTuple):
    """An entry of a congestion control table: ``multiplier`` times a packet's time >> ``shift``."""

    shift: int
    multiplier: int


class Qos(Section):
    """Virtual lanes of all links of a subnet, each with its part of every receive buffer.

    An arbiter sends packets of the lanes in the table of high priority until ``high_limit`` is
    used up; then one packet of the other table may go. The lane of an entry sends packets until
    its weight is used up; the last of them may exceed it.
    """

    max_vls: Literal[1, 2, 4, 8, 15] = key("virtual lanes of data")
    sl2vl: str = key(
        "lanes of the service levels 0 to 15, '0,1,0,1'; others have the lane of the same number, "
        "modulo the lanes",
        default="",
    )
    vlarb_high: str = key("lanes of high priority and their weights, '1:64,2:32'", default="")
    vlarb_low: str = key("likewise of low priority; all others, with equal weights", default="")
    high_limit: int = key(
        "4 KiB that high priority sends before low priority may; 0: a packet, 255: no limit",
        0,
        UNLIMITED,
        default=0,
    )

    @field_validator("vlarb_high", "vlarb_low")
    @classmethod
    def _is_a_table(cls, text: str) -> str:
        for word in _words(text):
            lane, _, weight = word.partition(":")
            if not (lane.isdecimal() and weight.isdecimal()):
                raise FaultError(text, "lanes and weights such as '0:64,1:128'", text=repr(text))
            if int(lane) > 14:
                raise FaultError(text, "lanes 0 to 14: data has no others", text=f"lane {lane}")
            if int(weight) > 255:
                raise FaultError(text, "weights of 0 to 255", text=f"weight {weight}")
        return text

    @field_validator("sl2vl")
    @classmethod
    def _are_lanes(cls, text: str) -> str:
        words = _words(text)
        if not all(word.isdecimal() and int(word) < 15 for word in words) or len(words) > 16:
            raise FaultError(text, "up to 16 lanes of 0 to 14, such as '0,1,0,1'", text=repr(text))
        return text

    @model_validator(mode="after")
    def _serves_its_lanes(self) -> Qos:
        last = self.max_vls - 1
        for level, lane in enumerate(self.lanes):
            if lane > last:
                found, allowed = f"lane {lane} for service level {level}", f"up to lane {last}"
                raise FaultError(self, f"{allowed}, as max_vls says", text=f"sl2vl with {found}")
        tables = self.high, self.low
        served = {one.lane for table in tables for one in table if one.weight}
        if wrong := [one.lane for table in tables for one in table if one.lane > last]:
            allowed = f"up to lane {last}, as max_vls says"
            raise FaultError(self, allowed, text=f"an arbitration table with lane {wrong[0]}")
        if never := sorted({*self.lanes} - served):
            allowed = "a weight above 0 for each lane that a service level has"
            raise FaultError(self, allowed, text=f"lane {never[0]} in no arbitration table")
        return self

    @property
    def lanes(self) -> tuple[int, ...]:
        """The lane of each service level."""
        said = [int(word) for word in _words(self.sl2vl)]
        return (*said, *(level % self.max_vls for level in range(len(said), SERVICE_LEVELS)))

    @property
    def high(self) -> tuple[Share, ...]:
        return _shares(self.vlarb_high)

    @property
    def low(self) -> tuple[Share, ...]:
        if self.vlarb_low:
            return _shares(self.vlarb_low)
        urgent = {one.lane for one in self.high if one.weight}
        return tuple(Share(lane, 64) for lane in range(self.max_vls) if lane not in urgent)


class CongestionControl(Section):
    """Switches that mark packets (FECN), and adapters that are told (BECN) and delay theirs.

    A lane of an output is congested when the packets that wait there exceed what ``threshold``
    says: a part of a receive buffer's share for the lane, of which 15 is the least, a sixteenth, 1
    the most; the specification leaves the parts open. It is no root but a victim of congestion if
    it has waited for credits not long ago, and marks only if ``victim_mask`` has it.
    """

    threshold: int = key("15: marks most; 1: least; 0: no marks", 0, 15)
    marking_rate: int = key("packets that are not marked for each that is, in the mean", 0, 65535)
    packet_size: Bytes = key("packets below are not marked", 0, 0x3FC0)
    victim_mask: Literal["none", "adapters", "all"] = key(
        "outputs that mark though credits are missing, as of slow adapters"
    )
    seed: Seed = key("of the random numbers", default=1)
    ccti_increase: int = key("places that a BECN goes on in the table", 1, 255)
    ccti_timer: int = key("units of 1.024 us after which one is gone back", 1, 65535)
    ccti_min: int = key("least place in the table from the first BECN on", 0, 127)
    cct: str = key("the table, SHIFT:MULTIPLIER of each place; the last is CCTI_Limit")

    @field_validator("cct")
    @classmethod
    def _is_a_table(cls, text: str) -> str:
        allowed = f"up to {MOST_ENTRIES} of shift, 0 to 3, and multiplier, 0 to 16383: '0:0,2:1'"
        words = [word.partition(":") for word in _words(text)]
        if not 0 < len(words) <= MOST_ENTRIES:
            raise FaultError(text, allowed, text=f"{len(words)} entries")
        for shift, _, multiplier in words:
            numbers = shift.isdecimal() and multiplier.isdecimal()
            if not numbers or int(shift) > 3 or int(multiplier) > 16383:
                raise FaultError(text, allowed, text=repr(f"{shift}:{multiplier}"))
        return text

    @model_validator(mode="after")
    def _has_the_least(self) -> CongestionControl:
        if self.ccti_min >= len(self.delays):
            allowed = f"up to {len(self.delays) - 1}, the last place of cct"
            raise FaultError(self, allowed, text=f"ccti_min {self.ccti_min}")
        return self

    @property
    def delays(self) -> tuple[Delay, ...]:
        pairs = (word.split(":") for word in _words(self.cct))
        return tuple(Delay(int(shift), int(multiplier)) for shift, multiplier in pairs)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")] if text else []


def _shares(text: str) -> tuple[Share, ...]:
    pairs = (word.split(":") for word in _words(text))
    return tuple(Share(int(lane), int(weight)) for lane, weight in pairs)
