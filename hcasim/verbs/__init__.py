"""The verbs an application calls, with the names of libibverbs; calls take simulated time.

Calls that take time are generators for use in a SimPy process: ``yield from qp.post_send(wr)``.
"""

import sys

from hcasim.hca import Access, Completion, QPType, WCStatus
from hcasim.hca.completion_queue import WCFlags, WCOpcode
from hcasim.hca.events import EventType
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.cq import CQ, CompChannel
from hcasim.verbs.events import AsyncEvent
from hcasim.verbs.memory import MR, PD, Rereg
from hcasim.verbs.qp import QP
from hcasim.verbs.receives import SRQ
from hcasim.verbs.requests import GRH_SIZE, SGE, BindInfo, RecvWR, SendWR, WROpcode
from hcasim.verbs.unsupported import REFUSALS
from hcasim.verbs.windows import MW, MWType
from hcasim.verbs.wr import QPEx

__all__ = [
    "CQ",
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
    "QPEx",
    "QPType",
    "RecvWR",
    "Rereg",
    "SendWR",
    "VerbsError",
    "WCFlags",
    "WCOpcode",
    "WCStatus",
    "WROpcode",
]

# What is not modelled can be named, and says so when it is called.
vars(sys.modules[__name__]).update(REFUSALS)
