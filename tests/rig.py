"""Machines with known latencies, and programs on them, for tests below the benchmarks."""

from collections.abc import Generator, Iterable, Sequence
from functools import cache
from typing import Any

from hcasim.catalog import Machine, resolve
from hcasim.catalog.host import Core as CoreDescription
from hcasim.catalog.stack import Instructions
from hcasim.catalog.testbed import Network
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.verbs import (
    CQ,
    MR,
    PD,
    QP,
    SGE,
    Access,
    Completion,
    Context,
    RecvWR,
    SendWR,
    WCStatus,
    WROpcode,
)
from hcasim.workloads import WORKLOADS, Options, Result, run_point
from hcasim.workloads.registry import Listen

Program = Generator[Event, Any, Any]

WRITE, SEND, READ = WROpcode.RDMA_WRITE, WROpcode.SEND, WROpcode.RDMA_READ
FETCH_ADD, CMP_SWAP = WROpcode.ATOMIC_FETCH_AND_ADD, WROpcode.ATOMIC_CMP_AND_SWP
ALL = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC

_OF_CREATION = (
    "max_send_wr",
    "max_recv_wr",
    "max_send_sge",
    "max_recv_sge",
    "max_inline_data",
    "qp_type",
    "sq_sig_all",
)

# No test may depend on a value that was fitted or assumed, because such values change.
FIXED = {
    "adapter.limits.max_sge": "59",
    "stack.event": "4 us",
    "adapter.doorbell.latency": "100 ns",
    "adapter.send.wqe_service": "100 ns",
    "adapter.send.packet_service": "50 ns",
    "adapter.send.latency": "700 ns",
    "adapter.send.prefetch": "8",
    "adapter.send.port_buffer": "8 KiB",
    "adapter.receive.packet_service": "50 ns",
    "adapter.receive.latency": "600 ns",
    "adapter.receive.buffer": "16 KiB",
    "adapter.completion.latency": "100 ns",
    "adapter.receive_queue.latency": "300 ns",
    "adapter.responder.latency": "2 us",
    "adapter.ack.latency": "100 ns",
    "adapter.memory.latency": "500 ns",
    "adapter.memory.bandwidth": "2 GB/s",
    "adapter.icm.outstanding": "4",
    "adapter.icm.latency": "0 ns",
    "adapter.icm.victims": "2",
    "adapter.scheduler.burst": "1 KiB",
    "adapter.tables.srqc": "64 B",
    "adapter.limits.max_inline": "400 B",
    "adapter.limits.max_wr": "65535",
    "adapter.limits.max_mtu": "4096 B",
    "host.core.fence": "0 ns",
    "host.core.line": "0 ns",
    "host.cache.size": "1 MiB",
    "host.cache.hit_bandwidth": "6 GB/s",
    "host.cache.miss_bandwidth": "1.5 GB/s",
    "host.memory.read_latency": "450 ns",
    "host.memory.write_latency": "150 ns",
    "host.memory.bandwidth": "6.4 GB/s",
    "host.root_port.completion": "64 B",
    "host.root_port.short_read": "0 B",
    "host.chipset.mmio_latency": "100 ns",
    "host.root_port.posted_header_credits": "32",
    "host.root_port.posted_data_credits": "256",
    "host.root_port.nonposted_header_credits": "32",
    "host.pcix_bridge.latency": "140 ns",
    "host.pcix_bridge.completion_burst": "512 B",
    "host.pcix_bridge.streaming": "true",
    "host.pcix_bridge.buffer": "4096 B",
    "link.cable_length": "5 m",
    "link.propagation": "5 ns/m",
    "link.credit_update": "1024 B",
    "stack.post_send": "300 ns",
    "stack.post_recv": "250 ns",
    "stack.poll_cq": "150 ns",
    "stack.poll_memory": "50 ns",
    "stack.cq_doorbell": "true",
    "stack.max_inline": "128 B",
    "stack.registration.call": "7 us",
    "stack.registration.pin_page": "500 ns",
    "stack.registration.table_entry": "200 ns",
    "stack.registration.dereg_call": "5 us",
    "stack.registration.dereg_page": "200 ns",
    "stack.driver.reserved_srqs": "0",
    "stack.driver.process": "8 MiB",
}
FIXED |= {
    f"adapter.{cache_}.{key}": value
    for cache_, entries, line in (
        ("sqpc", 64, 256),
        ("rqpc", 64, 256),
        ("cqc", 64, 64),
        ("mpt", 64, 64),
        ("mtt", 512, 8),
    )
    for key, value in (
        ("entries", str(entries)),
        ("line", f"{line} B"),
        ("ways", "4"),
        ("policy", "lru"),
        ("outstanding", "4"),
        ("location", "mode"),
    )
}
_SWITCH = {"switch.latency": "200 ns", "switch.buffer": "16 KiB"}
_BUS = {
    "mt25208": {
        "adapter.bus.read_tags": "8",
        "adapter.bus.address_bits": "32",
        "adapter.bus.dllp_tlps_per_ack": "1",
        "adapter.bus.dllp_tlps_per_update": "1",
    },
    "mt23108": {"adapter.bus.outstanding_splits": "2"},
}
_BUS["mt25218"] = _BUS["mt25208"]


