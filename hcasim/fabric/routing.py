"""How a switch chooses one of several equally short ways for a packet, one class for each."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from random import Random
from typing import Final

from hcasim.engine import Simulator
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Packet
from hcasim.fabric.route_header import LEAST_PORT

Load = Callable[[Transmitter], int]
"""Tells how many bytes are to leave by an output."""


def flow_of(packet: Packet) -> int:
    """What its addresses and UDP ports say, of which the destination port is always the same."""
    route = packet.route
    return route.lid << 48 | route.flow | LEAST_PORT


class Spray:
    """Each packet takes a way at random.

    Args:
        seed: of the switch, for what is random or hashed.
        flowlet_ps: pause behind which a flow may change its way.
        load: of the outputs of the switch.
    """

    def __init__(self, sim: Simulator, seed: str, flowlet_ps: int, load: Load) -> None:
        self._sim = sim
        self._flowlet_ps = flowlet_ps
        self._load = load
        self._seed = seed
        self._random = Random(seed)
        self._begin()

    def _begin(self) -> None:
        # What is random, or depends on how long queues are, does not repeat itself.
        self._sim.forward = None

    def choose(self, ways: list[Transmitter], packet: Packet) -> Transmitter:
        return ways[int(self._random.random() * len(ways))]


class Ecmp(Spray):
    """All packets of a flow take one way, by a hash that each switch has a seed of its own for.

    Source: RFC 2992 (equal-cost multi-path, hash threshold).
    """

    def _begin(self) -> None:
        self._chosen: dict[int, Transmitter] = {}

    def choose(self, ways: list[Transmitter], packet: Packet) -> Transmitter:
        flow = flow_of(packet)
        way = self._chosen.get(flow)
        if way is None:
            digest = blake2b(f"{self._seed} {flow}".encode(), digest_size=8).digest()
            way = self._chosen[flow] = ways[int.from_bytes(digest, "big") % len(ways)]
        return way


class Adaptive(Spray):
    """Each packet, or flowlet, takes the way on which fewest bytes wait; at random among equals.

    Source: Alizadeh et al., CONGA (SIGCOMM 2014), for flowlets.
    """

    def _begin(self) -> None:
        super()._begin()
        self._last: dict[int, tuple[int, Transmitter]] = {}

    def choose(self, ways: list[Transmitter], packet: Packet) -> Transmitter:
        if not self._flowlet_ps:
            return self._least(ways)
        now, flow = self._sim.now, flow_of(packet)
        last = self._last.get(flow)
        idle = last is None or now - last[0] >= self._flowlet_ps
        way = self._least(ways) if last is None or idle else last[1]
        self._last[flow] = now, way
        return way

    def _least(self, ways: list[Transmitter]) -> Transmitter:
        loads = [self._load(way) for way in ways]
        least = min(loads)
        equal = [way for way, load in zip(ways, loads, strict=True) if load == least]
        return equal[int(self._random.random() * len(equal))]


ROUTINGS: Final[dict[str, type[Spray]]] = {"ecmp": Ecmp, "adaptive": Adaptive, "spray": Spray}
"""By their names in descriptions; by destination, there is no choice."""
