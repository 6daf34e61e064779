"""Mixes of requests between two nodes on any machine, and what was seen of their run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.catalog.adapter import IcmCache, WqeCache
from hcasim.engine import EventLog
from hcasim.verbs import Completion, WROpcode
from tests import iwarp
from tests.rig import CMP_SWAP, FETCH_ADD, READ, SEND, WRITE, Program, Rig, extended, machine

SLOT = 1 << 17
CACHES = ("sqpc", "rqpc", "cqc", "mpt", "mtt")
SHARED = IcmCache(size=1024, banks=2, latency=50_000, policy="random")
SIZES = st.one_of(
    st.integers(0, 300), st.sampled_from([1023, 1024, 1025, 4096]), st.integers(0, 40_000)
)
MTU = st.one_of(st.sampled_from([576, 577, 1499, 1500, 1501, 9000]), st.integers(576, 9216))
LENGTH = st.one_of(
    st.integers(0, 300), st.sampled_from([1427, 1440, 1441, 8940]), st.integers(0, 60_000)
)


@dataclass(frozen=True)
class Operation:
    """One request: who posts it on which pair, and what it does."""

    opcode: WROpcode
    size: int
    sender: int
    pair: int
    signaled: bool = True

    @property
    def atomic(self) -> bool:
        return self.opcode in (FETCH_ADD, CMP_SWAP)


@dataclass(frozen=True)
class Mix:
    """A machine, the ports of its queue pairs, and what happens on them."""

    on: Machine
    ports: tuple[int, ...]
    operations: tuple[Operation, ...]


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    opcode = draw(st.sampled_from([WRITE, SEND, READ, FETCH_ADD, CMP_SWAP]))
    size = 8 if opcode in (FETCH_ADD, CMP_SWAP) else draw(SIZES)
    sender, pair = draw(st.integers(0, 1)), draw(st.integers(0, 2))
    return Operation(opcode, size, sender, pair, draw(st.sampled_from([True, True, True, False])))


CHANGES = {
    "adapter.mtt.entries": ["1", "4", "512"],
    "adapter.sqpc.entries": ["1", "4", "64"],
    "adapter.receive.buffer": ["6 KiB", "16 KiB"],
    "link.credit_update": ["256 B", "1024 B"],
    "adapter.send.port_buffer": ["1 KiB", "8 KiB"],
    "adapter.receive_queue.latency": ["0 ns", "3 us"],
    "adapter.scheduler.queues": ["1", "16"],
    "adapter.scheduler.burst": ["256 B", "2500 B", "16 KiB"],
    "adapter.icm.outstanding": ["1", "4"],
    "adapter.send.prefetch": ["0", "1", "8"],
    "adapter.bus.read_tags": ["1", "8"],
    "host.root_port.short_read": ["0 B", "256 B"],
    "adapter.order": ["port", "queue_pair"],
    "adapter.send.units": ["1", "3"],
    "adapter.receive.units": ["1", "3"],
    "adapter.wqe.fetch": ["1", "4"],
    "adapter.wqe.ahead": ["0", "2"],
    "adapter.receive_queue.ahead": ["0", "3"],
    # All that is needed is missing every time, or hardly ever.
    **{f"adapter.{name}.entries": ["1", "4"] for name in ("rqpc", "cqc", "mpt")},
    **{f"adapter.{name}.ways": ["1"] for name in CACHES},
}
OVER_IWARP = {
    "adapter.receive.buffer": ["10 KiB", "64 KiB"],
    "adapter.send.port_buffer": ["1 KiB", "32 KiB"],
    "adapter.receive_queue.latency": ["0 ns", "3 us"],
    "adapter.scheduler.queues": ["1", "16"],
    "adapter.sqpc.entries": ["4", "64"],
}


def drawn(draw: st.DrawFn, choices: dict[str, list[str]]) -> dict[str, str]:
    return {path: draw(st.sampled_from(values)) for path, values in choices.items()}


@st.composite
def infiniband(draw: st.DrawFn) -> Mix:
    changes = drawn(draw, CHANGES)
    adapter = draw(st.sampled_from(["mt25208", "mt23108"]))
    if adapter == "mt23108":
        del changes["adapter.bus.read_tags"]
    on = machine(
        changes,
        adapter=adapter,
        mtu=draw(st.sampled_from([256, 512, 1024, 2048, 4096])),
        switch=draw(st.booleans()),
        firmware_mode=draw(st.sampled_from(["tavor", "mem", "memfree"])),
    )
    if draw(st.booleans()):
        on = extended(on, adapter={"icm": {"cache": SHARED}})
    if draw(st.booleans()):
        on = extended(on, adapter={"wqe": {"cache": WqeCache(entries=2, policy="fifo")}})
    return Mix(on, (1, 1, 2), tuple(draw(st.lists(operations(), min_size=1, max_size=14))))


@st.composite
def over_iwarp(draw: st.DrawFn) -> Mix:
    on = iwarp.machine(
        draw(MTU),
        changes=tuple(drawn(draw, OVER_IWARP).items()),
        adapter=draw(st.sampled_from(["mt25208", "mt23108"])),
        switch=draw(st.booleans()),
        markers=draw(st.booleans()),
        timestamps=draw(st.booleans()),
    )
    one = st.builds(
        Operation,
        opcode=st.sampled_from([WRITE, SEND, READ]),
        size=LENGTH,
        sender=st.integers(0, 1),
        pair=st.integers(0, 1),
        signaled=st.just(True),
    )
    return Mix(on, (1, 1), tuple(draw(st.lists(one, min_size=1, max_size=12))))


class Run:
    """A mix, run to its end, and what was seen of it."""

    def __init__(self, mix: Mix) -> None:
        self.operations: Sequence[Operation] = mix.operations
        self.rig = rig = Rig(mix.on)
        self.log = EventLog()
        rig.sim.listeners.append(self.log)
        self.pairs = [rig.connect(*rig.peers, ports=(port, port)) for port in mix.ports]
        self.landed: dict[int, list[int]] = {index: [] for index in range(len(mix.operations))}
        for index, op in enumerate(mix.operations):
            sink = rig.peers[op.sender if op.opcode is READ else 1 - op.sender]
            if op.size:
                sink.mr.region.watch(
                    sink.mr.addr + index * SLOT + op.size - 1, self._landing(index)
                )
            if op.opcode is SEND:
                receive = sink.receive(op.size, wr_id=index, offset=index * SLOT)
                rig.run(sink.post_receives(self.pairs[op.pair][1 - op.sender], receive))
        programs = [self._post(side) for side in (0, 1)]
        programs += [self._collect(side) for side in (0, 1)]
        self.found: list[list[Completion]] = rig.run(*programs)[2:]

    def _landing(self, index: int) -> Callable[[], None]:
        return lambda: self.landed[index].append(int(self.rig.sim.now))

    def _post(self, side: int) -> Program:
        me, other = self.rig.peers[side], self.rig.peers[1 - side]
        for index, op in enumerate(self.operations):
            if op.sender == side:
                request = me.request(
                    op.opcode,
                    other,
                    op.size,
                    offset=index * SLOT,
                    wr_id=index,
                    signaled=op.signaled,
                    compare_add=op.atomic,
                )
                yield from me.post(self.pairs[op.pair][side], request)

    def _collect(self, side: int) -> Program:
        due = sum(op.signaled if op.sender == side else op.opcode is SEND for op in self.operations)
        return (yield from self.rig.peers[side].collect(due))
