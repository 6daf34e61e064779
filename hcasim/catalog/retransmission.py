"""When RoCE sends again what it has sent: the register ROCE_ACCL and its timers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hcasim.catalog.section import (
    Section,
    key,
)
from hcasim.ground.units import Picoseconds

_Step = Annotated[Picoseconds, Field(ge=1, le=10**14)]
_Percent = Annotated[int, Field(ge=1, le=1000)]


class AdaptiveSteps(Section):
    """Times from one transmission of a request to the next, while retransmission is adaptive."""

    step1: _Step = key("to the first retransmission")
    step2: _Step = key("from there to the second")
    step3: _Step = key("to the third")
    step4: _Step = key("to the fourth")
    step5: _Step = key("to the fifth")
    step6: _Step = key("to the sixth")
    step7: _Step = key("to the seventh")
    step8: _Step = key("to the eighth")
    step9: _Step = key("to the ninth")
    step10: _Step = key("to the tenth")

    @property
    def steps(self) -> tuple[int, ...]:
        """All of them in ps, the first one first."""
        return tuple(getattr(self, name) for name in type(self).model_fields)


class RoceTimer(Section):
    """How firmware runs the retry timer over Ethernet, in shares of the local ACK timeout."""

    floor: int = key("smallest exponent of the local ACK timeout that firmware takes", 0, 31)
    interval: _Percent = key("from one regular timeout to the next, in % of that")
    last: _Percent = key("to the end of a request whose retry_cnt is 0, in % of that")
    first_without_floor: _Percent = key("to the first timeout without the floor, in %")
    interval_without_floor: _Percent = key("from one timeout to the next without it, in %")
    adaptive: AdaptiveSteps


class RoceAccl(Section):
    """The register ROCE_ACCL, by its fields: how RoCE deals with networks that lose packets.

    Source: NVIDIA, "Adaptive Retransmission: Parameters Control", whose sample shows adaptive
    retransmission and slow restart enabled, and selective repeat not forced. Whether adapters agree
    on that unforced, and which do, is not published.
    """

    roce_adp_retrans_en: bool = key("adaptive retransmission before regular timeouts")
    roce_slow_restart_en: bool = key(
        "slow restart after a retransmission, which is taken for a notice of congestion (CNP)"
    )
    roce_slow_restart_idle_en: bool = key("slow restart after a pause; of no effect here")
    roce_tx_window_en: bool = key("a window of packets in flight; of no effect here")
    min_ack_timeout_limit_disabled: bool = key("short local ACK timeouts are taken as they are")
    adaptive_routing_forced_en: bool = key("packets out of order are expected; of no effect here")
    selective_repeat_forced_en: bool = key(
        "only packets that are missing are sent again, alike at both ends"
    )
    timer: RoceTimer
