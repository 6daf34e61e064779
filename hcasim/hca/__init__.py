"""The adapter, block by block: doorbell, send engine, requester, responder, DMA, caches, ports."""

from hcasim.hca.adapter import HostChannelAdapter
from hcasim.hca.completion_queue import Completion, CompletionQueue, WCStatus
from hcasim.hca.qp.endpoint import Path, QPType, State
from hcasim.hca.qp.queue_pair import QueuePair
from hcasim.hca.translation import Access, Region
from hcasim.hca.wqe import ReceiveWqe, SendWqe

__all__ = [
    "Access",
    "Completion",
    "CompletionQueue",
    "HostChannelAdapter",
    "Path",
    "QPType",
    "QueuePair",
    "ReceiveWqe",
    "Region",
    "SendWqe",
    "State",
    "WCStatus",
]
