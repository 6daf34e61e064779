"""An RDMA adapter: its bus interface, its engines and its caches."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hcasim.catalog.bridge import Bridge, Burst
from hcasim.catalog.description import PLAIN, Count, Description, Latency, Section, Size
from hcasim.catalog.dma import DmaEngine
from hcasim.catalog.protocol import Port, Protocol
from hcasim.ground.errors import one_of
from hcasim.ground.units import FREQUENCY, RATE, SIZE

FirmwareMode = Literal["tavor", "mem", "memfree"]
_Payload = Annotated[Literal[128, 256, 512, 1024, 2048, 4096], SIZE]


class PcieDevice(Section):
    """The adapter's side of a PCI Express link (PCI Express Base Specification 1.0a to 5.0)."""

    kind: Annotated[Literal["pcie"], PLAIN] = "pcie"
    generation: Literal[1, 2, 3, 4, 5] = Field(description="lane rate, by generation")
    lanes: Literal[1, 2, 4, 8, 12, 16] = Field(description="width of the link")
    max_payload: _Payload = Field(description="longest write or completion payload (MPS)")
    max_read_request: _Payload = Field(description="longest read request (MRRS)")
    read_tags: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="read requests that may be outstanding"
    )
    address_bits: Literal[32, 64] = Field(description="address width of requests to memory")
    dllp_tlps_per_ack: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="packets acknowledged by one Ack DLLP"
    )
    dllp_tlps_per_update: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="packets covered by one UpdateFC DLLP"
    )
    packet_gap: Latency = Field(
        default=0, description="that the device leaves behind each packet it sends"
    )
    relaxed_ordering: bool = Field(
        default=False, description="its writes need not become visible in order"
    )
    bridge: CardBridge | None = Field(default=None, description="what this bus leads to")

    @property
    def longest_read(self) -> int:
        """Bytes of the longest read request."""
        return self.max_read_request


class PcixDevice(Section):
    """The adapter's side of a PCI-X bus (PCI-X Addendum 1.0b)."""

    kind: Annotated[Literal["pcix"], PLAIN] = "pcix"
    width_bits: Literal[32, 64] = Field(description="data width")
    clock: Annotated[int, FREQUENCY, Field(ge=10**6, le=133_333_334)] = Field(
        description="bus clock"
    )
    mmrbc: Annotated[Literal[512, 1024, 2048, 4096], SIZE] = Field(
        description="maximum memory read byte count of one request"
    )
    outstanding_splits: Literal[1, 2, 3, 4, 8, 12, 16, 32] = Field(
        description="split transactions that may be outstanding"
    )
    write_burst: Annotated[int, SIZE, Field(ge=128, le=4096, multiple_of=128)] = Field(
        description="longest burst of one memory write"
    )
    bridge: CardBridge | None = Field(default=None, description="what this bus leads to")

    @property
    def longest_read(self) -> int:
        """Bytes of the longest read request."""
        return self.mmrbc


Bus = Annotated[PcieDevice | PcixDevice, Field(discriminator="kind")]


class CardBridge(Bridge):
    """A bridge on the card: from the bus before it to another, which is nearer to the host."""

    completion_burst: Burst = Field(
        description="what it reads at a time, and returns to the bus before it in one burst"
    )
    reads: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="reads that may be outstanding on the bus behind it"
    )
    bus: Bus = Field(description="the bus behind it, towards the host")


for _model in (PcieDevice, PcixDevice, CardBridge):
    _model.model_rebuild()


class BlueFlame(Section):
    """Registers that take a whole work request, which then need not be fetched.

    Only a request that is posted alone is written there (rdma-core, providers/mlx4/qp.c and
    providers/mlx5/qp.c).
    """

    buffer: Annotated[int, SIZE, Field(ge=64, le=4096, multiple_of=64)] = Field(
        description="longest work request that it takes"
    )
    takes: Literal["inline", "any"] = Field(
        description="inline: only requests that carry their data; any: all that fit"
    )


class Doorbell(Section):
    """The register that software writes to announce work."""

    latency: Latency = Field(description="doorbell received to queue pair scheduled")
    blueflame: BlueFlame | None = Field(
        default=None, description="of adapters that take work requests themselves"
    )


