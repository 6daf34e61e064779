"""Real programs of verbs on simulated adapters: `launch`."""

from hcasim.launch.session import Launched, launch

__all__ = ["Launched", "launch"]
