"""An opened device: a process on one core of a node, using that node's adapter."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar, TypeVar

from hcasim.cluster import Node
from hcasim.engine import Event, Probe, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Opcode
from hcasim.hca import QPType
from hcasim.hca.wqe import entry_layout
from hcasim.host.core import Core
from hcasim.verbs.errors import VerbsError

_Returned = TypeVar("_Returned")


class CoreProbe(Probe):
    """Tells what a process does: each piece since its processor has begun it."""

    changes: ClassVar[Changes] = Changes(unseen="_told_ps")

    __slots__ = ("_core", "_told_ps")

    def __init__(self, sim: Simulator, core: Core) -> None:
        super().__init__(sim, core.name)
        self._core = core
        self._told_ps = 0

    def event(
        self,
        event: str,
        operation: int,
        details: object = "",
        at_ps: int | None = None,
        since_ps: int | None = None,
    ) -> None:
        """Tell an event, with when it began unless that is told."""
        since = max(self._core.begun_ps, self._told_ps) if since_ps is None else since_ps
        self._told_ps = self._core.sim.now
        super().event(event, operation, details, at_ps, since)


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
        self.probe: Probe = CoreProbe(sim, self.core)
        self.stack = node.group.stack

    def made(
        self, steps: Generator[Event, object, _Returned], call: str
    ) -> Generator[Event, object, _Returned]:
        """Return the steps of a call, which has to be run before the next one is made.

        Args:
            call: as a program writes it, such as ``qp.post_send``.

        Raises:
            VerbsError: ``EINVAL``, if the call before has never been run.
        """
        if fault := self.sim.unrun.made(steps, self.core.name, call):
            raise VerbsError("EINVAL", fault)
        return steps

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
