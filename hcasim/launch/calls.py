"""All calls that programs make of the simulator: the modules whose functions answer them."""

from hcasim.launch import devices, objects, requests

__all__ = ["devices", "objects", "requests"]
