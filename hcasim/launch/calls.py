"""All calls that programs make of the simulator: the modules whose functions answer them."""

from hcasim.launch import objects, requests, spinning, threads, timers

__all__ = ["objects", "requests", "spinning", "threads", "timers"]