class Scheduler(Section):
    """The round robin over queue pairs with work."""

    queues: Annotated[int, Field(ge=1, le=65536)] = Field(
        description="schedule queues; a queue pair belongs to one by its number"
    )
    burst: Size = Field(description="what a queue pair sends before another has its turn")


class Services(Section):
    """Occupancy of a processing unit by a request, by its operation, beside that of its packets."""

    write: Latency = Field(description="of an RDMA write")
    send: Latency = Field(description="of a send")
    read: Latency = Field(description="of an RDMA read")
    atomic: Latency = Field(description="of a fetch-and-add or compare-and-swap")


_Units = Annotated[int, Field(ge=1, le=1024)]


class Send(Section):
    """The transmit pipeline."""

    units: _Units = Field(
        default=1, description="processing units, each at work on another queue pair"
    )
    wqe_service: Latency = Field(description="occupancy of a unit per work request")
    services: Services | None = Field(
        default=None, description="likewise by operation, instead of wqe_service"
    )
    packet_service: Latency = Field(description="occupancy of a unit per packet")
    latency: Latency = Field(description="delay of a packet through the pipeline")
    read_interval: Latency = Field(
        default=0,
        description="between two read requests for the data of one packet; other packets go on",
    )
    rest: Latency = Field(
        default=0,
        description="end of a message to the next of its queue pair; 0: that may follow at once",
    )
    gap: Latency = Field(default=0, description="time that a port rests between two packets")
    prefetch: Annotated[int, Field(ge=0, le=4096)] = Field(
        description="packets translated while others wait to be read; 0: each when its turn comes"
    )
    port_buffer: Size = Field(
        description="data staged in front of each port; in slots of a full packet if packets keep "
        "the order of the port"
    )


class Receive(Section):
    """The receive pipeline."""

    units: _Units = Field(default=1, description="processing units that share the packets")
    packet_service: Latency = Field(description="occupancy of a unit per packet")
    latency: Latency = Field(description="delay of a packet through the pipeline")
    buffer: Size = Field(description="link receive buffer of each port")


class Completion(Section):
    """The writer of completion queue entries."""

    latency: Latency = Field(
        description="last packet or acknowledgement accepted to entry handed to the bus"
    )
    service: Latency = Field(default=0, description="occupancy of the writer per entry")


class ReceiveQueue(Section):
    """The consumer of receive work requests."""

    latency: Latency = Field(
        description="time to consume a receive work request, beyond fetching it"
    )
    ahead: Annotated[int, Field(ge=0, le=256)] = Field(
        default=0, description="entries of a receive queue on the chip before messages take them"
    )


class Atomics(Section):
    """The unit that executes atomics, of adapters that work on several at a time."""

    outstanding: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="atomics between the reading of their word and its writing"
    )
    service: Latency = Field(description="occupancy of the unit per atomic")
    lock: Annotated[int, SIZE, Field(ge=8, le=4096, multiple_of=8)] = Field(
        description="bytes that are locked together while one of their words is changed"
    )


class Responder(Section):
    """The server of RDMA reads and atomics."""

    latency: Latency = Field(description="request accepted to first access of host memory")
    services: Services | None = Field(
        default=None, description="occupancy of a receiving unit per request, beside its packets"
    )
    outstanding: Annotated[int, Field(ge=1, le=128)] = Field(
        description="requests accepted at once per queue pair"
    )
    rest: Latency = Field(
        default=0,
        description="end of a response to the next of its queue pair; 0: that may follow at once",
    )
    atomics: Atomics | None = Field(
        default=None, description="without it one atomic is executed at a time"
    )


class Requester(Section):
    """The initiator of RDMA reads and atomics."""

    outstanding: Annotated[int, Field(ge=1, le=128)] = Field(
        description="requests outstanding at once per queue pair"
    )


class Ack(Section):
    """When and how fast requests are acknowledged."""

    interval: Annotated[int, Field(ge=1, le=65536)] = Field(
        description="packets between two acknowledgement requests inside a message"
    )
    latency: Latency = Field(description="request accepted to acknowledgement sent")


