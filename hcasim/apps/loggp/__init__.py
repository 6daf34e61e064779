"""A machine that is described by LogGP parameters, to run programs without hardware."""

from hcasim.apps.loggp.comm import LogGPComm
from hcasim.apps.loggp.job import LogGPJob
from hcasim.apps.loggp.params import LogGP

__all__ = ["LogGP", "LogGPComm", "LogGPJob"]
