"""A software stack: what each call into it costs the processor, and what its driver allocates."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.mpi import Mpi
from hcasim.catalog.section import Count, Description, Latency, Section, key, optional
from hcasim.ground.units import CYCLES, SIZE, Bytes

_Cycles = Annotated[int, CYCLES, Field(ge=0, le=10**7)]
_Reserved = Annotated[int, Field(ge=0, le=2**20)]


class Driver(Section):
    """What driver and library allocate for an adapter and for a process that uses it."""

    page: Annotated[Literal[4096, 8192, 16384, 65536], SIZE] = key(
        "page of the system; buffers are whole pages"
    )
    icm_chunk: Bytes = key(
        "memory given to a table of the adapter at once", 4096, 2**30, multiple_of=4096
    )
    reserved_qps: _Reserved = key("queue pairs that the firmware keeps for itself")
    reserved_cqs: _Reserved = key("completion queues that the firmware keeps for itself")
    reserved_srqs: _Reserved = key("shared receive queues that the firmware keeps for itself")
    reserved_mpts: _Reserved = key("memory protection entries that the firmware keeps for itself")
    reserved_mtts: _Reserved = key("translation segments that the firmware keeps for itself")
    rdb_per_qp: int = key("responder resources of a queue pair", 1, 128)
    mtt_segment: Literal[1, 2, 4, 8, 16, 32, 64] = key("translation entries handed out together")
    multicast_groups: Count = key("entries of the multicast table")
    event_contexts: Count = key("entries of the table of event queues")
    completion_events: Count = key("entries of the event queue for completions")
    other_events: Count = key("entries of each queue for asynchronous events and for commands")
    eqe: Bytes = key("entry of an event queue, in host memory", 1, 4096)
    max_cqe: int = key("entries of the largest completion queue", 2, 2**24)
    doorbell_record: Bytes = key("record in memory that stands for a doorbell register", 1, 4096)
    uarc: Bytes = key("doorbell records of one opened device", 2**14, 2**30, multiple_of=2**13)
    wr_id: Bytes = key("what the library remembers of each work queue entry", 0, 4096)
    process: Bytes = key("address space of a process without queues", 0, 2**40)


class Registration(Section):
    """The processor's time to register memory and to undo it."""

    call: Latency = key("registering, whatever the size")
    pin_page: Latency = key("pinning one page")
    table_entry: Latency = key("writing the translation entry of one page")
    dereg_call: Latency = key("deregistering, whatever the size")
    dereg_page: Latency = key("letting one page go")


class Instructions(Section):
    """Clock cycles that a call takes on any processor; its time follows from the host's clock."""

    lock: _Cycles = key("taking and releasing a lock, once a call; 0: the library takes none")
    post_send: _Cycles = key("posting one send request, up to the doorbell")
    post_wr: _Cycles = key("each further request of a list")
    blueflame: _Cycles = key("copying 64 B of a work request to the adapter's registers")
    post_recv: _Cycles = key("posting one receive request")
    poll_empty: _Cycles = key("a look at a completion queue that is empty")
    poll_entry: _Cycles = key("taking one completion, beside fetching its line")
    poll_memory: _Cycles = key("a look at a memory location")


class Stack(Description):
    """The processor's work per call, and how the library uses the adapter.

    The work is in time, as it was measured on one processor with the program around it, or in
    cycles. Then a benchmark adds its own for each request, and the host its store fence.
    """

    cycles: Instructions | None = optional("of stacks whose work is known in cycles")
    post_send: Latency = key(
        "posting one send request, up to the doorbell, beside its cycles", default=0
    )
    post_recv: Latency = key("posting one receive request, beside its cycles", default=0)
    poll_cq: Latency = key("one look at a completion queue, beside its cycles", default=0)
    poll_memory: Latency = key("one look at a memory location, beside its cycles", default=0)
    event: Latency = key("from an event of the adapter to the process that waits for it")
    cq_doorbell: bool = key("consuming a completion rings the queue's doorbell")
    max_inline: Bytes = key("longest payload that it copies into the work request", 0, 2**16)
    page_lists: Literal["inline", "fetched"] = key(
        "list of pages of a registration: in the request, or in memory", default="inline"
    )
    registration: Registration
    driver: Driver | None = optional("of drivers whose source is known")
    mpi: Mpi | None = optional("of stacks with an MPI library")
