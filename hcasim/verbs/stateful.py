"""States of queue pairs, their attributes, and whom they send to."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address
from typing import ClassVar, Final

from hcasim.catalog.subnet import SERVICE_LEVELS
from hcasim.engine.changes import Changes
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import PSN_MODULUS, Route
from hcasim.hca import Path, QPType, State
from hcasim.hca.events import EventType
from hcasim.hca.qp.go_back import LONGEST_TIMEOUT, MOST_RETRIES, RETRIES, TIMEOUT
from hcasim.hca.qp.queue_pair import QueuePair
from hcasim.hca.qp.rnr import rnr_timer_code, rnr_timer_ps
from hcasim.verbs.address import (
    AHAttr,
    GlobalRoute,
    gids_of,
    group_lid,
    header_between,
    on_ethernet,
    routed,
    slower_by,
)
from hcasim.verbs.attributes import changed
from hcasim.verbs.context import ADDRESSED, VerbsError, mtu_of
from hcasim.verbs.cq import CQ
from hcasim.verbs.device import number_of
from hcasim.verbs.errors import member
from hcasim.verbs.events import AsyncEvent
from hcasim.verbs.memory import PD
from hcasim.verbs.receives import SRQ, Receives
from hcasim.verbs.states import ALL, QPAttr, QPAttrMask, QPCap, QPInitAttr, fault

_ALTERNATE: Final = QPAttrMask.ALT_PATH | QPAttrMask.PATH_MIG_STATE
_KNOWN: Final = (ALL | QPAttrMask.RATE_LIMIT).value


class Stateful:
    """What has the states of a queue pair, its attributes, and those whom it sends to.

    Requests are posted to a `QP`, which is derived from it.

    Args:
        queue_pair: that of the adapter.
        cqs: completion queues of its sends and of its receives.
        receives: its receive queue, unless it has a shared one, ``srq``.
    """

    changes: ClassVar[Changes] = Changes(
        counts="_posted_sends _retired_sends", unseen="_address _routes _cap"
    )

    def __init__(
        self,
        pd: PD,
        queue_pair: QueuePair,
        cqs: tuple[CQ, CQ],
        cap: QPCap,
        port_num: int,
        receives: Receives | None,
        srq: SRQ | None,
    ) -> None:
        self.context = pd.context
        self.pd, self.srq = pd, srq
        self.send_cq, self.recv_cq = cqs
        self.qp_type = queue_pair.kind
        self.qp_num = queue_pair.qpn
        self._qp = queue_pair
        self._qp.on_event = self._event
        self._receives = receives
        self._posted_sends = self._retired_sends = 0
        self._cap = cap
        self._port_num = port_num
        self._address: AHAttr | None = None
        self._routes: dict[int, Route] = {}
        self._notifies = False
        self._datagram = self.qp_type is QPType.UD
        self._addressed = self.qp_type in ADDRESSED

    @property
    def state(self) -> State:
        return self._qp.state

    @property
    def lid(self) -> int:
        """LID of its port; over Ethernet the number of the port among those of all nodes."""
        return self.context.adapter.ports[self._port_num - 1].lid

    def modify_qp(self, attr: QPAttr, mask: QPAttrMask | int) -> None:
        """Change attributes or the state, in no time, as ibv_modify_qp.

        Parameters:
            mask: which of the attributes count.

        Raises:
            VerbsError: ``EINVAL`` for a state that may not follow, for attributes that the change
                needs and that are missing, that it does not allow, or that have no such value;
                ``EHOSTUNREACH`` for a GID that no port has, ``EOPNOTSUPP`` for an alternate path or
                bits of the mask that stand for no attribute.

        Source: manual page ibv_modify_qp; Linux, core/verbs.c, ib_modify_qp_is_ok.
        """
        current, mask = self._qp.state, QPAttrMask(mask)
        if unknown := mask.value & ~_KNOWN:
            raise VerbsError("EOPNOTSUPP", f"mask has {unknown:#x}; allowed: bits of {_KNOWN:#x}")
        target = thought = current
        if mask & QPAttrMask.STATE:
            target = member(State, attr.qp_state, "qp_state")
        if mask & QPAttrMask.CUR_STATE:
            thought = member(State, attr.cur_qp_state, "cur_qp_state")
        found = fault(current, target, self.qp_type, mask)
        if thought is not current and not found:
            found = f"cur_qp_state is {thought.name}; allowed: {current.name}"
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
        self.context.adapter.change_port(self._qp, port_num - 1)
        if own is not None:
            own.reopen(self._qp.responder.queue, self._qp.responder.post_list)

    def query_qp(self, mask: QPAttrMask = ALL) -> tuple[QPAttr, QPInitAttr]:
        """The attributes, and what it was made with, as ibv_query_qp; all, whatever the mask.

        PSNs are those of the next packet that is expected and of the next that is sent.
        """
        qp, path = self._qp, self._qp.path
        cap = replace(self._cap)
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
                    header = header_between(node, self.lid, dlid)
                route = Route(dlid, 0, pkey, header, flow=self.lid << 16)
            self._routes[name] = route
        return route

    def connect(
        self,
        remote: Stateful,
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
            service_level: of its packets, by which switches with lanes or priorities tell them
                apart.
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
        slower = slower_by(self.context.node, static_rate)
        route = Route(remote.lid, service_level, self._qp.pkey, slower=slower)
        self._connect(Path(mtu, route, remote.qp_num, *tries, reads, answered))

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
        and also to those at the port that it comes from. With another port it stays in its groups,
        which that port then joins. Real ports join by a request to the subnet administrator, which
        is not modelled.

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

    def _event(self, event: EventType) -> None:
        self.context.events.put(AsyncEvent(event, self))
