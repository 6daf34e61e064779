"""An opened device: a process on one core of a node, using that node's adapter."""

from __future__ import annotations

from hcasim.cluster import Node
from hcasim.engine import Probe, Simulator
from hcasim.fabric.packet import Opcode
from hcasim.hca import QPType
from hcasim.hca.wqe import entry_layout


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

    @property
    def max_inline(self) -> int:
        """The longest message that adapter and library take inside a request."""
        return min(self.adapter.description.limits.max_inline, self.stack.max_inline)

    def blueflame_inline(self, opcode: Opcode, qp_type: QPType) -> int:
        """The longest message inside a request that BlueFlame registers take; 0 without any."""
        description = self.adapter.description
        blueflame = description.doorbell.blueflame
        if blueflame is None:
            return 0
        layout = entry_layout(description.wqe)
        within = layout.inline_within(blueflame.buffer, opcode, qp_type is QPType.UD)
        return min(within, self.max_inline)
