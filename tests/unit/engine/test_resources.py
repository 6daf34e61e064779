"""Resources are read by name, and no two of them have one."""

import pytest

from hcasim.engine import Resources, SerialServer, Simulator, Waits


def test_two_resources_of_one_name_are_refused_and_one_may_be_entered_again() -> None:
    sim, resources = Simulator(), Resources()
    server = SerialServer(sim, "server")
    resources.serves("server", server)
    resources.serves("server", server)
    server.reserve(5)
    assert resources.busy_ps() == {"server": 5}
    with pytest.raises(ValueError, match="two resources have the name server"):
        resources.serves("server", SerialServer(sim, "server"))


def test_what_is_waited_for_under_one_name_adds_up() -> None:
    sim, resources = Simulator(), Resources()
    for waits in (Waits(sim, "one"), Waits(sim, "other")):
        waits.begin()
        resources.keeps_waiting("both", waits)
    sim.run(until=sim.timeout(7))
    assert resources.waiting_ps() == {"both": 14}


def test_what_has_been_done_is_accounted_for_before_times_are_read() -> None:
    sim, resources = Simulator(), Resources()
    server = SerialServer(sim, "server")
    resources.serves("server", server)
    resources.settle(lambda: None if server.busy_ps else server.reserve(3) and None)
    assert resources.busy_ps() == {"server": 3}
