"""How the nodes of a machine are connected: what a file says, the wiring it means, the routes."""

from hcasim.catalog.network.generators import select, wire
from hcasim.catalog.network.topologies import (
    BackToBack,
    Dragonfly,
    Explicit,
    FatTree,
    Network,
    OneSwitch,
    Ring,
    Tree,
)
from hcasim.catalog.network.wiring import Way, Wiring

__all__ = [
    "BackToBack",
    "Dragonfly",
    "Explicit",
    "FatTree",
    "Network",
    "OneSwitch",
    "Ring",
    "Tree",
    "Way",
    "Wiring",
    "select",
    "wire",
]
