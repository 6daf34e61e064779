"""The bus that an adapter's description names."""

import pytest

from hcasim.bus import PcieBus, PcixBus, connect
from hcasim.catalog import resolve
from hcasim.engine import Simulator
from hcasim.host import Host


@pytest.mark.parametrize(("adapter", "kind"), [("mt25208", PcieBus), ("mt23108", PcixBus)])
def test_an_adapter_gets_the_bus_that_it_has(adapter: str, kind: type) -> None:
    machine = resolve("liu2004", adapter=adapter)
    bus = connect(Host(Simulator(), machine.host, "node 0"), machine.adapter.bus, "node 0.bus")
    assert type(bus) is kind
    assert all(
        name.startswith("node 0.")
        for name in bus.sim.resources.busy_ps() | bus.sim.resources.waiting_ps()
    )
