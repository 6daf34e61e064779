"""The ways of a packet to another process: a ring of slots, a receive queue, shared memory."""

from hcasim.mpi.channels.channel import Channel
from hcasim.mpi.channels.queue import Queue
from hcasim.mpi.channels.ring import EagerRing
from hcasim.mpi.channels.shared_memory import SharedMemory

__all__ = ["Channel", "EagerRing", "Queue", "SharedMemory"]
