"""An opened device: a process on one core of a node, using that node's adapter."""

from __future__ import annotations

from hcasim.cluster import Node
from hcasim.engine import Simulator
from hcasim.verbs.cq import CQ
from hcasim.verbs.errors import VerbsError
from hcasim.verbs.memory import PD

PAGE = 4096


class Context:
    """What a process holds of an adapter.

    Args:
        node: the node it runs on.
        core: which of the node's processors it has to itself.
    """

    def __init__(self, sim: Simulator, node: Node, core: int = 0) -> None:
        self.sim = sim
        self.node = node
        self.adapter = node.adapter
        self.core = node.cores[core]
        self.stack = node.machine.stack
        self._next_pd = core * 1_000_000
        self._next_address = PAGE + (core << 40)

    def alloc_pd(self) -> PD:
        """A new protection domain."""
        self._next_pd += 1
        return PD(self, self._next_pd)

    def create_cq(self, cqe: int) -> CQ:
        """A new completion queue of ``cqe`` entries.

        Raises:
            VerbsError: ``EINVAL`` if it would hold none.
        """
        if cqe < 1:
            raise VerbsError("EINVAL", f"a completion queue needs at least 1 entry, not {cqe}")
        return CQ(self, self.adapter.create_cq(cqe))

    def allocate(self, length: int) -> int:
        """Address of ``length`` fresh bytes of virtual memory, aligned to a page."""
        address = self._next_address
        self._next_address += -(-max(length, 1) // PAGE) * PAGE
        return address
