"""PCI-X against phases counted by hand.

A burst has an address phase, an attribute phase, two clocks for the target's response, the data
phases and two clocks of turn-around: 6 and the data. A read request has a split response in place
of the data: 7 clocks.
"""

from collections.abc import Callable

from hcasim.bus import PcixBus
from hcasim.engine import Call

Make = Callable[..., PcixBus]


def test_each_burst_and_each_request_of_a_transfer_is_granted_the_bus(pcix: Make) -> None:
    bus = pcix(write_burst=1024)
    bus.write(924, 1127)
    bus.read(48, 512, lambda: None)
    bus.sim.run()
    counters = bus.counters()
    assert counters["pcix_write_grants"] == 3
    assert counters["bus_read_requests"] == counters["pcix_read_grants"] == 2
    assert counters["pcix_bridge_grants"] == 2


def test_reads_wait_for_splits(pcix: Make) -> None:
    bus = pcix(outstanding_splits=2)
    for number in range(3):
        bus.read(512 * number, 64, lambda: None)
    bus.sim.run()
    assert bus.sim.resources.waiting_ps()["bus.outstanding_splits"] > 0


def test_adapter_and_bridge_take_turns(pcix: Make) -> None:
    bus = pcix()
    ends: list[str] = []
    for _ in range(4):
        bus.write(0, 512, lambda: ends.append("adapter"))
        bus.arbiter.request(2, bus.burst_time(0, 512), Call(ends.append, ("bridge",)))
    bus.sim.run()
    assert ends == ["adapter", "bridge"] * 4
