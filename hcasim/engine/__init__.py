"""What every hardware block is made of: clock, servers, arbiters, credits, caches."""

from hcasim.engine.arbiter import Arbiter
from hcasim.engine.cache import SetAssociativeCache
from hcasim.engine.clock import Simulator
from hcasim.engine.credits import CreditPool
from hcasim.engine.probe import EventLog, Listener, Probe
from hcasim.engine.server import Rate, SerialServer
from hcasim.engine.steady import bounded_mean, find_period

__all__ = [
    "Arbiter",
    "CreditPool",
    "EventLog",
    "Listener",
    "Probe",
    "Rate",
    "SerialServer",
    "SetAssociativeCache",
    "Simulator",
    "bounded_mean",
    "find_period",
]
