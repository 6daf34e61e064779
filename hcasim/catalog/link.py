"""The links between adapters and switches, what adapters speak over them, and their MTUs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from hcasim.catalog.fields import Leaf
from hcasim.catalog.section import PLAIN, SETTING, Evidence, Latency, Section, Value, key, optional
from hcasim.ground.errors import Fault, FaultError
from hcasim.ground.units import DELAY, LENGTH, SHARE, SIZE

_8B10B = Fraction(8, 10)
_64B66B = Fraction(64, 66)
_RS_FEC = Fraction(256, 257) * Fraction(514, 544)


class Lane(NamedTuple):
    """Gbit/s that one lane of an InfiniBand link signals, and the share of them that is data."""

    gigabits: Fraction
    coding: Fraction


LANES: Mapping[str, Lane] = {
    "SDR": Lane(Fraction("2.5"), _8B10B),
    "DDR": Lane(Fraction(5), _8B10B),
    "QDR": Lane(Fraction(10), _8B10B),
    "FDR10": Lane(Fraction("10.3125"), _64B66B),
    "FDR": Lane(Fraction("14.0625"), _64B66B),
    "EDR": Lane(Fraction("25.78125"), _64B66B),
    "HDR": Lane(Fraction("53.125"), _RS_FEC),
    "NDR": Lane(Fraction("106.25"), _RS_FEC),
}
"""By the name of its speed.

