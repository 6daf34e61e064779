"""The adapter, block by block: doorbell, send engine, requester, responder, DMA, caches, ports."""

from hcasim.hca.adapter import HostChannelAdapter
from hcasim.hca.translation import Access, Region
from hcasim.hca.work_queue import (
    Completion,
    CompletionQueue,
    QueuePair,
    ReceiveEntry,
    SendEntry,
    State,
    Status,
)

__all__ = [
    "Access",
    "Completion",
    "CompletionQueue",
    "HostChannelAdapter",
    "QueuePair",
    "ReceiveEntry",
    "Region",
    "SendEntry",
    "State",
    "Status",
]
