"""The bus of an adapter; cutting transfers at boundaries, and gathering their parts."""

import pytest

from hcasim.bus import PcieBus, PcixBus, connect
from hcasim.bus.base import Gather, pieces, split
from hcasim.catalog import resolve
from hcasim.engine import Call, Simulator
from hcasim.host import Host


@pytest.mark.parametrize(
    ("address", "size", "limit", "cuts"),
    [
        (0, 128, 128, [(0, 128)]),
        (0, 129, 128, [(0, 128), (128, 1)]),
        (127, 2, 128, [(127, 1), (128, 1)]),
        (100, 300, 128, [(100, 28), (128, 128), (256, 128), (384, 16)]),
        (4096, 512, 512, [(4096, 512)]),
        (48, 512, 512, [(48, 464), (512, 48)]),
        (5, 1, 4096, [(5, 1)]),
        (0, 0, 128, []),
    ],
)
def test_a_transfer_is_cut_at_each_multiple_of_the_limit(
    address: int, size: int, limit: int, cuts: list[tuple[int, int]]
) -> None:
    assert list(split(address, size, limit)) == cuts
    assert pieces(address, size, limit) == len(cuts)


def test_a_gather_goes_on_once_after_the_last_part() -> None:
    seen: list[tuple[object, ...]] = []
    gather = Gather(3, Call(lambda *args: seen.append(args), (1, "two")))
    gather.act()
    gather.act()
    assert seen == []
    gather.act()
    assert seen == [(1, "two")]


@pytest.mark.parametrize(("adapter", "kind"), [("mt25208", PcieBus), ("mt23108", PcixBus)])
def test_an_adapter_gets_the_bus_that_it_has(adapter: str, kind: type) -> None:
    machine = resolve("liu2004", adapter=adapter)
    bus = connect(Host(Simulator(), machine.host, "node 0"), machine.adapter.bus, "node 0.bus")
    assert type(bus) is kind
    assert all(
        name.startswith("node 0.")
        for name in bus.sim.resources.busy_ps() | bus.sim.resources.waiting_ps()
    )
