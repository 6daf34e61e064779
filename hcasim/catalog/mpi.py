"""An MPI library: its protocols, their limits, and what its calls cost the processor."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from hcasim.catalog.algorithms import parse_rules
from hcasim.catalog.section import Clash, Latency, Section, key, optional
from hcasim.ground.units import CYCLES, SIZE, Bytes

_Bytes = Annotated[int, SIZE, Field(ge=0, le=2**31)]
_Number = Annotated[int, Field(ge=0, le=2**20)]
_Cycles = Annotated[int, CYCLES, Field(ge=0, le=10**7)]
_Slots = Annotated[int, Field(ge=2, le=4096)]
_WORD = 4
"""Bytes that packets are rounded up to: MVAPICH2, vbuf.h, ALIGN_UNIT."""


def _at_most(info: ValidationInfo, number: int, other: str, fewer: int = 0) -> int:
    """Refuse to wait for more credits than there are, or as many."""
    limit = info.data.get(other, number + fewer) - fewer
    if number > limit:
        words = f"{'below' if fewer else 'as many as'} {other}"
        raise Clash(f"{number}", f"0 to {limit}, {words}", other)
    return number


class Calls(Section):
    """The processor's time in the library, without copies, verbs and polling."""

    send: Latency = key("a send up to the protocol, with the packet's header")
    recv: Latency = key("a receive, with looking through unexpected messages")
    packet: Latency = key("a packet that came in: header, matching, completing")


class Instructions(Section):
    """Clock cycles of the same on any processor; their time follows from the host's clock."""

    send: _Cycles = key("a send up to the protocol, with the packet's header")
    recv: _Cycles = key("a receive, with looking through unexpected messages")
    packet: _Cycles = key("a packet that came in: header, matching, completing")


class Header(Section):
    """What packets carry beside the data."""

    size: _Bytes = key("header of a packet with data")
    cached: _Bytes = key("header of a short packet with the sender and tag of the short one before")
    cached_limit: _Bytes = key("most data with that header; 0: never")
    control: _Bytes = key("a packet of the rendezvous, or of credits")


class Ring(Section):
    """Slots in the receiver's memory, written by RDMA and polled there."""

    slots: _Slots = key("for each peer, at each end")
    slot: Bytes | None = optional(
        "a slot with header and flag, if it is not what the longest eager message takes", 64, 2**24
    )
    flag: _Bytes = key("what the receiver polls at the end of a slot")
    credit_return: _Number = key("freed slots that a packet of their own tells; slots: none does")

    @field_validator("credit_return")
    @classmethod
    def _is_reached(cls, number: int, info: ValidationInfo) -> int:
        # What finds no slot goes to the receive queue, so the sender is never stuck.
        return _at_most(info, number, "slots")


class Queue(Section):
    """Buffers posted to the receive queue, noticed in a completion queue."""

    receives: _Slots = key("posted for each peer")
    buffer: Bytes | None = optional(
        "of a receive, with the header, if it is not as long as a slot", 64, 2**24
    )
    credit_return: _Number = key("reposted receives of which an own packet tells")
    credits_by: Literal["packet", "write"] = key(
        "that packet is a message, or a number written by RDMA"
    )
    cq: Literal["shared", "per_peer"] = key("completion queues to poll")
    inline: _Bytes = key("longest packet, of the ring too, that goes inside the work request")

    @field_validator("credit_return")
    @classmethod
    def _is_reached(cls, number: int, info: ValidationInfo) -> int:
        return _at_most(info, number, "receives", fewer=1)


class Shared(Section):
    """Memory that two processes of a node share."""

    eager: _Bytes = key("longest message that is sent at once")
    queue: Bytes = key("room for messages of one process to another", 1024, 2**30)
    packet: Bytes = key("most data that is copied before the receiver begins", 64, 2**30)


class Eager(Section):
    """Messages that are sent before the receiver asks for them, in several packets if need be."""

    limit: _Bytes = key("longest one between nodes")
    blocking: _Bytes | None = optional("longest one of a call that waits, if that is another")
    zcopy: _Bytes = key("shortest one of a call that does not wait that is not copied", default=0)
    done: Literal["copied", "sent"] = key("the sender may go on when it is copied, or sent")
    moderation: int = key("requests of which one asks for a completion", 1, 2**16, default=1)


