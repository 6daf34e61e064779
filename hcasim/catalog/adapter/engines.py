"""The engines of an adapter: doorbells, pipelines, requester, responder and completions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.description import Bandwidth, Latency, Section, Size
from hcasim.ground.units import SIZE


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
    unit_bandwidth: Bandwidth | None = Field(
        default=None, description="data through one unit, which a packet occupies for so long"
    )
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
        description="packets translated while others wait to be read; 0: each when its turn comes; "
        "without a meaning if queue pairs keep the order, whose packets are translated as they come"
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
