"""The simulator equals the closed forms where nothing contends, and is never faster elsewhere."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.catalog.testbed import FatTree
from tests.measured import measured
from tests.rig import WRITE, Program, Rig, machine, networked
from tests.twin import DATA_RATES, link_byte, small_write, whole

LATENCIES = (
    "adapter.doorbell.latency",
    "adapter.send.wqe_service",
    "adapter.send.packet_service",
    "adapter.send.latency",
    "adapter.receive.packet_service",
    "adapter.receive.latency",
    "adapter.completion.latency",
    "adapter.ack.latency",
    "host.memory.read_latency",
    "host.memory.write_latency",
    "host.chipset.mmio_latency",
    "host.pcix_bridge.latency",
    "stack.post_send",
    "stack.poll_memory",
)
PCIE = {
    "adapter.bus.generation": ("1", "2", "3", "4", "5"),
    "adapter.bus.lanes": ("1", "2", "4", "8", "12", "16"),
    "adapter.bus.max_payload": ("128 B", "256 B", "512 B"),
    "adapter.bus.address_bits": ("32", "64"),
    "adapter.bus.dllp_tlps_per_ack": ("1", "1024"),
    "adapter.bus.dllp_tlps_per_update": ("1", "1024"),
    "host.root_port.completion": ("64 B", "128 B"),
}
PCIX = {
    "adapter.bus.clock": ("133.333333 MHz", "100 MHz", "66.67 MHz"),
    "adapter.bus.width_bits": ("32", "64"),
    "adapter.bus.outstanding_splits": ("1", "2", "8"),
}
LINK = {
    "link.speed": tuple(DATA_RATES),
    "link.width": ("1", "4", "12"),
    "link.cable_length": ("0 m", "5 m", "33 m"),
    "adapter.wqe.stride": ("64 B", "128 B"),
    "adapter.cqe.size": ("32 B", "64 B"),
    "host.memory.bandwidth": ("500 MB/s", "6.4 GB/s"),
}


@dataclass(frozen=True)
class Setup:
    """A machine by what makes it different."""

    adapter: str
    switch: bool
    changes: tuple[tuple[str, str], ...]

    def machine(self, **more: str) -> Machine:
        changes = dict(self.changes) | more
        return machine(changes, adapter=self.adapter, switch=self.switch)


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    """Machines with other latencies, other buses and other links."""
    adapter = draw(st.sampled_from(["mt25208", "mt23108"]))
    switch = draw(st.booleans())
    choices = LINK | (PCIE if adapter == "mt25208" else PCIX)
    changes = {path: draw(st.sampled_from(values)) for path, values in choices.items()}
    latencies = LATENCIES + (("switch.latency",) if switch else ())
    # No pause is too short for the DLLPs that the closed form leaves out.
    changes |= {path: f"{draw(st.integers(100_000, 3_000_000))} ps" for path in latencies}
    return Setup(adapter, switch, tuple(changes.items()))


@settings(max_examples=15)
@given(
    there=st.sampled_from([(1, 1), (4, 3), (16, 5), (63, 5)]),
    metres=st.integers(0, 30),
    size=st.integers(1, 512),
)
def test_each_further_switch_adds_its_latency_and_a_trunk(
    there: tuple[int, int], metres: int, size: int
) -> None:
    tree = FatTree(switch="x", levels=3, arity=4, oversubscription=2)
    on = networked(tree, 64, trunk={"cable_length": 1000 * metres})
    node, switches = there
    found = measured(Rig(on, (0, node)), size)
    assert found == small_write(on, size, switches=switches)


@pytest.mark.parametrize("inline", [False, True])
@given(setup=setups(), size=st.integers(1, 512))
def test_a_small_write_takes_exactly_the_time_of_the_closed_form(
    setup: Setup, size: int, inline: bool
) -> None:
    on = setup.machine()
    size = 1 + size % 128 if inline else size
    assert measured(Rig(on), size, inline=inline) == small_write(on, size, inline=inline)


@given(setup=setups(), size=st.one_of(st.integers(1, 8), st.integers(1, 512)))
def test_a_write_inside_a_port_takes_the_same_time_but_for_the_cable(
    setup: Setup, size: int
) -> None:
    changes = tuple(change for change in setup.changes if change[0] != "switch.latency")
    without = Setup(setup.adapter, False, changes).machine(**{"link.cable_length": "0 m"})
    rig = Rig(setup.machine())
    rig.peers[1] = rig.peers[0]
    found, expected = measured(rig, size), small_write(without, size)
    assert found.seen == expected.seen
    # Both ends have one bus and one memory: only a few bytes are out of the completion's way.
    assert found.completed >= expected.completed
    if size <= 8:
        assert found.completed == expected.completed


@settings(max_examples=12)
@given(
    setup=setups(),
    sizes=st.lists(st.integers(1, 512), min_size=2, max_size=12),
    pairs=st.integers(1, 3),
)
def test_a_write_among_others_is_never_faster_than_alone(
    setup: Setup, sizes: list[int], pairs: int
) -> None:
    on = setup.machine()
    rig = Rig(on)
    a, b = rig.peers
    qps = [rig.connect(a, b)[0] for _ in range(pairs)]
    posted: list[int] = []

    def program() -> Program:
        for index, size in enumerate(sizes):
            posted.append(int(rig.sim.now))
            request = a.request(WRITE, b, size, wr_id=index, offset=4096 * index)
            yield from a.post(qps[index % pairs], request)
        return (yield from a.collect(len(sizes)))

    (found,) = rig.run(program())
    for completion in found:
        alone = small_write(on, sizes[completion.wr_id]).completed
        assert completion.timestamp_ps - posted[completion.wr_id] >= alone


@settings(max_examples=12)
@given(setup=setups(), size=st.integers(1, 100_000))
def test_a_write_of_any_size_takes_at_least_its_time_on_the_wire(setup: Setup, size: int) -> None:
    first = min(size, 1024)
    rest = [min(1024, size - place) for place in range(1024, size, 1024)]
    on = setup.machine()
    wire = whole(link_byte(on.link.speed, on.link.width))
    on_the_wire = sum(wire(26 + -(-payload // 4) * 4 + 2) for payload in rest)
    longer = wire(-(-first // 4) * 4 - 4)
    found = measured(Rig(on), size).seen
    # Of the buses, only what a single byte takes is counted; each wire time is rounded.
    assert found >= small_write(on, 1).seen + longer + on_the_wire - 2
