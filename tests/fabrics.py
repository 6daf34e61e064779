"""Switches in a line, with ends on each that swallow packets."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hcasim.catalog import Link, Switch, Wiring
from hcasim.catalog.subnet import Qos
from hcasim.engine import Simulator
from hcasim.fabric import Fabric, Packet, Transmitter
from hcasim.fabric.lanes import LaneTransmitter
from hcasim.fabric.topology import EndPort

LATENCY = 200_000


def described(ports: int = 8, buffer: int = 16384, **more: Any) -> Switch:
    more |= {"ports": ports, "latency": LATENCY, "buffer": buffer}
    return Switch(id="invented", title="Invented", **more)


class End(EndPort):
    """A port that frees each packet's room some time after it has arrived.

    Args:
        block: bytes for which one credit stands.
    """

    def __init__(
        self,
        sim: Simulator,
        lid: int,
        link: Link,
        buffer: int,
        pause_ps: int,
        block: int,
        qos: Qos | None = None,
    ) -> None:
        self.sim = sim
        self.lid = lid
        self.transmitter = (
            Transmitter(sim, f"end{lid}", link)
            if qos is None
            else LaneTransmitter(sim, f"end{lid}", link, qos)
        )
        self.buffer_bytes = buffer
        self.pause_ps = pause_ps
        self.block = block
        self.held = 0
        self.arrivals: list[tuple[int, int, Packet]] = []

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.arrivals.append((head_at, tail_at, packet))
        self.held += -(-packet.size // self.block)
        assert self.held <= self.buffer_bytes // self.block
        self.sim.call_at(tail_at + self.pause_ps, self._free, packet)

    def _free(self, packet: Packet) -> None:
        self.held -= -(-packet.size // self.block)
        self.buffer.free(packet, self.sim.now)


def line(
    link: Link,
    ends: Sequence[int],
    trunks: int = 1,
    buffer: int = 16384,
    pause_ps: int = 0,
    block: int = 64,
    **more: Any,
) -> tuple[Fabric, list[int], list[End]]:
    """A fabric with so many ends on each switch; of each end its switch, and the ends.

    Switches are described as in `described`.
    """
    sim, wiring = Simulator(), Wiring()
    home = [index for index, count in enumerate(ends) for _ in range(count)]
    for index in range(len(ends)):
        wiring.add_switch(f"switch{index}", described(buffer=buffer, **more))
    for node, switch in enumerate(home):
        wiring.attach(node, 1, switch)
    for left, right in pairwise(range(len(ends))):
        wiring.trunk(left, right, link, trunks)
    fabric = Fabric(sim, wiring)
    common = link, buffer, pause_ps, block, more.get("qos")
    made = [End(sim, n + 1, *common) for n in range(len(home))]
    for end in made:
        fabric.attach(end, link)
    return fabric, home, made
