"""Switches cut through, share outputs in turns, and never drop."""

from itertools import pairwise

import pytest

from hcasim.catalog import InfinibandLink, Wiring
from hcasim.catalog import Switch as Description
from hcasim.engine import Simulator
from hcasim.fabric import Fabric, Opcode, Packet, Transmitter
from hcasim.fabric.packet import Route
from hcasim.fabric.switch import Switch
from hcasim.fabric.topology import EndPort
from tests.handed import Nobody

LATENCY = 200_000


def description(ports: int = 8, latency: int = LATENCY, buffer: int = 16384) -> Description:
    return Description(
        id="invented", title="An invented switch", ports=ports, latency=latency, buffer=buffer
    )


def link() -> InfinibandLink:
    return InfinibandLink(
        speed="SDR", width=4, cable_length=5000, propagation=5000, credit_update=1024
    )


class End(EndPort):
    """An adapter port that swallows packets."""

    def __init__(self, sim: Simulator, lid: int) -> None:
        self.sim = sim
        self.lid = lid
        self.transmitter = Transmitter(sim, f"end{lid}", link())
        self.buffer_bytes = 16384
        self.arrivals: list[tuple[int, int, int]] = []

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.arrivals.append((packet.psn, head_at, tail_at))
        self.sim.call_at(tail_at, self._free, packet)

    def _free(self, packet: Packet) -> None:
        self.buffer.free(packet, int(self.sim.now))

    def send(self, lid: int, *numbers: int, payload: int = 1024) -> None:
        for number in numbers:
            packet = Packet(Opcode.SEND, Route(lid), 1, number, payload)
            self.transmitter.send(0, packet, int(self.sim.now), Nobody())


def line(switches: int, ends_on_each: int = 1, trunks: int = 1) -> tuple[Fabric, list[list[End]]]:
    """Switches in a line, with ends on each."""
    sim, wiring = Simulator(), Wiring()
    chain = [wiring.add_switch(f"switch{n}", description()) for n in range(switches)]
    for node in range(switches * ends_on_each):
        wiring.attach(node, 1, chain[node // ends_on_each])
    for left, right in pairwise(chain):
        wiring.trunk(left, right, link(), trunks)
    fabric = Fabric(sim, wiring)
    ends = [[End(sim, n * ends_on_each + k + 1) for k in range(ends_on_each)] for n in chain]
    for end in chain_of(ends):
        fabric.attach(end, link())
    return fabric, ends


def chain_of(ends: list[list[End]]) -> list[End]:
    return [end for row in ends for end in row]


@pytest.mark.pure
def test_parallel_trunks_share_the_destinations() -> None:
    fabric, ends = line(2, ends_on_each=4, trunks=2)
    for source, target in zip(*ends, strict=True):
        source.send(target.lid, *range(10))
    fabric.sim.run()
    left = fabric.switches[0]
    carried = sorted(output.packets for output in left.outputs if output and output.packets)
    assert carried == [20, 20]


@pytest.mark.pure
def test_one_stream_does_not_wait_for_another_output() -> None:
    fabric, ((a, b, c, d),) = line(1, ends_on_each=4)
    a.send(c.lid, *range(50))
    b.send(d.lid, *range(50))
    fabric.sim.run()
    assert [h for _, h, _ in c.arrivals] == [h for _, h, _ in d.arrivals]


@pytest.mark.pure
def test_a_faster_output_does_not_run_dry(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulator()
    fast = InfinibandLink(
        speed="DDR", width=4, cable_length=5000, propagation=5000, credit_update=1024
    )
    switch = Switch(sim, description(), "switch", 0, Fabric(sim, Wiring()))
    sent: list[int] = []
    output = switch.routes[1] = switch.add_port(1, fast)
    monkeypatch.setattr(output, "send", lambda source, packet, ready, left: sent.append(ready))
    packet = Packet(Opcode.SEND, Route(1), 1, 0, 1024)
    switch.inputs[0].buffer = Nobody()
    slow_time = 2 * output.serialisation(packet)
    switch.inputs[0].receive(packet, 0, slow_time)
    assert sent == [slow_time // 2 + LATENCY]


def test_a_switch_runs_out_of_ports() -> None:
    wiring = Wiring()
    wiring.add_switch("switch0", description(ports=2))
    wiring.attach(0, 2, 0)
    assert list(wiring.faults()) == []
    wiring.attach(1, 1, 0)
    (fault,) = wiring.faults()
    assert fault.startswith("switch.ports: found 2; allowed: from 3, for the adapter ports and")


def test_a_packet_for_a_node_that_nobody_built_is_refused() -> None:
    wiring = Wiring()
    wiring.add_switch("switch0", description())
    wiring.attach(0, 1, 0)
    wiring.attach(1, 1, 0)
    fabric = Fabric(Simulator(), wiring)
    with pytest.raises(ValueError, match=r"^no node with LID 2 was built$"):
        fabric.switch(0).find(2)
