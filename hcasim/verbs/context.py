"""An opened device: a process on one core of a node, using that node's adapter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from ipaddress import IPv6Address
from typing import ClassVar, Final, TypeVar

from hcasim.catalog import Host
from hcasim.catalog.link import MTU_OF, mtu_fault, path_mtus
from hcasim.catalog.stack import Stack
from hcasim.cluster import Node
from hcasim.engine import Args, Event, Probe, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import FULL_MEMBER, MEMBERSHIP, Opcode
from hcasim.hca import QPType
from hcasim.hca.wqe import entry_layout
from hcasim.host.core import Core
from hcasim.verbs.address import GIDEntry, gid_type, gids, lid_at
from hcasim.verbs.device import DeviceAttr, PortAttr, device_of, port_of
from hcasim.verbs.errors import VerbsError
from hcasim.verbs.events import AsyncEvent, EventQueue

__all__ = ["Context", "CoreProbe", "Costs", "VerbsError", "mtu_of"]

_Returned = TypeVar("_Returned")

ADDRESSED: Final = (QPType.UD, QPType.DCI)
"""Services whose requests say where they go."""


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
        since = max(self._core.begun_ps, self._told_ps) if since_ps is None else since_ps
        self._told_ps = self._core.sim.now
        super().event(event, operation, details, at_ps, since)


class Costs:
    """What calls take one processor, in ps.

    Attributes:
        program: the program's own work before it posts a request.
        post_send, post_wr: of the first request of a list, and of each further one.
        blueflame: of each 64 B that go to BlueFlame registers.
        fence: until a doorbell has left the processor. Other stores and locks wait for it.
        poll_empty, poll_entry: a look at a completion queue that finds nothing, or an entry.
        line: reading what a device, or another processor, has written since the last look.
        away: how far the processor is from the socket of the adapter, which doorbells pass once,
            and fences and lines there and back.
        lock: that a call takes and releases; 0 if the library takes none.
    """

    def __init__(self, stack: Stack, host: Host, away: int = 0) -> None:
        self._clock = self._work = 0
        self._locks = True
        self._stack = stack
        self.away = away
        self.fence = self.line = 2 * away
        if stack.cycles is not None and host.core is not None:
            self._clock = host.core.frequency
            self.fence += host.core.fence
            self.line += host.core.line
        self._settle()

    def cycles(self, number: int) -> int:
        """The time of a program's own work, in ps: 0 if it is in the times of the stack."""
        return number * 10**12 // self._clock if self._clock else 0

    def run(self, work: int, *, locks: bool = True) -> None:
        """Have a program work so many cycles for each request; it may do without locks."""
        self._work, self._locks = work, locks
        self._settle()

    def run_at(self, clock: int) -> None:
        """Have the processor run at so many Hz, if the work of the stack is in cycles."""
        if self._clock:
            self._clock = clock
            self._settle()

    def _settle(self) -> None:
        stack = self._stack
        self.program = self.cycles(self._work)
        self.post_send = self.post_wr = stack.post_send
        self.post_recv = stack.post_recv
        self.poll_empty = self.poll_entry = stack.poll_cq
        self.poll_memory = stack.poll_memory
        self.blueflame = self.lock = 0
        cycles = stack.cycles
        if cycles is not None:
            self.post_send += self.cycles(cycles.post_send)
            self.post_wr += self.cycles(cycles.post_wr)
            self.blueflame = self.cycles(cycles.blueflame)
            self.post_recv += self.cycles(cycles.post_recv)
            self.poll_empty += self.cycles(cycles.poll_empty)
            self.poll_entry += self.cycles(cycles.poll_entry)
            self.poll_memory += self.cycles(cycles.poll_memory)
            self.lock = self.cycles(cycles.lock) if self._locks else 0

    def posting(self, core: Core) -> int:
        """What a call takes up to its first doorbell, after the program's work before it."""
        left = core.drained_ps - core.sim.now
        if self.lock:
            return max(self.program, left) + self.lock + self.post_send
        return max(self.program + self.post_send, left)

    def receiving(self, number: int) -> int:
        """What a call takes that posts so many receives, with the program's work for each."""
        return self.lock + number * (self.program + self.post_recv)

    def polling(self, core: Core, found: bool, awaited: bool) -> int:
        """What a look at a completion queue takes that finds an entry or none.

        The line of an entry that was there before is fetched while the program does other work.
        """
        took = self.lock + (self.poll_entry if found else self.poll_empty)
        if found and awaited:
            took += self.line
        return took + max(0, core.drained_ps - core.sim.now) if self.lock else took


