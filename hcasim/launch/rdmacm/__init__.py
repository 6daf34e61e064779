"""The connection manager of the kernel, by its device."""

from hcasim.launch.rdmacm import commands

__all__ = ["commands"]
