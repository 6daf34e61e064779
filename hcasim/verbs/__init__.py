"""The verbs an application calls, with the names of libibverbs; calls take simulated time.

Calls that take time are generators for use in a SimPy process: ``yield from qp.post_send(wr)``.
"""

from hcasim.hca import Access, Completion, QPType, WCStatus
from hcasim.hca.completion_queue import WCFlags, WCOpcode
from hcasim.hca.events import EventType
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.cq import CQ, CompChannel
from hcasim.verbs.dc import DCI, DCT
from hcasim.verbs.events import AsyncEvent
from hcasim.verbs.memory import MR, PD
from hcasim.verbs.qp import QP, QPCreateFlags
from hcasim.verbs.receives import SRQ
from hcasim.verbs.requests import GRH_SIZE, SGE, BindInfo, RecvWR, SendWR, WROpcode
from hcasim.verbs.windows import MW, MWType
from hcasim.verbs.wr import QPEx

__all__ = [
    "CQ",
    "DCI",
    "DCT",
    "GRH_SIZE",
    "MR",
    "MW",
    "PD",
    "QP",
    "SGE",
    "SRQ",
    "Access",
    "AsyncEvent",
    "BindInfo",
    "CompChannel",
    "Completion",
    "Context",
    "EventType",
    "MWType",
    "QPCreateFlags",
    "QPEx",
    "QPType",
    "RecvWR",
    "SendWR",
    "VerbsError",
    "WCFlags",
    "WCOpcode",
    "WCStatus",
    "WROpcode",
]
