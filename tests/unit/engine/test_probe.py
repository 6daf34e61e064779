"""Probes tell everybody who listens what has happened, and cost nothing when nobody does."""

from hcasim.engine import EventLog, EventStream, Probe, Simulator


def test_every_listener_hears_every_probe_whenever_it_was_made() -> None:
    sim = Simulator()
    early = Probe(sim, "early")
    assert not early.listeners
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


def test_events_are_written_in_order_of_time_and_at_one_time_as_they_were_told() -> None:
    sim, lines = Simulator(), list[str]()
    events, probe = EventStream(lines.append), Probe(sim, "block")
    events.follow(sim)
    probe.event("known before", 1, "it", 30)
    probe.event("first", 2)
    probe.event("second", 0)
    sim.run(until=sim.timeout(30))
    probe.event("told at its time", 3)
    probe.event("to come", 4, "", 40)
    events.finish()
    assert lines == [
        "0\tblock\tfirst\t2\t\n",
        "0\tblock\tsecond\t\t\n",
        "30\tblock\tknown before\t1\tit\n",
        "30\tblock\ttold at its time\t3\t\n",
        "40\tblock\tto come\t4\t\n",
    ]
    assert events.written == 5


def test_an_event_is_written_as_soon_as_its_time_has_come() -> None:
    sim, lines = Simulator(), list[str]()
    events, probe = EventStream(lines.append), Probe(sim, "block")
    events.follow(sim)
    probe.event("now", 1)
    probe.event("later", 1, "", 10)
    assert [line.split("\t")[2] for line in lines] == ["now"]
    sim.run(until=sim.timeout(10))
    probe.event("last", 1)
    assert [line.split("\t")[2] for line in lines] == ["now", "later", "last"]


def test_details_are_written_down_as_they_are_now() -> None:
    sim, log = Simulator(), EventLog()
    sim.listeners.append(log)
    changing = [1]
    Probe(sim, "block").event("seen", 1, changing)
    changing.append(2)
    assert log.events[0][4] == "[1]"
