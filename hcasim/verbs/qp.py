"""Queue pairs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from enum import IntFlag
from ipaddress import IPv6Address
from typing import ClassVar, Final

from hcasim.catalog import IwarpProtocol
from hcasim.engine import Event
from hcasim.engine.changes import Changes
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import ANY_GROUP, MULTICAST_QPN, Route
from hcasim.hca import Completion, QPType, SendWqe, State
from hcasim.hca.translation import WORD, Ring, WorkQueueBuffer
from hcasim.hca.units import ENTRY
from hcasim.hca.wqe import DOORBELL_SIZE, GRANULE, PLAIN, Extras, entry_layout
from hcasim.verbs.context import VerbsError
from hcasim.verbs.cq import CQ
from hcasim.verbs.device import MAX_MESSAGE
from hcasim.verbs.errors import member
from hcasim.verbs.memory import PD
from hcasim.verbs.receives import SRQ, Receives
from hcasim.verbs.requests import SGE, WIRE, RecvWR, SendWR, WROpcode, memory_of
from hcasim.verbs.stateful import Stateful
from hcasim.verbs.states import QPCap

ATOMIC_SIZE: Final = WORD
_ATOMICS: Final = (WROpcode.ATOMIC_CMP_AND_SWP, WROpcode.ATOMIC_FETCH_AND_ADD)
_IMMEDIATE: Final = (WROpcode.RDMA_WRITE_WITH_IMM, WROpcode.SEND_WITH_IMM)
_DATAGRAMS: Final = (WROpcode.SEND, WROpcode.SEND_WITH_IMM)
_UNRELIABLE: Final = (*_DATAGRAMS, WROpcode.RDMA_WRITE, WROpcode.RDMA_WRITE_WITH_IMM)
_INLINE: Final = (*_UNRELIABLE, WROpcode.SEND_WITH_INV)
_SERVED: Final = {QPType.UC: _UNRELIABLE, QPType.UD: _DATAGRAMS, QPType.DCT: ()}
_MOVING: Final = (WROpcode.RDMA_WRITE, WROpcode.SEND, WROpcode.RDMA_READ, *_ATOMICS)
"""Which move data and nothing else."""
_EVERY: Final = tuple(WROpcode)
_NOT_MODELLED: Final = (QPType.XRC_SEND, QPType.XRC_RECV, QPType.RAW_PACKET, QPType.DRIVER)
_KEYED: Final = (
    WROpcode.REG_MR,
    WROpcode.LOCAL_INV,
    WROpcode.SEND_WITH_INV,
    WROpcode.BIND_MW,
)
"""Which need keys that requests make valid."""
_LISTLESS: Final = (WROpcode.LOCAL_INV, WROpcode.BIND_MW)
"""Which change a key without a list of pages."""
_RTS: Final = State.RTS
_UNSENDING: Final = (State.RESET, State.INIT, State.RTR)


class QPCreateFlags(IntFlag):
    """Flags of ibv_create_qp_ex; names and numbers are those of libibverbs."""

    NONE = 0
    BLOCK_SELF_MCAST_LB = 2


class QP(Stateful):
    """A queue pair, with the arguments of ibv_create_qp.

    Args:
        sq_sig_all: whether each request has a completion, also one that does not ask for it.
        max_send_wr, max_recv_wr: entries of the send and of the receive queue; without any, to post
            to it is ``ENOMEM``.
        max_send_sge, max_recv_sge: pieces of memory of a request.
        max_inline_data: bytes that a request may carry inline.
        srq: shared receive queue, in place of one of its own.
        create_flags: whether multicasts that it sends come back to it.
        port_num: port it uses, from 1.

    Raises:
        VerbsError: ``EINVAL`` for a limit of the adapter or a service that it has not, ``ENOMEM``
            if it has no more queue pairs, ``EOPNOTSUPP`` for a service that is not modelled, or DC
            on an adapter before Connect-IB.
    """

    changes: ClassVar[Changes] = Changes(counts="_next_slot")

    def __init__(
        self,
        pd: PD,
        send_cq: CQ,
        recv_cq: CQ,
        *,
        max_send_wr: int = 128,
        max_recv_wr: int = 128,
        max_send_sge: int = 1,
        max_recv_sge: int = 1,
        max_inline_data: int = 0,
        port_num: int = 1,
        qp_type: QPType | int = QPType.RC,
        sq_sig_all: bool = False,
        srq: SRQ | None = None,
        create_flags: QPCreateFlags | int = QPCreateFlags.NONE,
    ) -> None:
        context, adapter = pd.context, pd.context.adapter
        limits = adapter.description.limits
        for what, made in (("send_cq", send_cq), ("recv_cq", recv_cq), ("srq", srq)):
            if made is not None and made.context.adapter is not adapter:
                found = made.context.adapter.name
                raise VerbsError("EINVAL", f"{what} is of {found}; allowed: of {adapter.name}")
        qp_type = member(QPType, qp_type, "qp_type")
        create_flags = QPCreateFlags(create_flags)
        for what, value, low, high in (
            ("max_send_wr", max_send_wr, 0, limits.max_wr),
            ("max_recv_wr", max_recv_wr, 0, limits.max_wr),
            ("max_send_sge", max_send_sge, 0, limits.max_sge),
            ("max_recv_sge", max_recv_sge, 0, limits.max_sge),
            ("max_inline_data", max_inline_data, 0, context.max_inline),
            ("port_num", port_num, 1, adapter.description.ports),
        ):
            if not low <= value <= high:
                raise VerbsError("EINVAL", f"{what} is {value}; allowed: {low} to {high}")
        if qp_type is not QPType.RC and isinstance(adapter.description.protocol, IwarpProtocol):
            raise VerbsError("EINVAL", f"qp_type is {qp_type.name}; iWARP has only RC")
        if srq is not None and qp_type is QPType.UC:
            raise VerbsError("EINVAL", "qp_type is UC with an SRQ; allowed: RC or UD")
        if qp_type in _NOT_MODELLED:
            allowed = ", ".join([one.name for one in QPType if one not in _NOT_MODELLED])
            raise VerbsError("EOPNOTSUPP", f"{qp_type.name} is not modelled; allowed: {allowed}")
        if qp_type in (QPType.DCI, QPType.DCT) and not limits.dc:
            found = f"{qp_type.name} on {adapter.description.id}"
            raise VerbsError("EOPNOTSUPP", f"{found}; allowed: since Connect-IB")
        if create_flags and (adapter.description.tables is not None or qp_type is not QPType.UD):
            found, name = adapter.description.id, create_flags.name
            raise VerbsError(
                "EOPNOTSUPP", f"{name} of {qp_type.name}, {found}; allowed: UD, since mlx4"
            )
        if adapter.queue_pairs >= limits.max_qp:
            raise VerbsError("ENOMEM", f"all {limits.max_qp} queue pairs are in use")
        self._layout = entry_layout(adapter.description.wqe)
        self._slots, send_stride = self._layout.ring(max_send_wr, max_inline_data, max_send_sge)
        own = 0 if srq is not None else max_recv_wr
        queues = WorkQueueBuffer(self._slots, send_stride, own, self._layout.receive(max_recv_sge))
        address = context.node.allocate(queues.size, written=True)
        queue_pair = adapter.create_qp(
            pd.handle,
            port_num - 1,
            (send_cq.queue, recv_cq.queue),
            queues,
            address,
            qp_type,
            sq_sig_all,
            None if srq is None else srq.queue,
        )
        queue_pair.deaf_to_itself = create_flags == QPCreateFlags.BLOCK_SELF_MCAST_LB
        receives: Receives | None = None
        if srq is None:
            responder = queue_pair.responder
            most = max_recv_wr, max_recv_sge
            receives = Receives(context, responder.queue, most, responder.post_list)
        pieces = max_recv_sge if srq is None else 0
        cap = QPCap(max_send_wr, own, max_send_sge, pieces, max_inline_data)
        super().__init__(pd, queue_pair, (send_cq, recv_cq), cap, port_num, receives, srq)
        self._max_send_wr = max_send_wr
        self._max_inline = max_inline_data
        self._max_sge = max_send_sge
        self._next_slot = 0
        self._served = _SERVED.get(qp_type, _EVERY)
        self._blueflame = adapter.description.doorbell.blueflame
        send_cq.retire[self.qp_num] = recv_cq.retire[self.qp_num] = self._retire

    def destroy(self) -> None:
        """Give the queue pair up, with all requests, in no time, as ibv_destroy_qp."""
        self._reset()
        self.context.adapter.destroy_qp(self._qp)
        for cq in (self.send_cq, self.recv_cq):
            cq.retire.pop(self.qp_num, None)

    @property
    def used(self) -> tuple[tuple[Ring, int], ...]:
        """The memory of the send and of the receive queue, each with its entries used so far."""
        receives = self._qp.responder.queue.ring
        return (
            (self._qp.requester.queue.ring, self._next_slot),
            (receives, 0 if self._receives is None else self._receives.retired),
        )

    def post_send(self, wr: SendWR) -> Generator[Event, object, int]:
        """Post a request to the send queue and ring the doorbell.

        Returns:
            The number under which probes tell of the operation.

        Raises:
            VerbsError: ``ENOMEM`` if the queue is full, ``EINVAL`` if the queue pair is not
                connected or the request is not one that the adapter can take.
        """
        return self.context.made(self._post_send(wr), "qp.post_send")

    def _post_send(self, wr: SendWR) -> Generator[Event, object, int]:
        self.context.sim.unrun.run()
        self._check_send(wr)
        self._posted_sends = posted = self._posted_sends + 1
        core, costs = self.context.core, self.context.costs
        yield core.work(costs.posting(core))
        wqe = self._entry(wr, posted)
        if wqe.carried:
            for _ in range(1, -(-wqe.size // GRANULE)):
                if costs.blueflame:
                    yield core.work(costs.blueflame)
                self.context.store(GRANULE, _noted)
            if costs.blueflame:
                yield core.work(costs.blueflame)
            self._ring(GRANULE, (wqe,))
        else:
            self._ring(DOORBELL_SIZE, (wqe,))
        core.drained_ps = core.sim.now + costs.fence
        return wqe.operation

    def post_send_list(
        self, wrs: Sequence[SendWR], *, whole: bool = False
    ) -> Generator[Event, object, list[int]]:
        """Post requests with one doorbell, as linked ones by ibv_post_send.

        Args:
            whole: post all or none. Otherwise those before the first that has a fault are posted,
                and ``bad_wr`` of the error says which that is.
        """
        return self.context.made(self._post_send_list(wrs, whole), "qp.post_send_list")

    def _post_send_list(
        self, wrs: Sequence[SendWR], whole: bool
    ) -> Generator[Event, object, list[int]]:
        self.context.sim.unrun.run()
        if len(wrs) == 1:
            return [(yield from self._post_send(wrs[0]))]
        fault: VerbsError | None = None
        for ahead, wr in enumerate(wrs):
            try:
                self._check_send(wr, ahead)
            except VerbsError as error:
                error.bad_wr, fault = ahead, error
                break
        if fault is not None:
            if fault.bad_wr and not whole:
                yield from self._post_send_list(wrs[: fault.bad_wr], whole)
            raise fault
        first, self._posted_sends = self._posted_sends + 1, self._posted_sends + len(wrs)
        core, costs = self.context.core, self.context.costs
        wqes = []
        for ahead, wr in enumerate(wrs):
            yield core.work(costs.program + costs.post_wr if ahead else costs.posting(core))
            wqes.append(self._entry(wr, first + ahead, alone=False))
        if wqes:
            self._ring(DOORBELL_SIZE, wqes)
            core.drained_ps = core.sim.now + costs.fence
        return [wqe.operation for wqe in wqes]

    def _entry(self, wr: SendWR, posted: int, alone: bool = True) -> SendWqe:
        context = self.context
        address, length, key, pieces = memory_of(wr.sg_list)
        operation = next(context.sim.operations)
        if context.probe.listeners:
            context.probe.event("post_send", operation, self._qp)
        inline = wr.inline
        count = 1 if pieces is None else len(pieces)
        size = self._layout.size(WIRE[wr.opcode], length if inline else -1, self._addressed, count)
        region, extras = None, PLAIN
        if wr.opcode not in _MOVING or wr.fence or wr.solicited or wr.dc_key or count > 1:
            extras = Extras(None if inline else pieces, fenced=wr.fence, solicited=wr.solicited)
            extras.dc_key = wr.dc_key
            if wr.opcode in _IMMEDIATE:
                extras.immediate = wr.imm_data % (1 << 32)
            elif wr.opcode in _KEYED:
                extras.invalidates, inline = wr.invalidate_rkey, inline or wr.opcode in _LISTLESS
            if wr.mw is not None and wr.bind_info is not None:
                region, extras.invalidates = wr.mw.bound(wr.bind_info, self.qp_num)
            elif wr.mr is not None:
                umr = context.adapter.description.umr
                assert umr is not None
                region, address = wr.mr.region, wr.mr.page_list
                extras.pages = pages = wr.mr.pages
                inline = context.stack.page_lists == "inline" and pages * ENTRY <= umr.inline
                size = self._layout.control + umr.segments
                size += pages * ENTRY if inline else self._layout.data
                size = -(-size // self._layout.stride) * self._layout.stride
        slot, self._next_slot = self._layout.place(self._next_slot, size, self._slots)
        blueflame = self._blueflame
        carried = (
            blueflame is not None
            and alone
            and size <= blueflame.buffer
            and (wr.inline or blueflame.takes == "any")
        )
        wqe = SendWqe(
            WIRE[wr.opcode],
            wr.wr_id,
            length,
            address,
            key,
            wr.remote_addr,
            wr.rkey,
            inline,
            wr.signaled or self._qp.signals_all,
            posted,
            operation,
            size,
            slot,
            carried,
            region,
            extras,
        )
        if wr.opcode in _ATOMICS:
            wqe.compare_add, wqe.swap = wr.compare_add, wr.swap
        if self._addressed:
            wqe.route = self._route(wr)
            wqe.remote_qpn, wqe.remote_qkey = wr.remote_qpn, wr.remote_qkey
        if wr.inline and length:
            wqe.data = self._inlined(wr.sg_list) if wr.data is None else wr.data
        return wqe

    def _route(self, wr: SendWR) -> Route | None:
        if wr.ah is not None:
            return wr.ah.within(self.pd, self._qp.pkey)
        return self._route_to(wr.dlid, ANY_GROUP if wr.dgid is None else int(IPv6Address(wr.dgid)))

    def _inlined(self, sg_list: Sequence[SGE]) -> bytes | None:
        """The bytes that go into an entry; None if nobody knows them."""
        peek = self.context.adapter.tables.peek
        found = [peek(one.lkey, one.addr, one.length) for one in sg_list]
        known = [one for one in found if one is not None]
        return b"".join(known) if len(known) == len(found) else None

    def _ring(self, size: int, wqes: Sequence[SendWqe]) -> None:
        adapter = self.context.adapter
        self.context.store(size, adapter.ring, self._qp.requester.post, wqes)

    def _check_send(self, wr: SendWR, ahead: int = 0) -> None:
        """Raise what is wrong with a request that is posted behind ``ahead`` others."""
        length = 0
        for one in wr.sg_list:
            length += one.length
        state, opcode = self._qp.state, wr.opcode
        if state is not _RTS and state in _UNSENDING:
            raise VerbsError("EINVAL", f"the queue pair is not connected, but in {state.name}")
        if self._posted_sends + ahead - self._retired_sends >= self._max_send_wr:
            raise VerbsError(
                "ENOMEM", f"the send queue is full: {self._max_send_wr} requests are outstanding"
            )
        if length < 0 or length > MAX_MESSAGE:
            raise VerbsError("EINVAL", f"a message of {length} bytes; allowed: 0 to {MAX_MESSAGE}")
        fault = ""
        if opcode not in self._served:
            fault = f"{opcode.name} on a queue pair of the service {self._qp.kind.name}"
        elif self._datagram and length > self._qp.path.mtu:
            mtu = self._qp.path.mtu
            fault = f"a datagram of {length} bytes; allowed: up to the MTU, {mtu}"
        elif self._addressed and group_fault(wr):
            fault = group_fault(wr)
        elif len(wr.sg_list) > self._max_sge:
            fault = f"{len(wr.sg_list)} pieces of memory; allowed: up to {self._max_sge}"
        elif opcode not in _MOVING or wr.mr is not None or wr.mw is not None:
            fault = self._special_fault(wr)
        elif opcode in _ATOMICS and not self.context.adapter.description.limits.atomics:
            fault = f"{opcode.name}; {self.context.adapter.description.id} has no atomics"
        elif opcode in _ATOMICS and length != ATOMIC_SIZE:
            fault = f"an atomic works on {ATOMIC_SIZE} bytes, not {length}"
        if wr.inline and not fault:
            if opcode not in _INLINE:
                fault = f"{opcode.name} cannot carry data inline"
            elif length > self._max_inline:
                fault = f"{length} bytes inline; this queue pair allows {self._max_inline}"
        if fault:
            raise VerbsError("EINVAL", fault)

    def _special_fault(self, wr: SendWR) -> str:
        """What is wrong with a request that does more than move data, or claims to."""
        opcode, description = wr.opcode, self.context.adapter.description
        fault = ""
        if (opcode is WROpcode.REG_MR) != (wr.mr is not None):
            fault = "REG_MR, and nothing else, needs a memory region"
        elif (opcode is WROpcode.BIND_MW) != (wr.mw is not None and wr.bind_info is not None):
            fault = "BIND_MW, and nothing else, needs a window and what it opens"
        elif wr.mw is not None and wr.mw.pd is not self.pd:
            fault = "BIND_MW of a window of another protection domain"
        elif wr.mw is not None and wr.bind_info is not None and wr.mw.fault(wr.bind_info):
            fault = f"BIND_MW of {wr.mw.fault(wr.bind_info)}"
        elif opcode in _KEYED and description.umr is None:
            fault = f"{opcode.name}; {description.id} has no such request"
        elif opcode in _IMMEDIATE and isinstance(description.protocol, IwarpProtocol):
            fault = f"{opcode.name}; iWARP has no immediate data (RFC 5040)"
        return fault

    def post_recv(self, wr: RecvWR) -> Generator[Event, object, None]:
        """Post a request to the receive queue and ring the doorbell; ``ENOMEM`` if that is full."""
        return self.context.made(self._prepared().post_list((wr,)), "qp.post_recv")

    def post_recv_list(self, wrs: Sequence[RecvWR]) -> Generator[Event, object, None]:
        """Post requests with one doorbell, those before the first that has a fault (``bad_wr``)."""
        return self.context.made(self._prepared().post_list(wrs), "qp.post_recv_list")

    def prepost_recv(self, wr: RecvWR) -> None:
        """Post a request to the receive queue in no time, as while a program sets itself up."""
        self._own().prepost(wr)

    def fill_recv(self, count: int, request: Callable[[int], RecvWR]) -> None:
        """Have so many requests, by number from 0, in an empty receive queue, posted long ago.

        They cost nothing before messages take them: what the adapter holds of a queue is on it.
        """
        self._own().fill(count, request)

    def query_data_in_order(self, opcode: WROpcode) -> bool:
        """Whether programs may rely on the order in which a message's bytes come: they may not.

        So libibverbs answers where a driver does not say otherwise (ibv_query_qp_data_in_order).
        """
        return False

    def _prepared(self) -> Receives:
        if self._qp.state is State.RESET:
            raise VerbsError("EINVAL", "the queue pair is in RESET; receives need INIT or later")
        return self._own()

    def _own(self) -> Receives:
        """The receive queue; ``EINVAL`` if it is a shared one, to which one posts by itself."""
        if self._receives is None:
            raise VerbsError("EINVAL", "the queue pair has a shared receive queue; post to that")
        return self._receives

    def _retire(self, completion: Completion) -> None:
        # A completion also frees the unsignaled requests before it.
        if completion.is_receive:
            if self._receives is not None:
                self._receives.retired = completion.posted
            elif self.srq is not None:
                self.srq.retire(completion)
        else:
            self._retired_sends = completion.posted


def _noted() -> None:
    """The adapter takes a part of a work request; the last part begins the work."""


def group_fault(wr: SendWR) -> str:
    """What is wrong with the address of a request; nothing if it is a port, or a group."""
    dlid = wr.dlid if wr.ah is None else wr.ah.route.lid
    if not dlid:
        return "no address: ah is None and dlid 0; allowed: an AH, or 1 to 65534"
    if (dlid in MULTICAST_LIDS) == (wr.remote_qpn == MULTICAST_QPN):
        return ""
    return f"dlid {dlid:#x}, remote_qpn {wr.remote_qpn:#x}; a group's LID needs 0xffffff"