@cache
def _resolve(
    adapter: str,
    mtu: int,
    switch: bool,
    firmware_mode: str | None,
    overrides: tuple[tuple[str, str], ...],
) -> Machine:
    settings = FIXED | _BUS[adapter] | (_SWITCH if switch else {}) | dict(overrides)
    return resolve(
        "liu2004",
        adapter=adapter,
        overrides=settings,
        mtu=mtu,
        switch=switch,
        firmware_mode=firmware_mode,
    )


def machine(
    overrides: dict[str, str] | None = None,
    *,
    adapter: str = "mt25208",
    mtu: int = 1024,
    switch: bool = True,
    firmware_mode: str | None = None,
) -> Machine:
    """A machine whose unpublished values are fixed here, but for the overrides."""
    changes = tuple(sorted((overrides or {}).items()))
    return _resolve(adapter, mtu, switch, firmware_mode, changes)


def run(name: str, on: Machine, listen: Listen | None = None, **options: Any) -> Result:
    """Run one point of a workload; its verb may follow its name."""
    workload, _, verb = name.partition(" ")
    usual = {"verb": verb or WORKLOADS[workload].defaults.verb}
    return run_point(workload, on, Options(**usual | options), listen)


def refitted(base: Machine, mtu: int | None = None, **parts: Any) -> Machine:
    """The machine with other parts in every node: adapter, host, stack or link."""
    groups = tuple(group.model_copy(update=parts) for group in base.groups)
    return base.model_copy(update={"groups": groups, "mtu": mtu or base.mtu})


def extended(base: Machine, **parts: dict[str, Any]) -> Machine:
    """The machine with other values in every node, also those that its files leave out.

    Args:
        parts: adapter, host, stack or link: values by name, those of a section in a dictionary.
    """
    changed = {name: _changed(getattr(base, name), values) for name, values in parts.items()}
    return refitted(base, **changed)


def counted(base: Machine, fence: int = 0, line: int = 0, **cycles: int) -> Machine:
    """The machine with a stack whose work is in cycles, of 1 ns each, beside its times."""
    work = dict.fromkeys(Instructions.model_fields, 0) | cycles
    core = CoreDescription.model_construct(frequency=10**9, fence=fence, line=line)
    cycled = {"cycles": Instructions.model_construct(**work)}
    return extended(base, stack=cycled, host={"core": core})