InfiniBand Architecture Specification volume 2, chapters 5 and 6: 8b/10b up to QDR, 64b/66b from
FDR10 on (IEEE 802.3 clause 49), where an FEC of FDR and EDR takes the room of the synchronisation
bits (clauses 74 and 91) and slows nothing. Lanes of PAM4 carry four 64-bit blocks in 257 bits
(256b/257b, clause 119.2.4.2), and 514 symbols of a code word of 544 (RS(544,514), clause
119.2.4.6).
"""

Speed = Literal["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR"]
Width = Literal[1, 2, 4, 8, 12]
Gigabits = Literal[1, 10, 25, 40, 50, 100, 200, 400]
CableLength = Annotated[int, LENGTH, Field(ge=0, le=10**8)]
Propagation = Annotated[int, DELAY, Field(ge=3335, le=10**5)]
CreditUpdate = Annotated[int, SIZE, Field(ge=1, le=2**20)]
Share = Annotated[int, SHARE, Field(ge=0, le=10**9)]
Seed = Annotated[int, SETTING, Field(ge=0, le=2**31 - 1)]


class Code(NamedTuple):
    """Bits of data in a code word of an error correction, which each lane may have of its own."""

    bits: int
    per_lane: bool


CODES: Mapping[str, Code] = {
    "none": Code(0, per_lane=False),
    "firecode": Code(32 * 64, per_lane=True),
    "rs272": Code(2560, per_lane=False),
    "rs528": Code(5120, per_lane=False),
    "rs544": Code(5120, per_lane=False),
}
"""By name: 2112 bits for 32 blocks of 64 bits (IEEE 802.3 clause 74), and the Reed-Solomon codes of
272, 528 and 544 symbols of 10 bits, of which 257 and 514 hold blocks of four times 64 bits in 257
(clauses 91 and 119): 5280 bits take 51.2 ns on lanes that carry 100 Gbit/s of data."""


class Fec(Section):
    """A forward error correction, whose receiver waits for a code word before it uses any of it."""

    code: Literal["none", "firecode", "rs272", "rs528", "rs544"] = key(
        "kind, which changes no rate: the speed has that in it"
    )
    decoding: Latency = key("last bit of a code word to its data being corrected")


_Fec = Annotated[Fec | None, Field(default=None, description="of links that correct errors")]


class InfinibandLink(Section):
    """InfiniBand links (InfiniBand Architecture Specification volume 2)."""

    kind: Annotated[Literal["infiniband"], PLAIN] = "infiniband"
    speed: Speed = key("lane rate, by its InfiniBand name")
    width: Width = key("lanes")
    cable_length: CableLength = key("length of each cable")
    propagation: Propagation = key("delay of the cable; light in vacuum takes 3.336 ns/m")
    credit_update: CreditUpdate = key("receive buffer freed between two flow-control packets")
    loss: Share | None = optional("packets of each direction that do not arrive")
    corruption: Share | None = optional("packets of each direction that arrive with a wrong CRC")
    loss_seed: Seed | None = optional("of the random numbers, of which each direction has its own")
    fec: _Fec


class EthernetLink(Section):
    """Full-duplex Ethernet links that pause rather than overflow (IEEE 802.3, 802.3x)."""

    kind: Annotated[Literal["ethernet"], PLAIN] = "ethernet"
    gigabits: Gigabits = key("data rate in Gbit/s, line coding taken off")
    cable_length: CableLength = key("length of each cable")
    propagation: Propagation = key("delay of the cable; light in vacuum takes 3.336 ns/m")
    loss: Share | None = optional("packets of each direction that do not arrive")
    corruption: Share | None = optional("packets of each direction that arrive with a wrong CRC")
    loss_seed: Seed | None = optional("of the random numbers, of which each direction has its own")
    fec: _Fec


Link = Annotated[InfinibandLink | EthernetLink, Field(discriminator="kind")]


class PortLink(Section):
    """The fastest links that the ports of adapter and switches take, whatever these are."""

    kind: Annotated[Literal["port"], PLAIN] = "port"
    carries: Annotated[Literal["infiniband", "ethernet"] | None, PLAIN] = optional(
        "their kind, where ports take both"
    )
    cable_length: CableLength = key("length of each cable")
    propagation: Propagation = key("delay of the cable; light in vacuum takes 3.336 ns/m")
    credit_update: CreditUpdate = key(
        "receive buffer freed between two flow-control packets (InfiniBand)"
    )
    decoding: Latency = key("last bit of a code word to its data, if the rate has error correction")
    loss: Share | None = optional("packets of each direction that do not arrive")
    corruption: Share | None = optional("packets of each direction that arrive with a wrong CRC")
    loss_seed: Seed | None = optional("of the random numbers, of which each direction has its own")


AnyLink = Annotated[InfinibandLink | EthernetLink | PortLink, Field(discriminator="kind")]

Usual = tuple[str, Evidence, str]
"""The code that links of a rate have on a short cable of copper, its evidence and its source."""
_PAM4: Usual = ("rs544", "spec", "lanes of PAM4 always have RS(544,514)")
_CR4: Usual = ("rs528", "spec", "IEEE 802.3 clause 92: 100GBASE-CR4 has RS(528,514)")
NO_CODE: Usual = ("none", "assumed", "lanes of up to 25 Gbit/s do without on a short copper cable")
USUAL_CODES: Mapping[Value, Usual] = {**dict.fromkeys(("HDR", "NDR", 200, 400), _PAM4), 100: _CR4}
"""By the speed of InfiniBand or the Gbit/s of Ethernet; NO_CODE for others."""


def rate_order(rate: Value) -> int:
    """A number by which a lane rate, lanes or Gbit/s can be compared with others of its key."""
    return [*LANES].index(rate) if isinstance(rate, str) else int(rate)


RATES: Mapping[str, tuple[str, ...]] = {"infiniband": ("speed", "width"), "ethernet": ("gigabits",)}
"""What says how fast a link is, by its kind."""


class LinkChanges(Section):
    """Where some links differ from the others."""

    speed: Speed | None = optional("lane rate, by its InfiniBand name")
    width: Width | None = optional("lanes")
    gigabits: Gigabits | None = optional("data rate in Gbit/s, line coding taken off")
    cable_length: CableLength | None = optional("length of each cable")
    propagation: Propagation | None = optional("delay of the cable; light in vacuum: 3.336 ns/m")
    credit_update: CreditUpdate | None = optional("buffer freed between flow-control packets")
    loss: Share | None = optional("packets of each direction that do not arrive")
    corruption: Share | None = optional("packets of each direction that arrive with a wrong CRC")
    loss_seed: Seed | None = optional("of the random numbers, of which each direction has its own")


class InfinibandProtocol(Section):
    """The reliable connection service of InfiniBand, which leaves nothing to choose."""

    kind: Annotated[Literal["infiniband"], PLAIN] = "infiniband"


class Rocev2Protocol(Section):
    """InfiniBand's transport in UDP datagrams (InfiniBand specification volume 1, annex A17)."""

    kind: Annotated[Literal["rocev2"], PLAIN] = "rocev2"
    ip: Literal["ipv4", "ipv6"] = key("version of IP", default="ipv4")
    vlan: int | None = optional(
        "VLAN that a tag of each frame names, beside its priority, which is in the DSCP without a "
        "tag; 0: the priority alone",
        0,
        4094,
    )