class Rendezvous(Section):
    """Messages for which the receiver is asked before."""

    protocol: Literal["rput", "rget", "r3"] = key(
        "the sender writes, the receiver reads, or both copy"
    )
    chunk: Bytes = key("largest RDMA operation", 4096, 2**31)
    r3_limit: _Bytes = key("longest one that is copied instead of registered")
    outstanding: int = key("messages to one peer that may be under way at once", 1, 2**20)


class RegistrationCache(Section):
    """What the library remembers of registered memory."""

    entries: _Number = key("most regions; 0: without a limit")
    pages: _Number = key("most pages in all; 0: without a limit")
    match: Literal["start", "exact", "cover"] = key(
        "by first page, by address and length, or within a region"
    )
    lookup: Latency = key("one look")
    lazy: bool = key("kept after use until room is needed")


class Rails(Section):
    """How several ports of an adapter are used."""

    ports: int = key("of each adapter, at most", 1, 256)
    threshold: _Bytes = key("longest message that is not divided")
    small: Literal["first", "round_robin"] = key("the port of undivided messages")


class Collectives(Section):
    """Which algorithm each collective uses, by size and number of processes."""

    bcast: str = key("broadcast")
    allgather: str = key("each gathers what all have")
    alltoall: str = key("each sends each its own part")
    reduce: str = key("reduction to one process")
    allreduce: str = key("reduction to all processes")
    reduce_scatter: str = key("reduction of which each gets a part")
    gather: str = key("one gathers what all have")
    scatter: str = key("one sends each its own part")
    barrier: str = key("all wait for all")

    @field_validator("*")
    @classmethod
    def _are_rules(cls, text: str, info: ValidationInfo) -> str:
        assert info.field_name is not None
        parse_rules(info.field_name, text)
        return text


class Mpi(Section):
    """An MPI library."""

    calls: Calls | None = optional("of libraries whose work is known in time")
    cycles: Instructions | None = optional("of libraries whose work is known in cycles")
    header: Header
    eager: Eager
    ring: Ring | None = optional("of libraries that poll memory")
    queue: Queue
    rendezvous: Rendezvous
    registration: RegistrationCache
    rails: Rails
    shared: Shared | None = optional("of libraries with a way in a node")
    collectives: Collectives

    @property
    def slot(self) -> int:
        """Bytes of a slot of the ring; of a receive, if there is no ring."""
        if self.ring is not None and self.ring.slot is not None:
            return self.ring.slot
        longest = max(self.header.size + self.eager.limit, self.header.control)
        longest += -longest % _WORD
        return longest + (0 if self.ring is None else self.ring.flag)

    @property
    def buffer(self) -> int:
        """Bytes of a receive with its header."""
        return self.slot if self.queue.buffer is None else self.queue.buffer

    @field_validator("header")
    @classmethod
    def _takes_time(cls, header: Header, info: ValidationInfo) -> Header:
        if info.data.get("calls", 0) is None and info.data.get("cycles", 0) is None:
            raise Clash("no cost of a call", "calls or cycles")
        return header

    @field_validator("ring", "queue")
    @classmethod
    def _holds_packets(cls, way: Ring | Queue | None, info: ValidationInfo) -> object:
        header, eager = info.data.get("header"), info.data.get("eager")
        if way is None or header is None or eager is None:
            return way
        ring = isinstance(way, Ring)
        if ring and eager.zcopy:
            raise Clash("a ring", "none, as messages are not copied", "eager.zcopy")
        size = way.slot if isinstance(way, Ring) else way.buffer
        if size is None:
            return way
        room = size - way.flag if isinstance(way, Ring) else size
        # What is too long for a ring goes to the queue, and comes in pieces only without a ring.
        data = 1 if ring or info.data.get("ring") is None else eager.limit
        if (needed := max(header.size + data, header.control)) > room:
            allowed = f"from {needed} B, for header and eager.limit"
            about = ("eager.limit", "header.size", "header.control")
            raise Clash(f"room for {room} B", allowed, *about)
        return way