class Context:
    """What a process holds of an adapter; it has one of the node's processors to itself."""

    def __init__(self, sim: Simulator, node: Node, core: int = 0) -> None:
        self.sim = sim
        self.node = node
        self.adapter = node.adapter
        self.core = node.cores[core]
        self.probe: Probe = CoreProbe(sim, self.core)
        self.stack = node.group.stack
        away = node.host.memory.between(self.core.socket, node.group.host.adapter_socket)
        self.costs = Costs(self.stack, node.group.host, away)
        node.cores.take(self.core, self.costs)
        self.events: EventQueue[AsyncEvent] = EventQueue(sim, self.stack.event)

    def made(
        self, steps: Generator[Event, object, _Returned], call: str
    ) -> Generator[Event, object, _Returned]:
        """Return the steps of a call, written such as ``qp.post_send``.

        Raises:
            VerbsError: ``EINVAL``, if the call before has never been run.
        """
        if fault := self.sim.unrun.made(steps, self.core.name, call):
            raise VerbsError("EINVAL", fault)
        return steps

    def get_async_event(self) -> Generator[Event, object, AsyncEvent]:
        """Wait for what the adapter tells of the objects of this process, and take it."""
        return self.made(self.events.get(), "context.get_async_event")

    def query_device(self) -> DeviceAttr:
        """What the adapter can do, as ibv_query_device tells."""
        return device_of(self.node)

    def query_port(self, port_num: int = 1) -> PortAttr:
        """State and limits of a port, as ibv_query_port tells; ``EINVAL`` if there is none."""
        return port_of(self.node, port_num)

    def query_gid(self, port_num: int = 1, index: int = 0) -> IPv6Address:
        """A global identifier of a port; ``EINVAL`` beyond the end of its table.

        Over InfiniBand it is the subnet's prefix with the GUID of the port. Over Ethernet the first
        is made of the MAC address, and that of RoCE v2 of the IPv4 address is the second.
        """
        return self.query_gid_ex(port_num, index).gid

    def query_gid_ex(self, port_num: int = 1, index: int = 0) -> GIDEntry:
        """A global identifier of a port, with what it belongs to."""
        table = gids(self.node, port_num)
        if not 0 <= index < len(table):
            raise VerbsError("EINVAL", f"index is {index}; allowed: 0 to {len(table) - 1}")
        return GIDEntry(table[index], index, port_num, gid_type(self.node))

    def query_gid_table(self) -> list[GIDEntry]:
        """The global identifiers of all ports."""
        numbers = range(1, len(self.adapter.ports) + 1)
        return [
            self.query_gid_ex(number, index)
            for number in numbers
            for index in range(len(gids(self.node, number)))
        ]

    def query_pkey(self, port_num: int = 1, index: int = 0) -> int:
        """A key of a partition that a port is in; ``EINVAL`` beyond the end of its table."""
        lid_at(self.node, port_num)
        table = self.adapter.pkeys(port_num - 1)
        if not 0 <= index < len(table):
            raise VerbsError("EINVAL", f"index is {index}; allowed: 0 to {len(table) - 1}")
        return table[index]

    def get_pkey_index(self, pkey: int, port_num: int = 1) -> int:
        """Where a port has a key in its table; ``ENOENT`` if it is not there."""
        lid_at(self.node, port_num)
        table = self.adapter.pkeys(port_num - 1)
        if pkey not in table:
            known = ", ".join(hex(one) for one in table)
            raise VerbsError("ENOENT", f"pkey is {pkey:#x}; allowed: {known}")
        return table.index(pkey)

    def set_pkeys(self, pkeys: Sequence[int], port_num: int = 1) -> None:
        """Write the table of partitions of a port, as the subnet manager does before programs run.

        Parameters:
            pkeys: keys of 16 bits, the highest of which is that of full members.
        """
        lid_at(self.node, port_num)
        for pkey in pkeys:
            if not 0 < pkey & ~MEMBERSHIP < MEMBERSHIP or not 0 <= pkey <= FULL_MEMBER:
                raise VerbsError("EINVAL", f"pkey is {pkey:#x}; allowed: 15 bits that are not 0")
        if not pkeys:
            raise VerbsError("EINVAL", "0 keys; allowed: at least 1")
        self.adapter.pkeys(port_num - 1)[:] = pkeys

    def store(self, size: int, then: Callable[[*Args], None], *args: *Args) -> None:
        """Have the processor write to the adapter, across what joins its socket with that."""
        if self.costs.away:
            self.sim.call_after(self.costs.away, self.node.bus.mmio_write, size, then, *args)
        else:
            self.node.bus.mmio_write(size, then, *args)

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
        within = layout.inline_within(blueflame.buffer, opcode, qp_type in ADDRESSED)
        return min(within, self.max_inline)


def mtu_of(context: Context, path_mtu: int | None) -> int:
    """The MTU of a path in bytes, as asked for or else the machine's, if that can have it."""
    adapter = context.adapter
    mtu = adapter.mtu if path_mtu is None else path_mtu
    kind = MTU_OF[adapter.description.protocol.kind]
    if mtu_fault(mtu, "", kind) or mtu > adapter.mtu:
        allowed = path_mtus(kind, adapter.mtu)
        raise VerbsError("EINVAL", f"path MTU {mtu}; allowed: {allowed}")
    return mtu
