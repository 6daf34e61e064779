"""A software stack: what each call into it costs the processor."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hcasim.catalog.description import Description, Latency
from hcasim.catalog.units import SIZE


class Stack(Description):
    """The processor's time per call, and how the library uses the adapter."""

    post_send: Latency = Field(description="posting one send request, up to the doorbell")
    post_recv: Latency = Field(description="posting one receive request")
    poll_cq: Latency = Field(description="one look at a completion queue")
    poll_memory: Latency = Field(description="one look at a memory location")
    cq_doorbell: bool = Field(description="consuming a completion rings the queue's doorbell")
    max_inline: Annotated[int, SIZE, Field(ge=0, le=2**16)] = Field(
        description="longest payload that the library copies into the work request"
    )
