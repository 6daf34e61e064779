"""Switches cut through or store packets, share outputs in turns, and never drop."""

import pytest

from hcasim.catalog import InfinibandLink, Wiring
from hcasim.engine import Simulator
from hcasim.fabric import Fabric, Opcode, Packet
from hcasim.fabric.packet import Route
from hcasim.fabric.switch import Switch
from tests.fabrics import LATENCY, End, described, line
from tests.handed import Nobody


def link(speed: str = "SDR") -> InfinibandLink:
    return InfinibandLink(
        speed=speed, width=4, cable_length=5000, propagation=5000, credit_update=1024
    )


def send(source: End, target: End, count: int) -> None:
    """Packets of 1 KiB from one end to another."""
    for number in range(count):
        packet = Packet(Opcode.SEND, Route(target.lid), 1, number, 1024)
        source.transmitter.send(0, packet, source.sim.now, Nobody())


@pytest.mark.pure
def test_parallel_trunks_share_the_destinations() -> None:
    fabric, _, ends = line(link(), (4, 4), trunks=2)
    for source, target in zip(ends[:4], ends[4:], strict=True):
        send(source, target, 10)
    fabric.sim.run()
    left = fabric.switches[0]
    carried = sorted(output.packets for output in left.outputs if output and output.packets)
    assert carried == [20, 20]


@pytest.mark.pure
def test_one_stream_does_not_wait_for_another_output() -> None:
    fabric, _, (a, b, c, d) = line(link(), (4,))
    send(a, c, 50)
    send(b, d, 50)
    fabric.sim.run()
    assert [head for head, _, _ in c.arrivals] == [head for head, _, _ in d.arrivals]


@pytest.mark.pure
@pytest.mark.parametrize(("forwarding", "waits"), [("cut_through", 0.5), ("store_and_forward", 1)])
def test_a_faster_output_does_not_run_dry(
    forwarding: str, waits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = Simulator()
    described_so = described(forwarding=forwarding)
    switch = Switch(sim, described_so, "switch", 0, Fabric(sim, Wiring()))
    sent: list[int] = []
    output = switch.routes[1] = switch.add_port(1, link("DDR"))
    monkeypatch.setattr(output, "send", lambda source, packet, ready, left: sent.append(ready))
    packet = Packet(Opcode.SEND, Route(1), 1, 0, 1024)
    switch.inputs[0].buffer = Nobody()
    slow_time = 2 * output.serialisation(packet)
    switch.inputs[0].receive(packet, 0, slow_time)
    assert sent == [slow_time * waits + LATENCY]


def test_a_switch_runs_out_of_ports() -> None:
    wiring = Wiring()
    wiring.add_switch("switch0", described(ports=2))
    wiring.attach(0, 2, 0)
    assert list(wiring.faults()) == []
    wiring.attach(1, 1, 0)
    (fault,) = wiring.faults()
    assert fault.startswith("switch.ports: found 2; allowed: from 3, for the adapter ports and")


def test_a_packet_for_a_node_that_nobody_built_is_refused() -> None:
    wiring = Wiring()
    wiring.add_switch("switch0", described())
    wiring.attach(0, 1, 0)
    wiring.attach(1, 1, 0)
    fabric = Fabric(Simulator(), wiring)
    with pytest.raises(ValueError, match=r"^no node with LID 2 was built$"):
        fabric.switch(0).find(2)
