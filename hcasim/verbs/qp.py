"""Queue pairs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from enum import IntFlag
from ipaddress import IPv6Address
from typing import ClassVar, Final

from hcasim.catalog import IwarpProtocol
from hcasim.engine import Event
from hcasim.engine.changes import Changes
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import ANY_GROUP, MULTICAST_QPN, PSN_MODULUS, SERVICE_LEVELS, Route
from hcasim.hca import Completion, Path, QPType, SendWqe, State
from hcasim.hca.events import EventType
from hcasim.hca.qp.go_back import LONGEST_TIMEOUT, MOST_RETRIES, RETRIES, TIMEOUT
from hcasim.hca.qp.rnr import rnr_timer_code, rnr_timer_ps
from hcasim.hca.translation import WORD, Ring, WorkQueueBuffer
from hcasim.hca.units import ENTRY
from hcasim.hca.wqe import DOORBELL_SIZE, GRANULE, entry_layout
from hcasim.verbs.address import (
    AHAttr,
    GlobalRoute,
    gids_of,
    group_lid,
    header_between,
    on_ethernet,
    routed,
)
from hcasim.verbs.attributes import changed
from hcasim.verbs.context import ADDRESSED, VerbsError, mtu_of, slower_by
from hcasim.verbs.cq import CQ
from hcasim.verbs.device import MAX_MESSAGE, number_of
from hcasim.verbs.events import AsyncEvent
from hcasim.verbs.memory import PD
from hcasim.verbs.receives import SRQ, Receives
from hcasim.verbs.requests import SGE, WIRE, RecvWR, SendWR, WROpcode, memory_of
from hcasim.verbs.states import ALL, QPAttr, QPAttrMask, QPCap, QPInitAttr, fault

ATOMIC_SIZE: Final = WORD
_ATOMICS: Final = (WROpcode.ATOMIC_CMP_AND_SWP, WROpcode.ATOMIC_FETCH_AND_ADD)
_IMMEDIATE: Final = (WROpcode.RDMA_WRITE_WITH_IMM, WROpcode.SEND_WITH_IMM)
_DATAGRAMS: Final = (WROpcode.SEND, WROpcode.SEND_WITH_IMM)
_UNRELIABLE: Final = (*_DATAGRAMS, WROpcode.RDMA_WRITE, WROpcode.RDMA_WRITE_WITH_IMM)
_INLINE: Final = (*_UNRELIABLE, WROpcode.SEND_WITH_INV)
_SERVED: Final = {QPType.UC: _UNRELIABLE, QPType.UD: _DATAGRAMS, QPType.DCT: ()}
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
_UNSENDING: Final = (State.RESET, State.INIT, State.RTR)
_ALTERNATE: Final = QPAttrMask.ALT_PATH | QPAttrMask.PATH_MIG_STATE


class QPCreateFlags(IntFlag):
    """Flags of ibv_create_qp_ex; names and numbers are those of libibverbs."""

    NONE = 0
    BLOCK_SELF_MCAST_LB = 2


class QP:
    """A queue pair, with the arguments of ibv_create_qp.

    Args:
        sq_sig_all: whether each request has a completion, also one that does not ask for it.
        max_send_wr, max_recv_wr: entries of the send and of the receive queue.
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

    changes: ClassVar[Changes] = Changes(
        counts="_posted_sends _retired_sends _next_slot", unseen="_address _routes"
    )

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
        qp_type: QPType = QPType.RC,
        sq_sig_all: bool = False,
        srq: SRQ | None = None,
        create_flags: QPCreateFlags = QPCreateFlags.NONE,
    ) -> None:
        self.context = pd.context
        self.pd, self.send_cq, self.recv_cq = pd, send_cq, recv_cq
        adapter = self.context.adapter
        limits = adapter.description.limits
        for what, made in (("send_cq", send_cq), ("recv_cq", recv_cq), ("srq", srq)):
            if made is not None and made.context.adapter is not adapter:
                found = made.context.adapter.name
                raise VerbsError("EINVAL", f"{what} is of {found}; allowed: of {adapter.name}")
        for what, value, low, high in (
            ("max_send_wr", max_send_wr, 1, limits.max_wr),
            ("max_recv_wr", max_recv_wr, 1, limits.max_wr),
            ("max_send_sge", max_send_sge, 1, limits.max_sge),
            ("max_recv_sge", max_recv_sge, 1, limits.max_sge),
            ("max_inline_data", max_inline_data, 0, self.context.max_inline),
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
        self._max_send_wr = max_send_wr
        self._max_inline = max_inline_data
        self._max_sge = max_send_sge
        self._port_num = port_num
        self._receive_limits = (0, 0) if srq is not None else (max_recv_wr, max_recv_sge)
        self._address: AHAttr | None = None
        self._routes: dict[int, Route] = {}
        self._notifies = False
        self.qp_type = qp_type
        self._datagram = qp_type is QPType.UD
        self._addressed = qp_type in ADDRESSED
        self._posted_sends = self._retired_sends = 0
        self._layout = entry_layout(adapter.description.wqe)
        self._slots, send_stride = self._layout.ring(max_send_wr, max_inline_data, max_send_sge)
        self._next_slot = 0
        self._blueflame = adapter.description.doorbell.blueflame
        self.srq = srq
        own = 0 if srq is not None else max_recv_wr
        queues = WorkQueueBuffer(self._slots, send_stride, own, self._layout.receive(max_recv_sge))
        address = self.context.node.allocate(queues.size, written=True)
        self._qp = adapter.create_qp(
            pd.handle,
            port_num - 1,
            (send_cq.queue, recv_cq.queue),
            queues,
            address,
            qp_type,
            sq_sig_all,
            None if srq is None else srq.queue,
        )
        self._qp.on_event = self._event
        self._qp.deaf_to_itself = create_flags == QPCreateFlags.BLOCK_SELF_MCAST_LB
        self._receives: Receives | None = None
        if srq is None:
            responder = self._qp.responder
            most = max_recv_wr, max_recv_sge
            self._receives = Receives(self.context, responder.queue, most, responder.post_list)
        self.qp_num = self._qp.qpn
        send_cq.retire[self.qp_num] = recv_cq.retire[self.qp_num] = self._retire

    @property
    def state(self) -> State:
        return self._qp.state

    @property
    def lid(self) -> int:
        """LID of its port; over Ethernet the number of the port among those of all nodes."""
        return self.context.adapter.ports[self._port_num - 1].lid

    def modify_qp(self, attr: QPAttr, mask: QPAttrMask) -> None:
        """Change attributes or the state, in no time, as ibv_modify_qp.

        Parameters:
            mask: which of the attributes count.

        Raises:
            VerbsError: ``EINVAL`` for a state that may not follow, for attributes that the change
                needs and that are missing, that it does not allow, or that have no such value;
                ``EHOSTUNREACH`` for a GID that no port has, ``EOPNOTSUPP`` for an alternate path.

        Source: manual page ibv_modify_qp; Linux, core/verbs.c, ib_modify_qp_is_ok.
        """
        current, mask = self._qp.state, QPAttrMask(mask)
        target = attr.qp_state if mask & QPAttrMask.STATE else current
        found = fault(current, target, self.qp_type, mask)
        if mask & QPAttrMask.CUR_STATE and attr.cur_qp_state is not current and not found:
            found = f"cur_qp_state is {attr.cur_qp_state.name}; allowed: {current.name}"
        if found:
            raise VerbsError("EINVAL", found)
        if mask & _ALTERNATE:
            raise VerbsError("EOPNOTSUPP", "an alternate path, which is not modelled")
        path = changed(self.context, self._qp.path, self._port_num, self._datagram, attr, mask)
        if mask & QPAttrMask.PORT and attr.port_num != self._port_num:
            self._move_to(attr.port_num)
        if mask & QPAttrMask.AV:
            ah = attr.ah_attr
            self._address = replace(ah, grh=replace(ah.grh))
        self._go(current, target, path, bool(mask & QPAttrMask.EN_SQD_ASYNC_NOTIFY), attr)

    def _go(self, current: State, target: State, path: Path, asks: bool, attr: QPAttr) -> None:
        qp = self._qp
        if target is State.RESET:
            self._reset()
            return
        if target is State.ERR:
            qp.fail()
            return
        if target is State.SQD and current is State.RTS:
            self._notifies = asks and bool(attr.en_sqd_async_notify)
            qp.hold(self._drained)
            return
        if target is not current and target is not State.RTS:
            qp.move(target)
        self._routes.clear()
        qp.follow(path)
        if target is State.RTS and current is not target:
            qp.resume()

    def _drained(self) -> None:
        if self._notifies:
            self._event(EventType.SQ_DRAINED)

    def _reset(self) -> None:
        qp = self._qp
        self._retired_sends = self._posted_sends
        posted = 0 if self._receives is None else self._receives.posted
        qp.reset(posted)
        self.send_cq.queue.clean(qp.qpn, False, self._posted_sends)
        for completion in self.recv_cq.queue.clean(qp.qpn, True, posted):
            if self.srq is not None:
                self.srq.retire(completion)
        if self._receives is not None:
            self._receives.reopen(qp.responder.queue, qp.responder.post_list)
        self._address = None
        self._routes.clear()

    def _move_to(self, port_num: int) -> None:
        own = self._receives
        waiting = own is not None and own.posted > own.retired
        if self._qp.state not in (State.RESET, State.INIT) or waiting:
            raise VerbsError("EOPNOTSUPP", "another port, after requests or in another state")
        self._port_num = port_num
        self._qp.change_port(port_num - 1, self.context.adapter.send_engines[port_num - 1])
        if own is not None:
            own.reopen(self._qp.responder.queue, self._qp.responder.post_list)

    def query_qp(self, mask: QPAttrMask = ALL) -> tuple[QPAttr, QPInitAttr]:
        """The attributes, and what it was made with, as ibv_query_qp; all, whatever the mask.

        PSNs are those of the next packet that is expected and of the next that is sent.
        """
        qp, path = self._qp, self._qp.path
        entries, pieces = self._receive_limits
        cap = QPCap(self._max_send_wr, entries, self._max_sge, pieces, self._max_inline)
        attr = QPAttr(
            qp_state=qp.state,
            cur_qp_state=qp.state,
            path_mtu=number_of(path.mtu) if path.mtu else 0,
            qkey=path.qkey,
            rq_psn=qp.responder.expected_psn % PSN_MODULUS,
            sq_psn=qp.requester.next_psn,
            dest_qp_num=path.qpn,
            qp_access_flags=path.access,
            cap=cap,
            ah_attr=self._address_of(path.route),
            pkey_index=path.pkey_index,
            en_sqd_async_notify=int(self._notifies),
            sq_draining=int(qp.state is State.SQD and not qp.requester.drained),
            max_rd_atomic=path.max_rd_atomic,
            max_dest_rd_atomic=path.max_dest_rd_atomic,
            min_rnr_timer=rnr_timer_code(path.rnr_timer_ps),
            port_num=self._port_num,
            timeout=path.timeout,
            retry_cnt=path.retries,
            rnr_retry=path.rnr_retry,
        )
        made = QPInitAttr(self.send_cq, self.recv_cq, cap, self.qp_type, qp.signals_all)
        return attr, made

    def _address_of(self, route: Route) -> AHAttr:
        """The address that was given, or that of the end it was connected with."""
        if self._address is not None:
            return self._address
        attr = AHAttr(sl=route.service_level, port_num=self._port_num)
        if not on_ethernet(self.context.node):
            attr.dlid = route.lid
        elif route.lid:
            attr.is_global, attr.grh = 1, GlobalRoute(gids_of(self.context.node, route.lid)[-1])
        return attr

    def _route_to(self, dlid: int, mgid: int) -> Route:
        """The way to a port that is known by its LID alone, or to a multicast group."""
        name = mgid << 16 | dlid
        route = self._routes.get(name)
        if route is None:
            node, pkey, header = self.context.node, self._qp.pkey, None
            if dlid in MULTICAST_LIDS:
                goal = GlobalRoute(IPv6Address(mgid))
                route = routed(node, AHAttr(goal, is_global=1), dlid, self._port_num, pkey)
            else:
                if self._datagram and on_ethernet(node):
                    header = header_between(self.lid, dlid)
                route = Route(dlid, 0, pkey, header)
            self._routes[name] = route
        return route

    def connect(
        self,
        remote: QP,
        *,
        path_mtu: int | None = None,
        timeout: int = TIMEOUT,
        retry_cnt: int = RETRIES,
        rnr_retry: int = 7,
        min_rnr_timer_ps: int = 10_000_000,
        service_level: int = 0,
        static_rate: float = 0,
    ) -> None:
        """Bring this end to ready-to-send, connected to ``remote``: INIT, RTR and RTS in one step.

        It has all rights, and packets are counted from 0. `modify_qp` takes these steps one by one.

        Args:
            path_mtu: bytes; the machine's MTU by default.
            timeout: exponent of the time to wait for an answer, 4.096 us times 2 ** timeout; 0 is
                for ever.
            retry_cnt: how often to send again what has not been answered in that time. Then the
                request ends with RETRY_EXC_ERR.
            rnr_retry: how often to try again when the receiver is not ready; 7 is for ever. Over
                iWARP it means nothing: such a send ends the connection with REM_OP_ERR.
            min_rnr_timer_ps: pause in ps before the remote end tries again, if this is not ready.
            service_level: priority that its packets ask for. Nothing tells them apart by it.
            static_rate: Gbit/s of the slowest InfiniBand link on the way, as ibv_rate names them,
                at which the requests of this end then leave; 0 is the port's.

        Raises:
            VerbsError: ``EINVAL`` for a value that this machine does not have, for queue pairs of
                different services, or for datagrams.
        """
        for what, value, most in (
            ("timeout", timeout, LONGEST_TIMEOUT),
            ("retry_cnt", retry_cnt, MOST_RETRIES),
            ("rnr_retry", rnr_retry, MOST_RETRIES),
            ("min_rnr_timer_ps", min_rnr_timer_ps, rnr_timer_ps(0)),
            ("service_level", service_level, SERVICE_LEVELS - 1),
        ):
            if not 0 <= value <= most:
                raise VerbsError("EINVAL", f"{what} is {value}; allowed: 0 to {most}")
        kind, other = self._qp.kind, remote._qp.kind
        alone = self._addressed or kind is QPType.DCT
        if alone or other is not kind:
            allowed = "activate" if alone else f"two of the service {kind.name}"
            raise VerbsError("EINVAL", f"connect {kind.name} with {other.name}; allowed: {allowed}")
        mtu = mtu_of(self.context, path_mtu)
        adapter = self.context.adapter
        answers = remote.context.adapter.description.responder.outstanding
        reads = min(adapter.description.requester.outstanding, answers)
        answered = adapter.description.responder.outstanding
        tries = timeout, retry_cnt, rnr_retry, min_rnr_timer_ps
        route = Route(remote.lid, service_level, self._qp.pkey)
        slower = slower_by(self.context, static_rate)
        self._connect(Path(mtu, route, remote.qp_num, *tries, reads, slower, answered))

    def activate(self, *, path_mtu: int | None = None, qkey: int = 0) -> None:
        """Bring a queue pair for datagrams to ready-to-send, with an MTU as in `connect`.

        Parameters:
            qkey: what datagrams have to name to be received.
        """
        if not self._datagram:
            raise VerbsError("EINVAL", f"activate of {self._qp.kind.name}; allowed: connect")
        self._connect(Path(mtu_of(self.context, path_mtu), qkey=qkey))

    def attach_mcast(self, gid: IPv6Address | str, lid: int) -> None:
        """Attach a queue pair for datagrams to a multicast group, which its port then joins.

        What is sent to the group comes once to each queue pair that is attached, however often,
        and also to those at the port that it comes from. Real ports join by a request to the subnet
        administrator, which is not modelled.

        Args:
            gid: identifier of the group (MGID), such as ``ff12::1``.
            lid: LID of the group, 0xC000 to 0xFFFE; over Ethernet 0 is one that is made of ``gid``.

        Raises:
            VerbsError: ``EINVAL`` for another service, or an identifier or a LID of no group.

        Source: manual page ibv_attach_mcast; Linux, core/verbs.c, ib_attach_mcast.
        """
        self.context.adapter.attach(self._qp, *self._group(gid, lid))

    def detach_mcast(self, gid: IPv6Address | str, lid: int) -> None:
        """Detach it from a group; ``EINVAL`` also if it is not attached to that."""
        if not self.context.adapter.detach(self._qp, *self._group(gid, lid)):
            raise VerbsError("EINVAL", f"the queue pair is not attached to {gid}, LID {lid:#x}")

    def _group(self, gid: IPv6Address | str, lid: int) -> tuple[int, int]:
        mgid = IPv6Address(gid)
        if not self._datagram:
            found = self._qp.kind.name
            raise VerbsError("EINVAL", f"multicast of the service {found}; allowed: UD")
        if not mgid.is_multicast:
            raise VerbsError("EINVAL", f"gid is {mgid}; allowed: ff00:: to ffff:...:ffff")
        lid = group_lid(self.context.node, mgid, lid)
        if lid not in MULTICAST_LIDS:
            raise VerbsError("EINVAL", f"lid is {lid:#x}; allowed: 0xc000 to 0xfffe")
        return lid, int(mgid)

    def _connect(self, path: Path) -> None:
        if self._qp.state not in (State.RESET, State.RTS):
            state = self._qp.state.name
            raise VerbsError(
                "EINVAL", f"the queue pair is in the state {state}; allowed: RESET, RTS"
            )
        self._address = None
        self._qp.connect(path)

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
        opcode = WIRE[wr.opcode]
        count = 1 if pieces is None else len(pieces)
        size = self._layout.size(opcode, length if wr.inline else -1, self._addressed, count)
        pages, inline = 0, wr.inline or wr.opcode in _LISTLESS
        region = None if wr.mr is None else wr.mr.region
        given_up = wr.invalidate_rkey if wr.opcode in _KEYED else 0
        if wr.mw is not None and wr.bind_info is not None:
            region, given_up = wr.mw.bound(wr.bind_info, self.qp_num)
        if wr.mr is not None:
            umr = context.adapter.description.umr
            assert umr is not None
            pages, address = wr.mr.pages, wr.mr.page_list
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
        route = None
        if self._addressed and wr.ah is not None:
            route = wr.ah.route.within(self._qp.pkey)
        elif self._addressed:
            mgid = ANY_GROUP if wr.dgid is None else int(IPv6Address(wr.dgid))
            route = self._route_to(wr.dlid, mgid)
        wqe = SendWqe(
            opcode,
            wr.wr_id,
            length,
            address=address,
            key=key,
            remote_address=wr.remote_addr,
            remote_key=wr.rkey,
            inline=inline,
            signaled=wr.signaled or self._qp.signals_all,
            posted=posted,
            compare_add=wr.compare_add,
            swap=wr.swap,
            operation=operation,
            size=size,
            slot=slot,
            route=route,
            remote_qpn=wr.remote_qpn,
            remote_qkey=wr.remote_qkey,
            dc_key=wr.dc_key,
            pages=pages,
            region=region,
            carried=carried,
            pieces=None if wr.inline else pieces,
            immediate=wr.imm_data % (1 << 32) if wr.opcode in _IMMEDIATE else None,
            invalidates=given_up,
            fenced=wr.fence,
            solicited=wr.solicited,
        )
        if wr.inline and length:
            wqe.data = self._inlined(wr.sg_list)
        return wqe

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
        state = self._qp.state
        if state is not State.RTS and state in _UNSENDING:
            raise VerbsError("EINVAL", f"the queue pair is not connected, but in {state.name}")
        if self._posted_sends + ahead - self._retired_sends >= self._max_send_wr:
            raise VerbsError(
                "ENOMEM", f"the send queue is full: {self._max_send_wr} requests are outstanding"
            )
        if length < 0 or length > MAX_MESSAGE:
            raise VerbsError("EINVAL", f"a message of {length} bytes; allowed: 0 to {MAX_MESSAGE}")
        kind = self._qp.kind
        name, mtu, fault = wr.opcode.name, self._qp.path.mtu, ""
        description = self.context.adapter.description
        if wr.opcode not in _SERVED.get(kind, WROpcode):
            fault = f"{name} on a queue pair of the service {kind.name}"
        elif self._datagram and length > mtu:
            fault = f"a datagram of {length} bytes; allowed: up to the MTU, {mtu}"
        elif self._addressed and group_fault(wr):
            fault = group_fault(wr)
        elif len(wr.sg_list) > self._max_sge:
            fault = f"{len(wr.sg_list)} pieces of memory; allowed: up to {self._max_sge}"
        elif (wr.opcode is WROpcode.REG_MR) != (wr.mr is not None):
            fault = "REG_MR, and nothing else, needs a memory region"
        elif (wr.opcode is WROpcode.BIND_MW) != (wr.mw is not None and wr.bind_info is not None):
            fault = "BIND_MW, and nothing else, needs a window and what it opens"
        elif wr.mw is not None and wr.mw.pd is not self.pd:
            fault = "BIND_MW of a window of another protection domain"
        elif wr.mw is not None and wr.bind_info is not None and wr.mw.fault(wr.bind_info):
            fault = f"BIND_MW of {wr.mw.fault(wr.bind_info)}"
        elif wr.opcode in _KEYED and description.umr is None:
            fault = f"{name}; {description.id} has no such request"
        elif wr.opcode in _IMMEDIATE and isinstance(description.protocol, IwarpProtocol):
            fault = f"{name}; iWARP has no immediate data (RFC 5040)"
        elif wr.opcode in _ATOMICS and not description.limits.atomics:
            fault = f"{name}; {description.id} has no atomics"
        elif wr.opcode in _ATOMICS and length != ATOMIC_SIZE:
            fault = f"an atomic works on {ATOMIC_SIZE} bytes, not {length}"
        elif wr.inline and wr.opcode not in _INLINE:
            fault = f"{name} cannot carry data inline"
        elif wr.inline and length > self._max_inline:
            fault = f"{length} bytes inline; this queue pair allows {self._max_inline}"
        if fault:
            raise VerbsError("EINVAL", fault)

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

    def _event(self, event: EventType) -> None:
        self.context.events.put(AsyncEvent(event, self))

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
    """What is wrong with the address of a datagram; nothing if it is a port, or a group."""
    dlid = wr.dlid if wr.ah is None else wr.ah.route.lid
    if (dlid in MULTICAST_LIDS) == (wr.remote_qpn == MULTICAST_QPN):
        return ""
    return f"dlid {dlid:#x}, remote_qpn {wr.remote_qpn:#x}; a group's LID needs 0xffffff"
