"""Where the time of a message goes is told step by step, and the steps add up to it."""

from functools import cache
from typing import Any

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.workloads import Options, run_point
from hcasim.workloads.result import Result

SENT = "0 call send, 0 copy in, 0 post eager, 0>1 eager"
ASKED = "0 call send, 0 post RTS, 0>1 RTS"
TAKEN = "1 poll memory, 1 matching"
CLEARED = "1 post CTS, 1>0 CTS, 0 poll memory, 0 handle CTS"
FETCHED = "1 registration hit, 1 post data, 1>1 data, 1 poll CQ, 1 post FIN"
COPIED = "0 copy in, 0 post data, 0>1 data, 1 poll memory again, 1 handle data, 1 copy out"
NEW, TOO = (f"{n} registration miss, {n} registration" for n in (1, 0))
FINISHED = "0 post data, 0>1 data, 0>1 FIN, 1 poll memory again, 1 handle FIN"


@cache
def on(testbed: str = "liu2004", stack: str = "mvapich-0.9.5", **overrides: str) -> Machine:
    paths = {name.replace("__", "."): value for name, value in overrides.items()}
    return resolve(testbed, stack=stack, overrides=paths)


def explained(machine: Machine, size: int, name: str = "osu_latency", **options: Any) -> Result:
    few = Options(size=size, iters=4, warmup=4, explain=True, **options)
    return run_point(name, machine, few)


def steps(machine: Machine, size: int, **options: Any) -> dict[str, float]:
    """Picoseconds of each step, by rank and name, in order; a name comes once."""
    found: dict[str, float] = {}
    for one in explained(machine, size, **options).breakdown["steps"]:
        who = f"{one['rank']}>{one['to']}" if "to" in one else str(one["rank"])
        name = f"{who} {one['step']}"
        while name in found:
            name += " again"
        found[name] = round(one["us"] * 1e6)
    return found


PROTOCOLS = {
    "eager into a ring": (on(), 64, f"{SENT}, {TAKEN}, 1 copy out"),
    "eager into a receive queue": (
        on("benjegerdes2004", "lam-7.1"),
        64,
        f"{SENT}, 1 poll CQ, 1 matching, 1 copy out, 1 repost receive",
    ),
    "RPUT": (
        on(),
        2**16,
        f"{ASKED}, {TAKEN}, 1 registration hit, {CLEARED}, 0 registration hit, {FINISHED}",
    ),
    "RGET": (
        on(stack__mpi__rendezvous__protocol="rget"),
        2**16,
        f"0 call send, 0 registration hit, 0 post RTS, 0>1 RTS, {TAKEN}, {FETCHED}",
    ),
    "R3": (
        on(stack__mpi__rendezvous__protocol="r3"),
        2**16,
        f"{ASKED}, {TAKEN}, {CLEARED}, {COPIED}",
    ),
    "nothing kept registered": (
        on(stack__mpi__registration__lazy="false"),
        2**16,
        f"{ASKED}, {TAKEN}, {NEW}, {CLEARED}, {TOO}, {FINISHED}, 1 deregistration",
    ),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_names_its_steps_in_order(protocol: str) -> None:
    machine, size, names = PROTOCOLS[protocol]
    assert ", ".join(steps(machine, size)) == names


def test_shared_memory_has_no_way_through_the_adapter() -> None:
    found = explained(on("rashti2007", "mpich2-nes"), 64, processes=2).breakdown["steps"]
    names = "call send, copy in, eager, poll memory, matching, copy out"
    assert ", ".join(one["step"] for one in found) == names
    assert found[2]["us"] == 0
    assert not any("stages" in one for one in found)


@pytest.mark.parametrize(
    ("testbed", "stack", "size", "processes"),
    [
        ("liu2004", "mvapich-0.9.5", 0, 1),
        ("liu2004", "mvapich-0.9.5", 3000, 2),
        ("liu2004", "mvapich-0.9.5", 20_000, 1),
        ("liu2004", "mvapich-liu2004-two-ports", 3000, 1),
        ("liu2004", "mvapich-liu2004-two-ports", 150_000, 1),
        ("rashti2007", "mpich2-nes", 1, 1),
        ("rashti2007", "mpich2-nes", 150_000, 1),
        ("rashti2007", "mpich2-nes", 20_000, 2),
        ("benjegerdes2004", "lam-7.1", 1, 1),
        ("benjegerdes2004", "lam-7.1", 150_000, 1),
    ],
)
def test_the_steps_add_up_to_the_time_of_the_message(
    testbed: str, stack: str, size: int, processes: int
) -> None:
    point = explained(on(testbed, stack), size, processes=processes)
    found = point.breakdown
    # In units of the simulator, so that nothing hides in the rounding.
    total = sum(round(step["us"] * 1e6) for step in found["steps"])
    assert total == round(found["total_us"] * 1e6)
    if found["typical"]:
        assert found["total_us"] == pytest.approx(point.row["latency_us"], rel=0.01)
    for step in found["steps"]:
        assert step["us"] >= 0
        assert step["step"] not in ("", "other", "wait")
        stages = sum(round(stage["us"] * 1e6) for stage in step.get("stages", ()))
        assert stages == (round(step["us"] * 1e6) if "to" in step else 0)


@pytest.mark.parametrize(
    ("path", "value", "size", "steps_of"),
    [
        ("stack.mpi.calls.send", "9 us", 64, ["0 call send"]),
        ("stack.mpi.calls.packet", "9 us", 64, ["1 matching"]),
        ("stack.poll_memory", "9 us", 64, ["1 poll memory"]),
        ("stack.post_send", "9 us", 64, ["0 post eager"]),
        ("host.cache.hit_bandwidth", "20 MB/s", 64, ["0 copy in", "1 copy out"]),
        ("switch.latency", "9 us", 64, ["0>1 eager"]),
        ("switch.latency", "9 us", 2**16, ["0>1 RTS", "1>0 CTS", "0>1 data"]),
        ("stack.mpi.registration.lookup", "9 us", 2**16, [f"{n} registration hit" for n in (1, 0)]),
    ],
)
def test_what_takes_longer_lengthens_its_own_step(
    path: str, value: str, size: int, steps_of: list[str]
) -> None:
    before, after = steps(on(), size), steps(on(**{path.replace(".", "__"): value}), size)
    assert list(before) == list(after)
    longer = [name for name in before if after[name] > 1.1 * before[name] + 1000]
    assert longer == steps_of


@pytest.mark.parametrize(
    ("name", "size", "binding"),
    [
        ("osu_bw", 8, ".send_queue.qp1"),
        ("osu_bibw", 8, ".cpu0"),
        ("osu_bw", 2**16, ".link"),
        ("osu_bibw", 2**16, ".link"),
    ],
)
def test_the_resource_that_binds_windows_is_named(name: str, size: int, binding: str) -> None:
    found = explained(on(), size, name, window=64 if size == 8 else 12).breakdown
    assert found["binds"].endswith(binding)


@pytest.mark.parametrize(
    "name", ["osu_latency", "osu_bw", "netpipe_mpi", "osu_bcast", "imb_bcast", "imb_exchange"]
)
def test_explaining_changes_nothing(name: str) -> None:
    few = {"size": 2048, "nodes": 4, "iters": 4, "warmup": 4}
    told, untold = (
        run_point(name, on(), Options(explain=explain, **few)) for explain in (True, False)
    )
    assert (told.row, told.counters) == (untold.row, untold.counters)
