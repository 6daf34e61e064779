"""An opened device: a process on one core of a node, using that node's adapter."""

from __future__ import annotations

from hcasim.cluster import Node
from hcasim.engine import Probe, Simulator


class Context:
    """What a process holds of an adapter.

    Args:
        node: the node it runs on.
        core: which of the node's processors it has to itself.

    Attributes:
        probe: tells what the process does.
    """

    def __init__(self, sim: Simulator, node: Node, core: int = 0) -> None:
        self.sim = sim
        self.node = node
        self.adapter = node.adapter
        self.core = node.cores[core]
        self.probe = Probe(sim, self.core.name)
        self.stack = node.group.stack
