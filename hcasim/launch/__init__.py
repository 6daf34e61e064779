"""Real programs of verbs on simulated adapters: `launch`."""

from hcasim.launch.launching import Launched, launch

__all__ = ["Launched", "launch"]
