"""Parameters are freed by their what-if paths, within bounds that make sense."""

import pytest

from hcasim.calibrate.entries import fit_path, prefixes
from hcasim.calibrate.freeing import free_fit
from hcasim.calibrate.parameters import FreeParameter, free_parameters
from hcasim.catalog import CatalogError, resolve


def freed(*wanted: str, **settings: str) -> list[FreeParameter]:
    return list(free_parameters(free_fit(resolve("liu2004", overrides=settings), wanted, settings)))


def faults(*wanted: str, settings: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        free_fit(resolve("liu2004", overrides=settings), wanted, settings or {})
    return caught.value.faults


def test_bounds_follow_from_the_base_description() -> None:
    time, rate, length = freed("adapter.send.latency", "host.memory.bandwidth", "link.cable_length")
    value = resolve("liu2004").adapter.send.latency
    assert (time.low, time.high, time.start) == (0, 10 * value, value)
    assert (rate.low, rate.high) == (rate.start // 10, 10 * rate.start)
    assert length.path == "testbeds.liu2004.link.cable_length"
    assert (length.low, length.high) == (500, 50_000)


def test_a_time_that_is_nothing_may_become_a_microsecond() -> None:
    machine = resolve("liu2004", overrides={"adapter.ack.latency": "0 ns"})
    (one,) = free_parameters(free_fit(machine, ["adapter.ack.latency"], {}))
    assert (one.low, one.high, one.start) == (0, 10**6, 0)


def test_given_bounds_hold_and_a_start_outside_them_becomes_their_middle() -> None:
    inside, outside = freed("adapter.send.latency=100 ns..2 us", "adapter.ack.latency=1 us .. 3 us")
    assert (inside.low, inside.high, inside.start) == (100_000, 2_000_000, 790_000)
    assert outside.start == 2_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("adapter.send.latencie", ("unknown parameter", "did you mean 'adapter.send.latency'?")),
        ("adapter.bus", ("not a quantity", "such as adapter.bus.read_tags")),
        ("adapter.sqpc.policy", ("not a quantity", "lru, random or fifo")),
        ("adapter.bus.lanes", ("not a quantity", "1, 2, 4, 8, 12 or 16")),
        ("adapter.limits.atomics", ("not a quantity", "true or false")),
        ("mtu", ("not a parameter of a part",)),
        ("adapter.bus.clock", ("there is no adapter.bus.clock here",)),
        ("adapter.ack.latency=3 us..1 us", ("found 3 us to 1 us", "a lower and a higher value")),
        ("adapter.ack.latency=1 us..1 us", ("a lower and a higher value",)),
        ("adapter.ack.latency=-1 ns..1 us", ("found '-1 ns'", "from 0 ns")),
        ("adapter.ack.latency=1..2 us", ("found '1' with no unit",)),
        ("adapter.send.latency=1ns", ("found '1ns'; allowed: LOW..HIGH, such as 790 ns..7.9 us",)),
        ("adapter.ack.latency=", ("found ''; allowed: LOW..HIGH, such as",)),
        ("adapter.ports=1..8", ("at 8: ", "switch.ports", "narrower bounds may mend it")),
        ("adapter.send.prefetch", ("has the value 0; bounds are needed",)),
        ("adapter.sqpc.entries=63..65", ("a lower and a higher value, multiples of",)),
        ("adapter.sqpc.ways=1..9", ("at 9: ", "ways, which do not divide")),
    ],
)
def test_a_path_that_cannot_be_freed_says_why(text: str, words: tuple[str, ...]) -> None:
    found = faults(text)
    assert found[0].startswith(f"--free {text.partition('=')[0]}: ")
    assert all(word in found[0] for word in words)


def test_all_faults_are_said_at_once() -> None:
    found = faults("adapter.nothing", "adapter.send.latency", "adapter.send.latency", "mtu")
    assert [one.partition(": ")[0] for one in found] == [
        "--free adapter.nothing",
        "--free adapter.send.latency",
        "--free mtu",
    ]


def test_usual_bounds_go_as_far_as_the_machine_allows() -> None:
    (ports,) = freed("adapter.ports")
    assert (ports.low, ports.high, ports.start) == (1, 2, 2)
    assert [one.partition(": at ")[0] for one in faults("adapter.ports=1..3")] == [
        "--free adapter.ports"
    ]


@pytest.mark.parametrize(
    ("testbed", "adapter"),
    [("liu2004", "mt25208"), ("liu2004", "mt23108"), ("rashti2007", "ne010e")],
)
def test_the_parameter_of_a_bus_that_is_named_can_be_freed(testbed: str, adapter: str) -> None:
    machine = resolve(testbed, adapter=adapter)
    with pytest.raises(CatalogError) as caught:
        free_fit(machine, ["adapter.bus"], {})
    path = caught.value.faults[0].rpartition(" such as ")[2]
    assert path.startswith("adapter.bus.")
    (one,) = free_parameters(free_fit(machine, [path], {}))
    assert one.low < one.high


def test_what_is_set_is_not_free() -> None:
    path = "adapter.send.latency"
    (fault,) = faults(path, settings={path: "1 us"})
    assert fault == f"--free {path}: found with --set {path}; leave one out"


def test_nothing_free_is_refused() -> None:
    assert "found none" in faults()[0]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("adapter.send.latency", "adapters.ne010e.send.latency"),
        ("host.memory.read_latency", "hosts.xeon-e7520.memory.read_latency"),
        ("link.cable_length", "testbeds.liu2004.link.cable_length"),
        ("mtu", "mtu"),
    ],
)
def test_a_path_of_a_machine_is_one_of_its_parts(path: str, name: str) -> None:
    assert fit_path(prefixes("liu2004", "ne010e"), path) == name


def test_a_cache_has_as_many_entries_as_fill_its_sets() -> None:
    machine = resolve("liu2004")
    (one,) = free_parameters(free_fit(machine, ["adapter.mtt.entries=63..4097"], {}))
    cache = machine.adapter.mtt
    sets = cache.ways * cache.line // cache.entry
    assert sets > 1
    assert one.step == one.grain == sets
    assert one.low % sets == one.high % sets == one.snap(1000.3) % sets == 0
    for value in (one.low, one.low + one.step, one.snap(1000.3), one.high):
        resolve("liu2004", overrides={"adapter.mtt.entries": str(value)})
