"""Entries of work queues and completion queues, and what an adapter refuses to exceed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hcasim.catalog.adapter.tables import Policy
from hcasim.catalog.description import Count, Latency, Section, Size
from hcasim.ground.units import SIZE


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
    policy: Policy = Field(description="which entry is replaced")
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
