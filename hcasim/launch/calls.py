"""All calls that programs make of the simulator."""

from hcasim.launch import devices

__all__ = ["devices"]
