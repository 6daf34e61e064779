"""An MPI library: its protocols, their limits, and what its calls cost the processor."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from hcasim.catalog.algorithms import parse_rules
from hcasim.catalog.description import Latency, Section
from hcasim.ground.units import SIZE

_Bytes = Annotated[int, SIZE, Field(ge=0, le=2**31)]
_Number = Annotated[int, Field(ge=0, le=2**20)]
_Slots = Annotated[int, Field(ge=2, le=4096)]


def _at_most(number: int, limit: int | None, what: str) -> int:
    """Refuse to wait for more credits than there are."""
    if limit is not None and number > limit:
        raise ValueError(f"found {number}; allowed: 0 to {limit}, {what}")
    return number


class Calls(Section):
    """The processor's time in the library, without copies, verbs and polling."""

    send: Latency = Field(description="a send up to the protocol, with the packet's header")
    recv: Latency = Field(description="a receive, with looking through unexpected messages")
    packet: Latency = Field(description="a packet that came in: header, matching, completing")


class Header(Section):
    """What packets carry beside the data."""

    size: _Bytes = Field(description="header of a packet with data")
    cached: _Bytes = Field(
        description="header of a short packet with the sender and tag of the short one before"
    )
    cached_limit: _Bytes = Field(description="most data with that header; 0: never")
    control: _Bytes = Field(description="a packet of the rendezvous, or of credits")


class Ring(Section):
    """Slots in the receiver's memory, written by RDMA and polled there."""

    slots: _Slots = Field(description="for each peer, at each end")
    slot: Annotated[int, SIZE, Field(ge=64, le=2**24)] = Field(
        description="a slot with header and flag"
    )
    flag: _Bytes = Field(description="what the receiver polls at the end of a slot")
    credit_return: _Number = Field(
        description="freed slots of which an own packet tells; as many as slots: none does"
    )
    inline: _Bytes = Field(description="longest packet that goes inside the work request")

    @field_validator("credit_return")
    @classmethod
    def _is_reached(cls, number: int, info: ValidationInfo) -> int:
        # What finds no slot goes to the receive queue, so the sender is never stuck.
        return _at_most(number, info.data.get("slots"), "as many as slots")


class Queue(Section):
    """Buffers posted to the receive queue, noticed in a completion queue."""

    receives: _Slots = Field(description="posted for each peer")
    buffer: Annotated[int, SIZE, Field(ge=64, le=2**24)] = Field(
        description="of a receive, with the header"
    )
    credit_return: _Number = Field(description="reposted receives of which an own packet tells")
    credits_by: Literal["packet", "write"] = Field(
        description="the own packet is a message, or a number written by RDMA"
    )
    cq: Literal["shared", "per_peer"] = Field(description="completion queues to poll")
    inline: _Bytes = Field(description="longest packet that goes inside the work request")

    @field_validator("credit_return")
    @classmethod
    def _is_reached(cls, number: int, info: ValidationInfo) -> int:
        receives = info.data.get("receives")
        return _at_most(number, receives and receives - 1, "below receives")


class Shared(Section):
    """Memory that two processes of a node share."""

    eager: _Bytes = Field(description="longest message that is sent at once")
    queue: Annotated[int, SIZE, Field(ge=1024, le=2**30)] = Field(
        description="room for messages of one process to another"
    )
    packet: Annotated[int, SIZE, Field(ge=64, le=2**30)] = Field(
        description="most data that is copied before the receiver begins"
    )


class Eager(Section):
    """Messages that are sent before the receiver asks for them."""

    limit: _Bytes = Field(description="longest one between nodes")
    done: Literal["copied", "sent"] = Field(
        description="when the sender may go on: when it is copied, or when it has been sent"
    )


class Rendezvous(Section):
    """Messages for which the receiver is asked before."""

    protocol: Literal["rput", "rget", "r3"] = Field(
        description="the sender writes, the receiver reads, or both copy through eager buffers"
    )
    chunk: Annotated[int, SIZE, Field(ge=4096, le=2**31)] = Field(
        description="largest RDMA operation"
    )
    r3_limit: _Bytes = Field(description="longest one that is copied instead of registered")
    outstanding: Annotated[int, Field(ge=1, le=2**20)] = Field(
        description="messages to one peer that may be under way at once"
    )


class RegistrationCache(Section):
    """What the library remembers of registered memory."""

    entries: _Number = Field(description="most regions; 0: without a limit")
    pages: _Number = Field(description="most pages in all; 0: without a limit")
    match: Literal["start", "exact", "cover"] = Field(
        description="found by first page, by address and length, or by any region that covers it"
    )
    lookup: Latency = Field(description="one look")
    lazy: bool = Field(description="kept after use until room is needed")


class Rails(Section):
    """How several ports of an adapter are used."""

    ports: Annotated[int, Field(ge=1, le=256)] = Field(description="of each adapter, at most")
    threshold: _Bytes = Field(description="longest message that is not divided")
    small: Literal["first", "round_robin"] = Field(description="the port of undivided messages")


class Collectives(Section):
    """Which algorithm each collective uses, by size and number of processes."""

    bcast: str = Field(description="broadcast")
    allgather: str = Field(description="each gathers what all have")
    alltoall: str = Field(description="each sends each its own part")
    reduce: str = Field(description="reduction to one process")
    allreduce: str = Field(description="reduction to all processes")
    reduce_scatter: str = Field(description="reduction of which each gets a part")
    gather: str = Field(description="one gathers what all have")
    scatter: str = Field(description="one sends each its own part")
    barrier: str = Field(description="all wait for all")

    @field_validator("*")
    @classmethod
    def _are_rules(cls, text: str, info: ValidationInfo) -> str:
        assert info.field_name is not None
        parse_rules(info.field_name, text)
        return text


class Mpi(Section):
    """An MPI library."""

    calls: Calls
    header: Header
    eager: Eager
    ring: Ring | None = Field(default=None, description="of libraries that poll memory")
    queue: Queue
    rendezvous: Rendezvous
    registration: RegistrationCache
    rails: Rails
    shared: Shared | None = Field(default=None, description="of libraries with a way in a node")
    collectives: Collectives

    @field_validator("ring", "queue")
    @classmethod
    def _holds_eager_messages(cls, way: Ring | Queue | None, info: ValidationInfo) -> object:
        header, eager = info.data.get("header"), info.data.get("eager")
        if way is None or header is None or eager is None:
            return way
        room = way.slot - way.flag if isinstance(way, Ring) else way.buffer
        needed = max(header.size + eager.limit, header.control)
        if needed > room:
            raise ValueError(
                f"found room for {room} B; allowed: from {needed} B, for header and eager.limit"
            )
        return way
