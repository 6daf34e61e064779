"""What every hardware block is made of: clock, servers, arbiters, credits, caches."""

from simpy.events import Event, Process, Timeout

from hcasim.engine.arbiter import Arbiter
from hcasim.engine.cache import SetAssociativeCache
from hcasim.engine.clock import Action, Args, Call, Onlooker, Simulator, Watcher
from hcasim.engine.credits import CreditPool
from hcasim.engine.forward import FastForward
from hcasim.engine.probe import EventLog, EventStream, Listener, Probe
from hcasim.engine.profile import Profile, collect_seldom, seldom_collected
from hcasim.engine.repetition import Repetition
from hcasim.engine.resources import Awaited, Busy, Resources
from hcasim.engine.retry import Retry, Stuck
from hcasim.engine.server import ParallelServers, Rate, SerialServer, Server, Waits, servers
from hcasim.engine.steady import find_period, mean_error, settled

__all__ = [
    "Action",
    "Arbiter",
    "Args",
    "Awaited",
    "Busy",
    "Call",
    "CreditPool",
    "Event",
    "EventLog",
    "EventStream",
    "FastForward",
    "Listener",
    "Onlooker",
    "ParallelServers",
    "Probe",
    "Process",
    "Profile",
    "Rate",
    "Repetition",
    "Resources",
    "Retry",
    "SerialServer",
    "Server",
    "SetAssociativeCache",
    "Simulator",
    "Stuck",
    "Timeout",
    "Waits",
    "Watcher",
    "collect_seldom",
    "find_period",
    "mean_error",
    "seldom_collected",
    "servers",
    "settled",
]
