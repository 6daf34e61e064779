"""Congestion control over Ethernet: what adapters tell each other, and how fast they may send.

Values that a description leaves out are those of the algorithm's paper, or what simulation/run.py
of github.com/alibaba-edu/High-Precision-Congestion-Control sets for links of 100 Gbit/s.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.link import Share
from hcasim.catalog.section import Latency, Section, key
from hcasim.ground.units import Bytes, Picoseconds

Algorithm = Literal["dcqcn", "none", "fixed_window", "dctcp", "timely", "hpcc", "swift"]
_Microseconds = Annotated[Picoseconds, Field(ge=1, le=10**12)]
_Megabits = Annotated[int, Field(ge=1, le=10**6)]
_Fixed = Annotated[int, Field(ge=0, le=1023)]
_HeaderBytes = Annotated[Bytes, Field(ge=0, le=256)]


class Dcqcn(Section):
    """How a queue pair changes its rate (reaction point), by the names that mstconfig has."""

    clamp_tgt_rate: bool = key("a cut makes the rate before it the target")
    clamp_tgt_rate_after_time_inc: bool = key(
        "likewise if the timer has increased the rate since the last; if bytes have, any cut does"
    )
    rpg_time_reset: _Microseconds = key("from a cut to an increase of the rate, and to the next")
    rpg_byte_reset: Bytes = key("bytes likewise; 0: none are counted", 0, 2**40)
    rpg_threshold: int = key("increases of each kind before the target grows", 1, 31)
    rpg_ai_rate: _Megabits = key("Mbit/s by which the target grows")
    rpg_hai_rate: _Megabits = key("Mbit/s by which it grows when both kinds are through")
    rpg_gd: int = key("a cut takes alpha of 1024 / 2^rpg_gd of the rate", 10, 15)
    rpg_min_dec_fac: int = key("least share of the rate that a cut leaves, in %", 1, 100)
    rpg_min_rate: _Megabits = key("least rate in Mbit/s")
    dce_tcp_g: _Fixed = key("share of alpha that each period leaves, of 1024")
    dce_tcp_rtt: _Microseconds = key("period of alpha")
    rate_reduce_monitor_period: _Microseconds = key(
        "periods from the first CNP on, at whose beginning a CNP in the one before cuts"
    )
    initial_alpha_value: _Fixed = key("alpha at the first CNP, of 1024")


class Dctcp(Section):
    """DCTCP (Alizadeh and others, SIGCOMM 2010, section 3), of rates as in that simulator."""

    gain: Share = key("weight of the last round trip in the share of marked packets")
    ai_rate: _Megabits = key("Mbit/s by which the rate grows in a round trip without marks")
    min_rate: _Megabits = key("least rate in Mbit/s")


class Timely(Section):
    """TIMELY (Mittal and others, SIGCOMM 2015, section 4), once in a round trip."""

    alpha: Share = key("weight of the last difference of round trips in their average")
    beta: Share = key("share of the gradient that a decrease takes")
    t_low: Latency = key("round trip below which the rate grows whatever the gradient")
    t_high: Latency = key("round trip above which it falls whatever the gradient")
    min_rtt: _Microseconds = key("what a difference is measured by")
    ai_rate: _Megabits = key("Mbit/s by which the rate grows")
    hai_rate: _Megabits = key("Mbit/s by which it grows after hai_after increases in a row")
    hai_after: int = key("increases in a row", 1, 1000)
    min_rate: _Megabits = key("least rate in Mbit/s")
    header: _HeaderBytes = key("bytes of a packet, and of its answer, for the time it left")


class Hpcc(Section):
    """HPCC (Li and others, SIGCOMM 2019, section 3), with what switches write into packets."""

    target: Share = key("utilisation of links that it aims at, eta")
    stages: int = key("increases in a row before the rate follows the utilisation", 0, 1000)
    ai_rate: _Megabits = key("Mbit/s by which the rate grows besides")
    min_rate: _Megabits = key("least rate in Mbit/s")
    header: _HeaderBytes = key("bytes of a packet, and of its answer, for what switches write")
    byte_unit: Bytes = key("what switches count the bytes by that they have sent", 1, 2**16)
    queue_unit: Bytes = key("what they count the bytes of queues by", 1, 2**16)


class Swift(Section):
    """Swift (Kumar and others, SIGCOMM 2020, section 3), by the names of its paper but for hops."""

    base_target: Latency = key("delay that it tends to, without switches and with large windows")
    per_hop: Latency = key("by which it is longer for each switch on the way")
    hops: int = key("switches on the way", 0, 64)
    fs_range: Latency = key("by which it is longer with windows of fs_min_cwnd and less")
    fs_min_cwnd: Share = key("window, of a packet, below which it is no longer", gt=0)
    fs_max_cwnd: int = key("window, in packets, above which it is no longer", 2, 10_000)
    ai: int = key("packets by which the window grows in a round trip", 1, 1000)
    beta: Share = key("share of the excess of the delay, of the delay, that a decrease takes")
    max_mdf: Share = key("largest share of the window that a decrease takes")
    min_cwnd: Share = key("least window, of a packet", gt=0)
    max_cwnd: int = key("largest window, in packets", 1, 10**6)
    header: _HeaderBytes = key("bytes of a packet, and of its answer, for the time it left")


DCTCP = Dctcp(gain=62_500_000, ai_rate=615, min_rate=1000)
"""Gain 1/16 (paper, section 3.1); rates of run.py."""
TIMELY = Timely(
    alpha=875_000_000,
    beta=800_000_000,
    t_low=50_000_000,
    t_high=500_000_000,
    min_rtt=20_000_000,
    ai_rate=100,
    hai_rate=500,
    hai_after=5,
    min_rate=1000,
    header=8,
)
"""Times and shares of rdma-hw.cc (paper, section 6); rates of run.py."""
SWIFT = Swift(
    base_target=20_000_000,
    per_hop=3_053_000,
    hops=1,
    fs_range=100_000_000,
    fs_min_cwnd=100_000_000,
    fs_max_cwnd=100,
    ai=1,
    beta=800_000_000,
    max_mdf=500_000_000,
    min_cwnd=10_000_000,
    max_cwnd=1000,
    header=8,
)
"""As github.com/Broadcom/csg-htsim, sim/swift.cpp, guesses them: the paper leaves most open."""
HPCC = Hpcc(
    target=950_000_000,
    stages=0,
    ai_rate=40,
    min_rate=1000,
    header=42,
    byte_unit=512,
    queue_unit=320,
)
"""As run.py sets them; five hops of 8 bytes and their count (int-header.h); units times 4."""


class RoceCc(Section):
    """Congestion control over Ethernet: what is told of packets that switches mark, and done.

    DCQCN acts from the first CNP on, for sends, writes and responses of reads. The others act for
    sends and writes of reliable connections, from the first packet on, by their acknowledgements:
    `ack.interval` 1 lets each packet have one.
    """

    algorithm: Algorithm = key("what sets the rate", default="dcqcn")
    window: Literal["usual", "none", "fixed", "by_rate"] = key(
        "bytes not acknowledged, at most: what the line carries in round_trip, that much by the "
        "rate's share of it; usual is what simulation/run.py has with the algorithm",
        default="usual",
    )
    round_trip: _Microseconds = key("longest round trip without other traffic", default=13_000_000)
    from_first: bool = key(
        "DCQCN, too, holds packets back from the first on, to the rate of the line", default=False
    )
    ahead: int = key(
        "packets of a queue pair in the port that have not left, at most, from the first on",
        1,
        4096,
        default=16,
    )
    min_time_between_cnps: Latency = key("from one CNP to the next")
    cnp_limit: Literal["port", "address_pair", "queue_pair"] = key("which CNPs that is for")
    cnp_802p_prio: int = key("priority of CNPs", 0, 7)
    cnp_with_nak: bool = key("a NAK of missing packets brings a CNP")
    dcqcn: Dcqcn
    dctcp: Dctcp = key("parameters of DCTCP", default=DCTCP)
    timely: Timely = key("parameters of TIMELY", default=TIMELY)
    hpcc: Hpcc = key("parameters of HPCC", default=HPCC)
    swift: Swift = key("parameters of Swift", default=SWIFT)

    @property
    def acts_from_first(self) -> bool:
        return self.algorithm != "dcqcn" or self.from_first or self.limits != "none"

    @property
    def limits(self) -> str:
        """What its window is: none, fixed, or by_rate."""
        return _USUAL.get(self.algorithm, "none") if self.window == "usual" else self.window


_USUAL = {"fixed_window": "fixed", "swift": "fixed", "dctcp": "by_rate", "hpcc": "by_rate"}
