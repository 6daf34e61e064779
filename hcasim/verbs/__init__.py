"""The verbs an application calls, with the names of libibverbs; calls take simulated time.

Calls that take time are generators for use in a SimPy process: ``yield from qp.post_send(wr)``.
"""

import sys

from hcasim.hca import Access, Completion, QPType, State, WCStatus
from hcasim.hca.completion_queue import WCFlags, WCOpcode, wc_status_str
from hcasim.hca.events import EventType
from hcasim.verbs.address import GID, AHAttr, GIDEntry, GIDType, GlobalRoute, Rate
from hcasim.verbs.ah import AH, create_ah, create_ah_from_wc, init_ah_from_wc
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.cq import CQ, CompChannel
from hcasim.verbs.dc import DCI, DCT
from hcasim.verbs.device import AtomicCap, DeviceAttr, DeviceCap, LinkLayer, PortAttr, PortState
from hcasim.verbs.dm import DM
from hcasim.verbs.events import AsyncEvent
from hcasim.verbs.memory import MR, PD, Rereg
from hcasim.verbs.qp import QP, QPCreateFlags
from hcasim.verbs.receives import SRQ
from hcasim.verbs.requests import GRH_SIZE, SGE, RecvWR, SendWR, WROpcode
from hcasim.verbs.states import MTU, MigState, QPAttr, QPAttrMask, QPCap, QPInitAttr
from hcasim.verbs.unsupported import REFUSALS
from hcasim.verbs.windows import MW, BindInfo, MWType
from hcasim.verbs.wr import QPEx

__all__ = [
    "AH",
    "CQ",
    "DCI",
    "DCT",
    "DM",
    "GID",
    "GRH_SIZE",
    "MR",
    "MTU",
    "MW",
    "PD",
    "QP",
    "SGE",
    "SRQ",
    "AHAttr",
    "Access",
    "AsyncEvent",
    "AtomicCap",
    "BindInfo",
    "CompChannel",
    "Completion",
    "Context",
    "DeviceAttr",
    "DeviceCap",
    "EventType",
    "GIDEntry",
    "GIDType",
    "GlobalRoute",
    "LinkLayer",
    "MWType",
    "MigState",
    "PortAttr",
    "PortState",
    "QPAttr",
    "QPAttrMask",
    "QPCap",
    "QPCreateFlags",
    "QPEx",
    "QPInitAttr",
    "QPType",
    "Rate",
    "RecvWR",
    "Rereg",
    "SendWR",
    "State",
    "VerbsError",
    "WCFlags",
    "WCOpcode",
    "WCStatus",
    "WROpcode",
    "create_ah",
    "create_ah_from_wc",
    "init_ah_from_wc",
    "wc_status_str",
]

# What is not modelled can be named, and says so when it is called.
vars(sys.modules[__name__]).update(REFUSALS)