class IwarpProtocol(Section):
    """RDMAP over DDP over MPA over TCP (RFC 5040, 5041 and 5044)."""

    kind: Annotated[Literal["iwarp"], PLAIN] = "iwarp"
    markers: bool = key("MPA puts a marker every 512 bytes into the TCP stream")
    timestamps: bool = key("TCP segments carry the timestamps option")


Protocol = Annotated[
    InfinibandProtocol | Rocev2Protocol | IwarpProtocol, Field(discriminator="kind")
]

LINK_OF: Mapping[str, str] = {"infiniband": "infiniband", "rocev2": "ethernet", "iwarp": "ethernet"}
"""The kind of link that each protocol runs on."""
MTU_OF: Mapping[str, str] = {**LINK_OF, "rocev2": "infiniband"}
"""The kind of MTU that a connection of each protocol has."""


class Port(Section):
    """The fastest links of each port; an adapter of both kinds speaks the protocol of its link."""

    speed: Speed | None = optional("InfiniBand: lane rate, by its name")
    width: Width | None = optional("InfiniBand: lanes")
    gigabits: Gigabits | None = optional("Ethernet: data rate in Gbit/s")

    @model_validator(mode="after")
    def _is_some_link(self) -> Port:
        if (self.speed is None) != (self.width is None):
            raise FaultError(self, "both or none", text="one of speed and width")
        if self.speed is None and self.gigabits is None:
            raise FaultError(self, "speed and width, gigabits or all of them", text="no link")
        return self


def spoken(kind: str, port: Mapping[str, object]) -> tuple[str, ...]:
    """The protocols of an adapter by its section `port`, that of its description first."""
    if kind == "iwarp":
        return (kind,)
    both = (("infiniband", "speed" in port), ("rocev2", "gigabits" in port))
    return (kind, *(other for other, has in both if has and other != kind))


LARGEST_MTU = 9216

MTUS: Mapping[str, Leaf] = {
    "infiniband": Leaf(int, SIZE, (256, 512, 1024, 2048, 4096)),
    # From what every IPv4 host must take (RFC 791) to what jumbo frames usually allow.
    "ethernet": Leaf(int, SIZE, low=576, high=LARGEST_MTU),
}
"""By kind: the payload of an InfiniBand packet, or the IP packet of an Ethernet frame."""


def mtu_fault(mtu: object, found: str, *kinds: str) -> Fault | None:
    """Say what is allowed if an MTU in bytes, given as `found`, is of none of some kinds."""
    leaves = [MTUS[kind] for kind in kinds]
    if type(mtu) is int and any(leaf.allows(mtu) for leaf in leaves):
        return None
    return Fault("", mtu, ", or ".join(leaf.allowed for leaf in leaves), text=found)


AROUND_ROCE = 96
"""Bytes beside the data that Linux leaves in an IP packet for all headers that RoCE may have
(include/rdma/ib_addr.h, iboe_get_mtu)."""


def roce_mtu(mtu: int) -> int:
    """The path MTU of RoCEv2 where ``mtu`` is its name, or the largest IP packet.

    What InfiniBand has is the name of a path MTU: 4096 is 4096, but 1500 leaves room for 1024.
    """
    paths = [int(path) for path in MTUS["infiniband"].choices]
    fitting = (path for path in paths if path == mtu or path + AROUND_ROCE <= mtu)
    return max(fitting, default=min(paths))


def path_mtus(kind: str, largest: int) -> str:
    """The MTUs of a kind up to ``largest`` bytes, for messages."""
    leaf = MTUS[kind]
    if leaf.choices:
        return ", ".join(str(size) for size in leaf.choices if int(size) <= largest)
    return f"{leaf.low} to {largest}"
