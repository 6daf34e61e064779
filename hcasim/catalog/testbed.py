"""A testbed: its parts, and the switches and networks that connect them, by kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hcasim.catalog.buses import Mmrbc
from hcasim.catalog.classes import TrafficClasses, Watchdog
from hcasim.catalog.link import AnyLink, LinkChanges, Port, PortLink, Seed, Share, mtu_fault
from hcasim.catalog.section import (
    PLAIN,
    SETTING,
    Description,
    Latency,
    Names,
    Refers,
    Section,
    Size,
    key,
    optional,
)
from hcasim.catalog.subnet import CongestionControl, Qos
from hcasim.ground.errors import FaultError, nearest, one_of
from hcasim.ground.units import SHARE, Bytes, format_size

SwitchName = Annotated[str, Refers("switches")]
Arbitration = Literal["round_robin", "oldest_first"]
"""Names of the classes in `hcasim.fabric.arbitration`."""
Forwarding = Literal["cut_through", "store_and_forward"]
Routing = Literal["destination", "ecmp", "adaptive", "spray"]
"""How one of equally short ways is chosen; names of the classes in `hcasim.fabric.routing`."""
Shape = tuple[tuple[int, int, int], ...]
"""Children, parents and cables to each parent, level by level."""


Alpha = Annotated[int, SHARE, Field(ge=10**6, le=128 * 10**9)]
Profile = Literal["lossless", "lossy-ecn", "early-drop", "tail-drop"]


class Marking(Section):
    """ECN marks by the length of an output queue (RED, RFC 3168); early drops, likewise."""

    kmin: Size = key("queue up to which no packet is marked or dropped")
    kmax: Size = key("queue beyond which every packet is")
    pmax: Share = key("packets that are where the queue is that long")
    seed: Seed = key("of the random numbers", default=1)

    @model_validator(mode="after")
    def _is_a_ramp(self) -> Marking:
        if self.kmin > self.kmax:
            found, most = format_size(self.kmin), format_size(self.kmax)
            raise FaultError(self, f"at most kmax, {most}", text=f"kmin {found}")
        return self


class PacketMemory(Section):
    """Memory for packets that all ports of an Ethernet switch share.

    A packet takes room of the input that it came by, first from what is reserved for it. With the
    profile "lossless" an input that has more than its part pauses its sender by priority (IEEE
    802.1Qbb), and what still comes goes to the headroom; with others a packet is dropped whose
    output queue has more than its part. With "tail-drop" none is marked; with "early-drop" packets
    are dropped that would be marked, as those without ECN are (WRED). The part is ``alpha`` times
    what is free (Choudhury and Hahne, IEEE/ACM Transactions on Networking 1998).
    """

    size: Size = key("all of it")
    profile: Profile = key("when it fills: pause and mark, mark and drop, drop early, drop")
    alpha: Alpha = key("most that one input or output queue takes, as a share of what is free")
    reserve: Bytes = key("of each priority of a port, for itself", 0, 2**24)
    headroom: Bytes = key("of each port, for what comes after a pause", 0, 2**24)
    resume: Bytes = key("below its part by so much, an input lets its sender go on", 0, 2**24)
    reaction: Latency = key("frame that pauses has come to no more packets beginning to leave")
    telemetry: bool = key(
        "writes into packets that have room for it how full the output is", default=False
    )
    marking: Marking | None = optional("marks of congestion, or early drops")
    classes: TrafficClasses | None = optional("of priorities, which take turns without")
    watchdog: Watchdog | None = optional("of outputs that are paused for long")

    @model_validator(mode="after")
    def _can_pause(self) -> PacketMemory:
        if self.pauses and not self.headroom:
            raise FaultError(self, "more than 0 B of headroom with pauses", text="headroom 0 B")
        if self.drops_early and self.marking is None:
            raise FaultError(self, "memory.marking with it", text="profile early-drop alone")
        return self

    @property
    def pauses(self) -> bool:
        """Whether senders are paused."""
        return self.profile == "lossless"

    @property
    def kept(self) -> int:
        """Bytes for what comes after a pause: without pauses, headroom is shared."""
        return self.headroom if self.pauses else 0

    @property
    def drops_early(self) -> bool:
        """Whether packets are dropped that would be marked."""
        return self.profile == "early-drop"

    @property
    def marks(self) -> Marking | None:
        """How packets are marked, or dropped early, if they are."""
        return None if self.profile == "tail-drop" else self.marking


class Switch(Description):
    """A switch that cuts through, or stores packets and forwards them."""

    ports: int = key("external ports", 2, 4096)
    latency: Latency = key("first byte in to first byte out, without contention")
    buffer: Size = key("receive buffer of each port")
    arbitration: Arbitration = key("which input goes next at an output", default="round_robin")
    forwarding: Forwarding = key("when a packet may leave", default="cut_through")
    routing: Routing = key("what chooses among equal ways of a packet", default="destination")
    routing_seed: Seed = key("of random numbers and hashes of routing", default=0)
    flowlet: Latency = key("adaptive: pause behind which a flow may take another way", default=0)
    memory: PacketMemory | None = optional("what the ports of an Ethernet switch share")
    qos: Qos | None = optional("virtual lanes of InfiniBand's links, if more than one")
    congestion_control: CongestionControl | None = optional("of InfiniBand, if it is on")
    port: Port | None = optional("links that its ports take, if not all")

    @model_validator(mode="after")
    def _has_room(self) -> Switch:
        memory = self.memory
        if self.flowlet and self.routing != "adaptive":
            raise FaultError(
                self, "routing adaptive", text=f"a flowlet with routing {self.routing}"
            )
        if memory is not None:
            if memory.classes is not None and self.arbitration != "round_robin":
                found = f"classes with arbitration {self.arbitration}"
                raise FaultError(self, "arbitration round_robin", text=found)
            own = self.ports * (memory.kept + memory.reserve)
            if own >= memory.size:
                found = f"{self.ports} ports with {format_size(memory.kept)} of headroom and "
                found += f"{format_size(memory.reserve)} reserved"
                allowed = f"less than memory.size, {format_size(memory.size)}"
                raise FaultError(self, allowed, text=found)
        return self


class BackToBack(Section):
    """Two nodes joined port by port, without a switch."""

    kind: Annotated[Literal["back_to_back"], PLAIN] = "back_to_back"


class OneSwitch(Section):
    """All nodes on one switch."""

    kind: Annotated[Literal["switch"], PLAIN] = "switch"
    switch: SwitchName


class FatTree(Section):
    """A k-ary n-tree (Petrini and Vanneschi 1997), whose lowest switches may have fewer uplinks."""

    kind: Annotated[Literal["fat_tree"], PLAIN] = "fat_tree"
    switch: SwitchName
    levels: int = key("levels of switches, n", 1, 8)
    arity: int = key("downlinks of each switch, k; on the lowest level adapter ports", 1, 4096)
    oversubscription: int = key("downlinks over uplinks of a switch on the lowest level", 1, 4096)

    @model_validator(mode="after")
    def _divides(self) -> FatTree:
        if self.arity % self.oversubscription:
            divisors = [str(n) for n in range(1, self.arity + 1) if self.arity % n == 0]
            found = f"an oversubscription of {self.oversubscription} for {self.arity} downlinks"
            why = f"{found}, which leaves no whole number of uplinks"
            raise FaultError(self.oversubscription, one_of(divisors), text=why)
        return self

    @property
    def shape(self) -> Shape:
        uplinks = [1, self.arity // self.oversubscription, *[self.arity] * self.levels]
        return tuple((self.arity, uplinks[level], 1) for level in range(self.levels))


class Tree(Section):
    """An extended generalised fat tree, XGFT(h; m1, ..., mh; w1, ..., wh) (Öhring et al. 1995).

    With several cables between two switches it is a parallel ports tree, PGFT (Zahavi 2010).
    """

    kind: Annotated[Literal["xgft"], PLAIN] = "xgft"
    switch: SwitchName
    children: str = key("m1, ..., mh: adapter ports of a lowest switch, then switches")
    parents: str = key("w1, ..., wh: switches above each, the first of them 1")
    parallel: str | None = optional("cables to each of the parents; 1, ...")

    @model_validator(mode="after")
    def _counts(self) -> Tree:
        given = {"children": self.children, "parents": self.parents, "parallel": self.parallel}
        texts = {name: text for name, text in given.items() if text is not None}
        for name, text in texts.items():
            words = text.split(",")
            if not all(word.strip().isdecimal() and 1 <= int(word) <= 4096 for word in words):
                raise FaultError(text, "numbers such as '16, 4'", text=f"{name} of {text!r}")
            if name != "children" and int(words[0]) != 1:
                allowed = "1 as the first number, because each adapter port has one cable"
                raise FaultError(text, allowed, text=f"{name} of {text!r}")
        if len({len(text.split(",")) for text in texts.values()}) > 1:
            found = " and ".join(f"{name} {text!r}" for name, text in texts.items())
            raise FaultError(texts, "as many numbers in each, one for a level", text=found)
        return self

    @property
    def shape(self) -> Shape:
        children, parents = (_numbers(text) for text in (self.children, self.parents))
        parallel = _numbers(self.parallel) if self.parallel else [1] * len(children)
        return tuple(zip(children, parents, parallel, strict=True))


class Ring(Section):
    """Switches in a ring; each has as many nodes as the others, but for the last ones."""

    kind: Annotated[Literal["ring"], PLAIN] = "ring"
    switch: SwitchName
    switches: int = key("switches of the ring", 3, 4096)
    parallel: int | None = optional("cables between two neighbours; 1", 1, 1024)


class Dragonfly(Section):
    """Groups of switches, all connected within a group and all groups with each other.

    A group has a switches with p adapter ports and h trunks to other groups each, so that there are
    a h + 1 groups (Kim et al. 2008).
    """

    kind: Annotated[Literal["dragonfly"], PLAIN] = "dragonfly"
    switch: SwitchName
    ports: int = key("adapter ports of each switch, p", 1, 4096)
    switches: int = key("switches of each group, a", 1, 4096)
    trunks: int = key("trunks of each switch to other groups, h", 1, 4096)


class NamedSwitch(Section):
    """One switch of a network that names its switches."""

    switch: SwitchName = key("its model, if not that of the network", default="")
    nodes: Names = key("what is on it: group, group[3] or group[0:8]", default=())


class Trunk(LinkChanges):
    """Cables between two named switches; what differs from the other trunks may be said."""

    between: Names = key("two switches", min_length=2, max_length=2)
    parallel: int | None = optional("cables between them; 1", 1, 1024)


class Explicit(Section):
    """Named switches, the trunks between them, and which nodes are on which switch."""

    kind: Annotated[Literal["explicit"], PLAIN] = "explicit"
    switch: SwitchName = key("model of switches that name none", default="")
    switches: dict[str, NamedSwitch]
    trunks: dict[str, Trunk] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_models(self) -> Explicit:
        if without := [
            name for name, one in self.switches.items() if not (self.switch or one.switch)
        ]:
            raise FaultError(without, text=f"switches without a model: {', '.join(without)}")
        return self


Network = Annotated[
    BackToBack | OneSwitch | FatTree | Tree | Ring | Dragonfly | Explicit,
    Field(discriminator="kind"),
]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


class Nodes(Section):
    """A group of nodes that are alike."""

    count: int = key("hosts with an adapter", 1, 65536)
    host: Annotated[str, Refers("hosts")]
    stack: Annotated[str, Refers("stacks")] = key(
        "verbs library, if not that of the adapter's time", default=""
    )
    adapters: Annotated[tuple[str, ...], Refers("adapters")] = key("measured there", min_length=1)
    default_adapter: Annotated[str, Refers("adapters")] = key("if not the first", default="")
    mpi_stack: Annotated[str, Refers("stacks")] = key(
        "the stack of MPI programs, if another", default=""
    )
    ports: int | None = optional("ports of each adapter with a cable, if not all", 1, 256)
    mmrbc: Mmrbc | None = optional("MMRBC of PCI-X as BIOS and driver set it, if not the usual")
    link: LinkChanges | None = optional("where their links differ")

    @field_validator("default_adapter")
    @classmethod
    def _is_one_of_them(cls, default: str, info: ValidationInfo) -> str:
        adapters = info.data.get("adapters", (default,))
        if default not in adapters:
            raise FaultError(default, one_of(adapters), nearest(default, adapters))
        return default

    @property
    def adapter(self) -> str:
        return self.default_adapter or self.adapters[0]


class Testbed(Description):
    """An installation on which experiments are run."""

    __test__ = False

    paper: Annotated[str, PLAIN] = key("where an experiment on it was published", default="")
    nodes: dict[str, Nodes] = key("all nodes, or several groups by name")
    network: Network = key("how they are connected")
    link: AnyLink = key("each link between an adapter and a switch")
    trunk: LinkChanges | None = optional("where links of switches differ")
    # The kind of link tells what is allowed; a second pair of limits here would hide it.
    mtu: Annotated[Bytes, SETTING] = key(
        "largest payload of an InfiniBand packet, or IP packet in an Ethernet frame", 0, 2**31
    )

    @field_validator("mtu")
    @classmethod
    def _suits_the_link(cls, mtu: int, info: ValidationInfo) -> int:
        link = info.data.get("link")
        kind = "infiniband" if isinstance(link, PortLink) else getattr(link, "kind", None)
        if kind is not None and (fault := mtu_fault(mtu, format_size(mtu), kind)):
            raise FaultError(mtu, fault.allowed, text=format_size(mtu))
        return mtu
