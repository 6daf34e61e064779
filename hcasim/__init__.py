"""A discrete-event simulator of RDMA adapters."""

__version__ = "0.1.0"
