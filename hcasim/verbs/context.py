"""An opened device: a process on one core of a node, using that node's adapter."""

from __future__ import annotations

from hcasim.cluster import Node
from hcasim.engine import Probe, Simulator
from hcasim.verbs.cq import CQ
from hcasim.verbs.errors import VerbsError
from hcasim.verbs.memory import PD


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

    def alloc_pd(self) -> PD:
        """A new protection domain."""
        return PD(self, self.adapter.alloc_pd())

    def create_cq(self, cqe: int) -> CQ:
        """A new completion queue of ``cqe`` entries.

        Raises:
            VerbsError: ``EINVAL`` if it would hold none.
        """
        if cqe < 1:
            raise VerbsError("EINVAL", f"a completion queue needs at least 1 entry, not {cqe}")
        address = self.node.allocate(cqe * self.adapter.description.cqe.size)
        return CQ(self, self.adapter.create_cq(cqe, address))
