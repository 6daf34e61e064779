"""MPI over verbs: protocols, matching, registration cache, progress and collectives."""

from hcasim.mpi.comm import Comm
from hcasim.mpi.job import DeadlockError, Job
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import ANY_SOURCE, ANY_TAG, MPIError, Request, Status

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "Buffer",
    "Comm",
    "DeadlockError",
    "Job",
    "MPIError",
    "Request",
    "Status",
]
