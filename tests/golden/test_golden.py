"""Small runs leave the same events, to the picosecond, as the logs that are stored here.

A log that differs shows what a change has done to the model. If that was meant, write the logs
anew and let the review read the difference::

    HCASIM_WRITE_GOLDEN=1 python -m pytest tests/golden
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hcasim.catalog.section import UNSAID
from hcasim.engine import EventStream, Simulator
from hcasim.workloads import WORKLOADS, run_point
from tests.rig import FETCH_ADD, READ, SEND, WRITE, Peer, Program, Rig, machine, statuses

LOGS = Path(__file__).parent
Scene = Callable[[Rig], list[str]]


def ping_pong(rig: Rig) -> list[str]:
    """Each end writes 8 bytes and polls for those of the other."""
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    seen = a.mr.watch(a.mr.addr + 7), b.mr.watch(b.mr.addr + 7)

    def client() -> Program:
        yield from a.post(qp, a.request(WRITE, b))
        found = yield from a.collect(1)
        yield from seen[0].poll(1)
        return found

    def server() -> Program:
        yield from seen[1].poll(1)
        yield from b.post(remote, b.request(WRITE, a))
        return (yield from b.collect(1))

    return [name for found in rig.run(client(), server()) for name in statuses(found)]


def send(rig: Rig) -> list[str]:
    """3000 bytes into a receive that waits for them."""
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    rig.run(b.post_receives(remote, b.receive(4096)))
    rig.exchange(qp, a, a.request(SEND, b, 3000))
    return statuses([*b.cq.queue.entries])


def one(opcode: object, length: int) -> Scene:
    def scene(rig: Rig) -> list[str]:
        a, b = rig.peers
        qp, _ = rig.connect(a, b)
        return statuses(rig.exchange(qp, a, a.request(opcode, b, length)))

    return scene


def not_ready(rig: Rig) -> list[str]:
    """A send that is refused until, at the second try, there is a receive."""
    a, b = rig.peers
    qp, remote = rig.connect(a, b, min_rnr_timer_ps=10_000_000)

    def sender(peer: Peer) -> Program:
        yield from peer.post(qp, peer.request(SEND, b, 8), peer.request(WRITE, b, 8))
        return (yield from peer.collect(2))

    def receiver() -> Program:
        yield rig.sim.timeout(9_000_000)
        yield from b.post_receives(remote, b.receive(64))
        return (yield from b.collect(1))

    return [name for found in rig.run(sender(a), receiver()) for name in statuses(found)]


def refused(rig: Rig) -> list[str]:
    """A write that the target does not allow, and one behind it."""
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    bad = a.request(WRITE, b, 3000, rkey=999)
    return statuses(rig.exchange(qp, a, bad, a.request(WRITE, b, 8)))


SCENES: dict[str, tuple[str, Scene, list[str]]] = {
    "write_8_mt25208": ("mt25208", ping_pong, ["SUCCESS"] * 2),
    "write_8_mt23108": ("mt23108", ping_pong, ["SUCCESS"] * 2),
    "write_8_memfree": ("mt25218 memfree", ping_pong, ["SUCCESS"] * 2),
    "send_3000": ("mt25208", send, ["SUCCESS"]),
    "read_5000_mt25208": ("mt25208", one(READ, 5000), ["SUCCESS"]),
    "read_5000_mt23108": ("mt23108", one(READ, 5000), ["SUCCESS"]),
    "fetch_add": ("mt25208", one(FETCH_ADD, 8), ["SUCCESS"]),
    "receiver_not_ready": ("mt25208", not_ready, ["SUCCESS"] * 3),
    "refused_write": ("mt25208", refused, ["REM_ACCESS_ERR", "WR_FLUSH_ERR"]),
}


def record(name: str) -> str:
    """The events of one scene, a line for each: time in ps, block, event, operation, details."""
    adapter, scene, outcome = SCENES[name]
    adapter, _, mode = adapter.partition(" ")
    rig = Rig(machine(adapter=adapter, firmware_mode=mode or None))
    lines: list[str] = []
    events = EventStream(lines.append)
    events.follow(rig.sim)
    assert scene(rig) == outcome
    rig.sim.run()
    events.finish()
    return "".join([*lines, f"{rig.sim.now}\tend\n"])


@pytest.mark.parametrize("name", SCENES)
def test_a_run_leaves_the_events_that_are_stored(name: str) -> None:
    file, events = LOGS / f"{name}.log", record(name)
    if os.environ.get("HCASIM_WRITE_GOLDEN"):
        file.write_bytes(events.encode())
    assert file.read_bytes() == events.encode()


def test_no_stored_log_is_left_over() -> None:
    assert {file.stem for file in LOGS.glob("*.log")} == set(SCENES)


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("adapter", ["mt25208", "mt23108"])
def test_the_logs_depend_on_no_value_that_was_fitted_or_assumed(adapter: str, switch: bool) -> None:
    open_values = [
        parameter.path
        for parameter in machine(adapter=adapter, switch=switch).parameters
        if parameter.evidence in ("fitted", "chosen", "assumed")
        # Nothing computes here.
        and not parameter.path.startswith("host.computing.")
        and parameter.source
        not in ("--set", "chosen for this run", "two hosts back to back", UNSAID)
    ]
    assert open_values == []


def test_of_a_long_run_only_what_is_to_come_is_kept_in_memory() -> None:
    most, lines = 0, list[str]()
    events = EventStream(lambda line: lines.append(line.partition("\t")[0]))

    def listen(sim: Simulator) -> None:
        events.follow(sim)
        sim.listeners.append(watch)

    def watch(*event: object) -> None:
        nonlocal most
        most = max(most, len(events._coming))

    few = replace(WORKLOADS["write_bw"].defaults, size=8192, iters=300, exact=True)
    run_point("write_bw", machine(), few, listen)
    events.finish()
    assert most < 100 < 20_000 < len(lines)
    assert sorted(map(int, lines)) == [*map(int, lines)]