class LocalMemory(Section):
    """The adapter's own DIMM, for tables and for buffers that applications place there."""

    size: Annotated[int, SIZE, Field(ge=0, le=2**40)] = Field(description="capacity")
    latency: Latency = Field(description="access begun to first data at the engines")
    bandwidth: Annotated[int, RATE, Field(ge=10**6, le=10**13)] = Field(
        description="of reads and writes together"
    )


NO_MEMORY = LocalMemory(size=0, latency=0, bandwidth=10**6)


class IcmCache(Section):
    """A cache of lines of all tables, between the caches of each and the memory behind them."""

    size: Size = Field(description="capacity")
    banks: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="equal parts; a line belongs to one by the lowest bits of its number"
    )
    latency: Latency = Field(description="of a line that it holds")
    policy: Literal["lru", "random", "fifo"] = Field(description="which line of a bank is replaced")


class Icm(Section):
    """The path to the tables behind the caches (InfiniHost context memory)."""

    outstanding: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="fetches of all caches that may be in flight at once"
    )
    latency: Latency = Field(description="of a fetch, besides the memory that holds the table")
    victims: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="changed lines that may wait for their write-back"
    )
    cache: IcmCache | None = Field(
        default=None, description="behind the caches of all tables, if there is one"
    )


class Tables(Section):
    """Entries of the tables that have no cache of their own."""

    eqpc: Size = Field(description="extended queue pair context")
    rdb: Size = Field(description="one read or atomic accepted by a responder")
    srqc: Size = Field(description="shared receive queue context")
    eqc: Size = Field(description="event queue context")
    mgm: Size = Field(description="multicast group member list")


Entry = Annotated[int, SIZE, Field(ge=1, le=2**16)]


class Cache(Section):
    """A set-associative cache of a table that lives in the adapter's or the host's memory."""

    entries: Count = Field(description="entries that the cache holds")
    entry: Entry = Field(description="size of one entry")
    line: Entry = Field(description="what is fetched at once: one entry, or several neighbours")
    ways: Count = Field(description="associativity, in lines; divides the number of lines")
    policy: Literal["lru", "random", "fifo"] = Field(description="which line of a set is replaced")
    outstanding: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="fetches of this cache that may be in flight at once"
    )
    location: Literal["mode", "adapter", "host"] = Field(
        description="memory that holds the table; mode: the host's if the firmware mode is memfree"
    )

    @property
    def lines(self) -> int:
        """Lines that the cache holds."""
        return self.entries * self.entry // self.line

    @model_validator(mode="after")
    def _geometry(self) -> Cache:
        if self.line % self.entry:
            raise ValueError(
                f"found a line of {self.line} B with entries of {self.entry} B; "
                f"allowed lines: multiples of {self.entry} B"
            )
        if self.entries * self.entry % self.line:
            raise ValueError(
                f"found {self.entries} entries, which do not fill lines of {self.line} B; "
                f"allowed entries: multiples of {self.line // self.entry}"
            )
        if self.lines % self.ways:
            divisors = [str(n) for n in range(1, self.lines + 1) if self.lines % n == 0]
            what = "entries" if self.line == self.entry else "lines"
            raise ValueError(
                f"found {self.ways} ways, which do not divide {self.lines} {what}; "
                f"allowed ways: {one_of(divisors)}"
            )
        return self


class TranslationCache(Cache):
    """The cache of translations."""

    reach: Annotated[int, SIZE, Field(ge=4096, le=2**50)] | None = Field(
        default=None,
        description="longest region whose entries lie in one table; a longer one has a table of "
        "tables before them, of which an entry is looked up too",
    )


class Limits(Section):
    """What the adapter refuses to exceed."""

    max_qp: Count = Field(description="queue pairs")
    max_inline: Annotated[int, SIZE, Field(ge=0, le=2**16)] = Field(
        description="payload inside a work request"
    )
    max_wr: Count = Field(description="work requests of a queue")
    max_mtu: Size = Field(description="payload of an InfiniBand packet, or IP packet of a frame")
    atomics: bool = Field(description="fetch-and-add and compare-and-swap are offered")