def _changed(description: Any, values: dict[str, Any]) -> Any:
    update = {
        name: _changed(getattr(description, name), value) if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return description.model_copy(update=update)


def networked(
    network: Network,
    nodes: int,
    *,
    trunk: dict[str, Any] | None = None,
    ports: int = 1,
    **base: Any,
) -> Machine:
    """A machine of the rig's nodes in another network, on switches of 64 ports.

    Args:
        trunk: where trunks differ from the other links.
        ports: of each adapter.
        base: as for `machine`.
    """
    one = machine(**base)
    (group,) = one.groups
    assert one.switch is not None
    adapter = group.adapter.model_copy(update={"ports": ports})
    return one.model_copy(
        update={
            "groups": (group.model_copy(update={"count": nodes, "adapter": adapter}),),
            "network": network,
            "switches": {"": one.switch.model_copy(update={"ports": 64})},
            "trunks": {"": group.link.model_copy(update=trunk or {})},
        }
    )


class Peer:
    """A process on one node, with a buffer that everybody may use."""

    def __init__(
        self, rig: "Rig", node: int, core: int, size: int, cqe: int, data: bool = False
    ) -> None:
        self.sim = rig.sim
        self.context = Context(rig.sim, rig.cluster.nodes[node], core)
        self.adapter = self.context.adapter
        self.pd = PD(self.context)
        self.cq: CQ = CQ(self.context, cqe)
        self.mr: MR = self.pd.reg_mr(size, ALL, data=bytearray(size) if data else None)

    def sge(self, length: int, offset: int = 0) -> SGE:
        return SGE(self.mr.addr + offset, length, self.mr.lkey)

    def request(
        self,
        opcode: WROpcode,
        remote: "Peer",
        length: int = 8,
        *,
        offset: int = 0,
        remote_offset: int | None = None,
        **more: Any,
    ) -> SendWR:
        """A request between this buffer and that of ``remote``."""
        place = offset if remote_offset is None else remote_offset
        request: dict[str, Any] = {
            "sg_list": (self.sge(length, offset),),
            "remote_addr": remote.mr.addr + place,
            "rkey": remote.mr.rkey,
        }
        return SendWR(opcode, **(request | more))

    def receive(self, length: int, *, wr_id: int = 0, offset: int = 0) -> RecvWR:
        return RecvWR((self.sge(length, offset),), wr_id)

    def post(self, qp: QP, *requests: SendWR) -> Program:
        for request in requests:
            yield from qp.post_send(request)

    def post_receives(self, qp: QP, *requests: RecvWR) -> Program:
        for request in requests:
            yield from qp.post_recv(request)

    def send(
        self, qp: QP, *requests: SendWR, after: int = 0, collect: int | None = None
    ) -> Program:
        """Post requests after some ps and return as many completions, or those of the signaled."""
        if after:
            yield self.sim.timeout(after)
        yield from self.post(qp, *requests)
        signaled = sum(request.signaled for request in requests)
        return (yield from self.collect(signaled if collect is None else collect))

    def take(
        self, qp: QP, *requests: RecvWR, after: int = 0, collect: int | None = None
    ) -> Program:
        """Post receives after some ps and return as many completions, or one of each."""
        if after:
            yield self.sim.timeout(after)
        yield from self.post_receives(qp, *requests)
        return (yield from self.collect(len(requests) if collect is None else collect))

    def collect(self, count: int) -> Program:
        """Poll until there have been ``count`` completions."""
        found: list[Completion] = []
        while len(found) < count:
            found.append((yield from self.cq.wait()))
        return found


class Rig:
    """A cluster, one peer on each node, and queue pairs between them."""

    def __init__(
        self,
        on: Machine | None = None,
        nodes: int | Sequence[int] = 2,
        *,
        size: int = 1 << 23,
        cqe: int = 4096,
        exact: bool = False,
        data: bool = False,
    ) -> None:
        self.sim = Simulator(exact)
        self.machine = on or machine()
        self.cluster = Cluster(self.sim, self.machine, nodes)
        places = range(len(self.cluster.nodes))
        self.peers = [Peer(self, place, 0, size, cqe, data) for place in places]

    def connect(
        self, a: Peer, b: Peer, *, ports: tuple[int, int] = (1, 1), **options: Any
    ) -> tuple[QP, QP]:
        """A connected pair of queue pairs; options are those of create_qp or of connect."""
        created = {name: options.pop(name) for name in _OF_CREATION if name in options}
        qp_a = QP(a.pd, a.cq, a.cq, port_num=ports[0], **created)
        qp_b = QP(b.pd, b.cq, b.cq, port_num=ports[1], **created)
        qp_a.connect(qp_b, **options)
        qp_b.connect(qp_a, **options)
        return qp_a, qp_b

    def joined(self, **options: Any) -> tuple[Peer, Peer, QP, QP]:
        """The first two peers and a connected pair of queue pairs between them."""
        a, b = self.peers[:2]
        return a, b, *self.connect(a, b, **options)

    def run(self, *programs: Program) -> list[Any]:
        """Run programs together to the end of all they cause; return what they return."""
        processes = [self.sim.process(program) for program in programs]
        self.sim.run()
        for number, process in enumerate(processes):
            assert process.triggered, f"program {number} waits for ever"
        return [process.value for process in processes]

    def exchange(self, qp: QP, sender: Peer, *requests: SendWR) -> list[Completion]:
        """Post requests back to back and return the completions of the signaled ones."""
        (found,) = self.run(sender.send(qp, *requests))
        return found

    def counter(self, name: str) -> int:
        return self.cluster.counters()[name]


def joined(on: Machine | None = None, **options: Any) -> tuple[Rig, Peer, Peer, QP, QP]:
    """A rig of two nodes, its peers and a pair of queue pairs between them; options of connect."""
    rig = Rig(on)
    return rig, *rig.joined(**options)


def statuses(completions: list[Completion]) -> list[str]:
    """Names of the statuses, in order."""
    return [completion.status.name for completion in completions]


def ids(completions: list[Completion]) -> list[int]:
    """Names that the application gave the requests, in order of completion."""
    return [completion.wr_id for completion in completions]


def succeeded(completions: list[Completion]) -> bool:
    return all(completion.status is WCStatus.SUCCESS for completion in completions)


def check_that_nothing_is_lent(rig: Rig, ends: Iterable[QP]) -> None:
    """Everything that a run has borrowed is back: slots, credits, turns and outstanding reads."""
    # Credits that are under way come home without an event of their own.
    rig.sim.run(until=rig.sim.now + 10**6)
    transmitters = rig.cluster.fabric.transmitters()
    for peer in rig.peers:
        for engine in peer.adapter.send_engines:
            assert not engine.scheduler.competing
            assert not engine.scheduler.members
        assert peer.adapter.reads.waiting == peer.adapter.entries.waiting == 0
        for port in peer.adapter.ports:
            transmitters.append(port.transmitter)
            for staging in (port.egress.requests, port.egress.responses):
                assert staging.room.available == staging.room.capacity
            assert not any(line.occupied for line in port.lines.values())
    for transmitter in transmitters:
        if transmitter.credits is not None:
            assert transmitter.credits.available == transmitter.credits.capacity
    for qp in (end._qp for end in ends):
        assert not qp.requester.unacknowledged
        # What nobody acknowledges has none.
        assert not getattr(qp.responder, "answers", ())
        assert qp.requester.outstanding_reads == 0
