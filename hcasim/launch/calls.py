"""All calls that programs make of the simulator: the modules whose functions answer them."""

from hcasim.launch import devices, objects, rdmacm, requests, spinning, threads, timers, waits

__all__ = ["devices", "objects", "rdmacm", "requests", "spinning", "threads", "timers", "waits"]