_Segment = Annotated[int, SIZE, Field(ge=0, le=256)]


class WqeCache(Section):
    """The requests in flight whose work queue entries are still on the chip.

    A response to a read or an atomic whose entry had to leave fetches it again.
    """

    entries: Count = Field(description="entries of all queue pairs together")
    policy: Literal["lru", "random", "fifo"] = Field(description="which entry is replaced")
    service: Latency = Field(
        default=0, description="occupancy of a receiving unit by a response that had to wait for it"
    )


class Wqe(Section):
    """Work queue entries.

    What is not told of the segments is as in the entries of mthca, mlx4 and mlx5, which agree in it
    (rdma-core, providers/mthca/wqe.h, providers/mlx4/mlx4dv.h, providers/mlx5/mlx5dv.h).
    """

    stride: Annotated[Literal[16, 32, 64, 128, 256, 512, 1024], SIZE] = Field(
        description="distance of two entries"
    )
    packed: bool | None = Field(
        default=None,
        description="a send takes as many strides as it needs; otherwise each as many as the "
        "longest",
    )
    control: _Segment | None = Field(default=None, description="control segment of a send")
    remote_address: _Segment | None = Field(default=None, description="remote address segment")
    data: _Segment | None = Field(default=None, description="segment that points to data")
    atomic: _Segment | None = Field(default=None, description="segment of the operands")
    inline_header: _Segment | None = Field(default=None, description="header of inline data")
    datagram: _Segment | None = Field(default=None, description="address vector of a datagram")
    fetch: Annotated[int, Field(ge=1, le=256)] = Field(
        default=1, description="entries of a send queue that one read brings at most"
    )
    ahead: Annotated[int, Field(ge=0, le=256)] = Field(
        default=0,
        description="entries of a send queue that may be on the chip before their turn; "
        "0: the next is fetched when the packets of the last have been handed on",
    )
    cache: WqeCache | None = Field(default=None, description="of entries in flight, if it is known")


class Umr(Section):
    """Registration of memory by work requests (user-mode memory registration)."""

    segments: Size = Field(
        description="of such a work request besides its control segment and the list of pages"
    )
    inline: Annotated[int, SIZE, Field(ge=0, le=1024)] = Field(
        description="longest list of pages that the work request holds itself"
    )
    service: Latency = Field(
        description="of a registration, besides fetching a list that is longer; one at a time"
    )


class Cqe(Section):
    """Completion queue entries."""

    size: Annotated[Literal[16, 32, 64, 128], SIZE] = Field(description="size of one entry")
    inline: Annotated[int, SIZE, Field(ge=0, le=64)] | None = Field(
        default=None,
        description="longest message of a connection that comes in the entry itself: received by a "
        "send, or read where all requests are signaled",
    )

    @model_validator(mode="after")
    def _has_room(self) -> Cqe:
        if self.inline and self.inline > self.size // 2:
            raise ValueError(
                f"found inline data of {self.inline} B in entries of {self.size} B; "
                f"allowed: up to half of an entry, {self.size // 2} B"
            )
        return self


