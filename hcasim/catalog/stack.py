"""A software stack: what each call into it costs the processor, and what its driver allocates."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.description import Count, Description, Latency, Section
from hcasim.catalog.mpi import Mpi
from hcasim.ground.units import SIZE

_Reserved = Annotated[int, Field(ge=0, le=2**20)]


class Driver(Section):
    """What driver and library allocate for an adapter and for a process that uses it."""

    page: Annotated[Literal[4096, 8192, 16384, 65536], SIZE] = Field(
        description="page of the operating system; buffers are whole pages"
    )
    icm_chunk: Annotated[int, SIZE, Field(ge=4096, le=2**30, multiple_of=4096)] = Field(
        description="host memory given to a table of the adapter at once"
    )
    reserved_qps: _Reserved = Field(description="queue pairs that the firmware keeps for itself")
    reserved_cqs: _Reserved = Field(
        description="completion queues that the firmware keeps for itself"
    )
    reserved_srqs: _Reserved = Field(
        description="shared receive queues that the firmware keeps for itself"
    )
    reserved_mpts: _Reserved = Field(
        description="memory protection entries that the firmware keeps for itself"
    )
    reserved_mtts: _Reserved = Field(
        description="translation segments that the firmware keeps for itself"
    )
    rdb_per_qp: Annotated[int, Field(ge=1, le=128)] = Field(
        description="responder resources of a queue pair"
    )
    mtt_segment: Literal[1, 2, 4, 8, 16, 32, 64] = Field(
        description="translation entries handed out together"
    )
    multicast_groups: Count = Field(description="entries of the multicast table")
    event_contexts: Count = Field(description="entries of the table of event queues")
    completion_events: Count = Field(description="entries of the event queue for completions")
    other_events: Count = Field(
        description="entries of each event queue for asynchronous events and for commands"
    )
    eqe: Annotated[int, SIZE, Field(ge=1, le=4096)] = Field(
        description="entry of an event queue, in host memory"
    )
    max_cqe: Annotated[int, Field(ge=2, le=2**24)] = Field(
        description="entries of the largest completion queue"
    )
    doorbell_record: Annotated[int, SIZE, Field(ge=1, le=4096)] = Field(
        description="record in host memory that stands for a doorbell register"
    )
    uarc: Annotated[int, SIZE, Field(ge=2**14, le=2**30, multiple_of=2**13)] = Field(
        description="doorbell records that the adapter sees of one opened device"
    )
    wr_id: Annotated[int, SIZE, Field(ge=0, le=4096)] = Field(
        description="what the library remembers of each work queue entry"
    )
    process: Annotated[int, SIZE, Field(ge=0, le=2**40)] = Field(
        description="address space of a process without any queue: program, libraries, stacks"
    )


class Registration(Section):
    """The processor's time to register memory and to undo it."""

    call: Latency = Field(description="registering, whatever the size")
    pin_page: Latency = Field(description="pinning one page")
    table_entry: Latency = Field(description="writing the translation entry of one page")
    dereg_call: Latency = Field(description="deregistering, whatever the size")
    dereg_page: Latency = Field(description="letting one page go")


class Stack(Description):
    """The processor's time per call, and how the library uses the adapter."""

    post_send: Latency = Field(description="posting one send request, up to the doorbell")
    post_wr: Latency | None = Field(
        default=None,
        description="each further request of a list; as long as the first unless given",
    )
    doorbell: Latency | None = Field(
        default=None, description="until a doorbell has left the processor (store fence)"
    )
    blueflame: Latency | None = Field(
        default=None, description="copying 64 B of a work request to the adapter's registers"
    )
    post_recv: Latency = Field(description="posting one receive request")
    poll_cq: Latency = Field(description="one look at a completion queue")
    poll_memory: Latency = Field(description="one look at a memory location")
    service: Latency = Field(
        default=0, description="a server's program between a request and posting its reply"
    )
    cq_doorbell: bool = Field(description="consuming a completion rings the queue's doorbell")
    max_inline: Annotated[int, SIZE, Field(ge=0, le=2**16)] = Field(
        description="longest payload that the library copies into the work request; "
        "an adapter may allow less"
    )
    page_lists: Literal["inline", "fetched"] = Field(
        default="inline",
        description="where requests that register memory have their list of pages: in themselves, "
        "where the adapter takes it, or in memory",
    )
    registration: Registration
    driver: Driver | None = Field(default=None, description="of drivers whose source is known")
    mpi: Mpi | None = Field(default=None, description="of stacks with an MPI library")
