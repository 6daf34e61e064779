"""Probes tell everybody who listens what has happened, and cost nothing when nobody does."""

from hcasim.engine import EventLog, Probe, Simulator


def test_every_listener_hears_every_probe_whenever_it_was_made() -> None:
    sim = Simulator()
    early = Probe(sim, "early")
    logs = [EventLog(), EventLog()]
    sim.listeners += logs
    late = Probe(sim, "late")
    early.event("one", 7)
    sim.run(until=sim.timeout(5))
    late.event("two", 0, 12.5)
    told = [(0, "early", "one", 7, ""), (5, "late", "two", 0, "12.5")]
    assert [log.events for log in logs] == [told, told]
    sim.listeners.clear()
    early.event("three", 1)
    assert logs[0].events == told


def test_a_probe_without_listeners_is_told_by_one_empty_list() -> None:
    sim = Simulator()
    probe = Probe(sim, "block")
    assert not probe.listeners
    sim.listeners.append(EventLog())
    assert probe.listeners


def test_a_log_is_in_order_of_time_and_keeps_the_order_of_what_is_told_at_once() -> None:
    sim = Simulator()
    probe, log = Probe(sim, "block"), EventLog()
    sim.listeners.append(log)
    probe.event("known before", 1, "it", 30)
    probe.event("first", 2)
    probe.event("second", 0)
    assert log.lines() == [
        "0\tblock\tfirst\t2\t\n",
        "0\tblock\tsecond\t\t\n",
        "30\tblock\tknown before\t1\tit\n",
    ]


def test_details_are_written_down_as_they_are_now() -> None:
    sim, log = Simulator(), EventLog()
    sim.listeners.append(log)
    changing = [1]
    Probe(sim, "block").event("seen", 1, changing)
    changing.append(2)
    assert log.events[0][4] == "[1]"