class Adapter(Description):
    """An RDMA adapter."""

    ports: Annotated[int, Field(ge=1, le=8)] = Field(description="network ports")
    port: Port | None = Field(default=None, description="the links that each port takes")
    firmware_mode: FirmwareMode | None = Field(
        default=None,
        description="tavor or mem: tables in the adapter's memory; memfree: in the host's",
    )
    bus: Bus
    protocol: Protocol = Field(description="what it speaks over its links")
    order: Literal["port", "queue_pair"] = Field(
        default="port",
        description="what keeps its order: all packets of a port and direction, so that one that "
        "has to wait holds up the others, or those of each queue pair",
    )
    doorbell: Doorbell
    scheduler: Scheduler
    send: Send
    receive: Receive
    completion: Completion
    receive_queue: ReceiveQueue
    responder: Responder
    requester: Requester
    ack: Ack
    memory: LocalMemory = Field(default=NO_MEMORY, description="of adapters that have some")
    icm: Icm
    sqpc: Cache = Field(description="contexts of send queues")
    rqpc: Cache = Field(description="contexts of receive queues")
    cqc: Cache = Field(description="contexts of completion queues")
    mpt: Cache = Field(description="memory protection table")
    mtt: TranslationCache = Field(description="memory translation table")
    tables: Tables | None = Field(default=None, description="of adapters of the mthca family")
    limits: Limits
    wqe: Wqe
    cqe: Cqe
    umr: Umr | None = Field(
        default=None, description="of adapters that register memory by work requests"
    )
    dma: DmaEngine | None = Field(
        default=None, description="instead of all that serves RDMA, of a device on a bus alone"
    )

    @model_validator(mode="after")
    def _has_modes(self) -> Adapter:
        by_mode = [name for name, table in self.caches.items() if table.location == "mode"]
        if by_mode and self.firmware_mode is None:
            raise ValueError(
                f"found no firmware_mode, by which the location of {', '.join(by_mode)} goes"
            )
        return self

    @property
    def caches(self) -> dict[str, Cache]:
        """The caches by name."""
        return {
            "sqpc": self.sqpc,
            "rqpc": self.rqpc,
            "cqc": self.cqc,
            "mpt": self.mpt,
            "mtt": self.mtt,
        }

    @property
    def overlaps(self) -> bool:
        """Whether packets of other queue pairs go on while one has to wait."""
        return self.order == "queue_pair"

    @property
    def local_memory_size(self) -> int:
        """Bytes of the adapter's own memory that are in use: none in MemFree mode."""
        return 0 if self.firmware_mode == "memfree" else self.memory.size

    def in_host(self, table: Cache) -> bool:
        """Whether a table lives in host memory."""
        if table.location == "mode":
            return self.firmware_mode == "memfree"
        return table.location == "host"


OF_DEVICES = ("ports", "bus", "dma")
"""Keys of a device that is no RDMA adapter, beside those of all descriptions."""
_ABSENT: Any = None


class Device(Adapter):
    """A device that moves data over its bus for its own software: no RDMA adapter.

    It has what its bus and its DMA engine need, and nothing of an adapter beside.
    """

    protocol: Protocol = Field(default=_ABSENT, exclude=True)
    order: Literal["port", "queue_pair"] = Field(default=_ABSENT, exclude=True)
    doorbell: Doorbell = Field(default=_ABSENT, exclude=True)
    scheduler: Scheduler = Field(default=_ABSENT, exclude=True)
    send: Send = Field(default=_ABSENT, exclude=True)
    receive: Receive = Field(default=_ABSENT, exclude=True)
    completion: Completion = Field(default=_ABSENT, exclude=True)
    receive_queue: ReceiveQueue = Field(default=_ABSENT, exclude=True)
    responder: Responder = Field(default=_ABSENT, exclude=True)
    requester: Requester = Field(default=_ABSENT, exclude=True)
    ack: Ack = Field(default=_ABSENT, exclude=True)
    icm: Icm = Field(default=_ABSENT, exclude=True)
    sqpc: Cache = Field(default=_ABSENT, exclude=True)
    rqpc: Cache = Field(default=_ABSENT, exclude=True)
    cqc: Cache = Field(default=_ABSENT, exclude=True)
    mpt: Cache = Field(default=_ABSENT, exclude=True)
    mtt: TranslationCache = Field(default=_ABSENT, exclude=True)
    limits: Limits = Field(default=_ABSENT, exclude=True)
    wqe: Wqe = Field(default=_ABSENT, exclude=True)
    cqe: Cqe = Field(default=_ABSENT, exclude=True)

    @model_validator(mode="after")
    def _has_modes(self) -> Device:
        foreign = self.model_fields_set - Description.model_fields.keys() - {*OF_DEVICES}
        if foreign:
            raise ValueError(
                f"found dma beside {', '.join(sorted(foreign))}; allowed: with bus and ports alone"
            )
        return self

    @property
    def caches(self) -> dict[str, Cache]:
        """None."""
        return {}
