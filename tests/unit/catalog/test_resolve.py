"""A machine is put together from ids and what-if settings, once, and then frozen."""

import pickle
import re
from operator import attrgetter
from pathlib import Path

import pytest
from pydantic import ValidationError

from hcasim.catalog import Machine, Parameter, PcieDevice, PcixDevice, resolve
from hcasim.catalog.section import CHOSEN
from tests.unit.catalog.conftest import Edit, refused

pytestmark = pytest.mark.usefixtures("data")
NO_MEMORY = {"adapter.memory.size": "0 B"}


def faults(**request: object) -> list[str]:
    return refused("liu2004", **request)


def parameter(machine: Machine, path: str) -> Parameter:
    return next(p for p in machine.parameters if p.path == path)


def test_a_testbed_has_a_default_adapter_and_another_may_be_chosen() -> None:
    machine = resolve("liu2004")
    assert machine.adapter.id == "mt25208"
    assert isinstance(machine.adapter.bus, PcieDevice)
    assert (machine.adapter.bus.lanes, machine.mtu, machine.nodes) == (8, 1024, 4)
    bus = resolve("liu2004", adapter="mt23108").adapter.bus
    assert isinstance(bus, PcixDevice)


def test_a_testbed_may_say_the_mmrbc_of_its_nodes_and_a_setting_goes_before_it(edit: Edit) -> None:
    said = 'mmrbc = { value = "2048 B", evidence = "datasheet", source = "its BIOS" }\n'
    edit("models/testbeds/liu2004.toml", "adapters = [", f"{said}adapters = [")
    path = "adapter.bus.mmrbc"
    found = parameter(resolve("liu2004", adapter="mt23108"), path)
    assert (found.value, found.evidence, found.source) == (2048, "datasheet", "its BIOS")
    bus = resolve("liu2004", adapter="mt23108", overrides={path: "1024"}).adapter.bus
    assert isinstance(bus, PcixDevice)
    assert bus.mmrbc == 1024
    assert isinstance(resolve("liu2004", adapter="mt25208").adapter.bus, PcieDevice)


def test_an_adapter_that_was_not_measured_there_is_a_what_if(edit: Edit) -> None:
    edit("models/testbeds/liu2004.toml", '["mt23108", "mt25208"]', '["mt25208"]')
    assert resolve("liu2004", adapter="mt23108").adapter.id == "mt23108"


@pytest.mark.parametrize(
    ("path", "text", "value", "shown"),
    [
        ("adapter.bus.lanes", "4", 4, "4"),
        ("adapter.bus.max_read_request", "4K", 4096, "4096 B"),
        ("adapter.send.latency", "0.5us", 500_000, "500 ns"),
        ("host.memory.bandwidth", "5.3 GB/s", 5_300_000_000, "5.3 GB/s"),
        ("link.speed", "DDR", "DDR", "DDR"),
        ("stack.cq_doorbell", "false", False, "false"),
    ],
)
def test_a_setting_changes_one_value_and_its_evidence(
    path: str, text: str, value: object, shown: str
) -> None:
    plain, changed = resolve("liu2004"), resolve("liu2004", overrides={path: text})
    assert attrgetter(path)(changed) == value
    what = parameter(changed, path)
    assert (what.value, what.text, what.evidence, what.source) == (value, shown, "assumed", "--set")
    assert (what.interval, what.claims) == (None, ())
    assert changed.overrides == {path: text}
    others = [p for p in changed.parameters if p.path != path]
    assert others == [p for p in plain.parameters if p.path != path]


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("adapter.bus.lanes", "3", "found 3; allowed: 1, 2, 4, 8, 12 or 16"),
        ("adapter.bus.lanes", "9" * 5000, "found '999"),
        ("adapter.send.latency", "600", "found '600' with no unit; a time is allowed"),
        ("adapter.send.latency", "-1 ns", "found '-1 ns'; allowed: values from 0 ns to 1 s"),
        ("adapter.sqpc.policy", "LRU", "found 'LRU'; allowed: lru, .* did you mean 'lru'?"),
        ("adapter.sqpc.entries", "0", "found 0; allowed: whole numbers from 1 to"),
        ("stack.cq_doorbell", "yes", "found 'yes'; allowed: true or false"),
        ("adapter.sqpc.ways", "3", "adapter.sqpc: found 3 ways, which do not divide 64 entries"),
        ("adapter.bus.lane", "4", "unknown parameter; .* did you mean 'adapter.bus.lanes'?"),
        ("adapter.bus", "agp", "found 'agp'; allowed: pcie, pcix, mt23108 or mt25208"),
        ("adapter.bus.mmrbc", "512", "there is no adapter.bus.mmrbc here; allowed: "),
        ("adaptr.bus.lanes", "4", "unknown parameter; .*; did you mean 'adapter.bus.lanes'?"),
        ("", "2", "unknown parameter; allowed: paths that start with adapter., host."),
        ("nodes", "8", "unknown parameter; allowed: nodes.count; did you mean 'nodes.count'?"),
    ],
)  # fmt: skip
def test_a_wrong_setting_says_what_is_allowed(path: str, text: str, fault: str) -> None:
    pattern = re.escape(f"--set {path}: {fault}").replace(r"\.\*", ".*").replace("\\ ", " ")
    lines = faults(overrides={path: text})
    assert len(lines) == 1
    assert re.match(pattern, lines[0]), lines


def test_all_faults_of_a_request_come_at_once(data: Path) -> None:
    lines = faults(
        adapter="mt2520",
        mtu=1500,
        overrides={"host.cpu": "4", "link.speed": "XDR", "adapter.bus.lanes": "3"},
    )
    places = [line.split(": ")[0] for line in lines]
    assert places == ["models/adapters", "--set host.cpu", "--set link.speed", "mtu"]
    first, *others = faults(firmware_mode="memfre", mtu=1500, overrides={"host.cpu": "4"})
    allowed = "tavor, mem or memfree; did you mean 'memfree'?"
    assert first == f"firmware_mode: found 'memfre'; allowed: {allowed}"
    assert [line.split(": ")[0] for line in others] == ["--set host.cpu", "mtu"]


def test_faults_of_all_files_come_at_once_and_each_once(data: Path, edit: Edit) -> None:
    (data / "calibration/fits/liu2004.toml").write_text("id = 'x'\n")
    edit("models/hosts/xeon-e7520.toml", "cpus = ", "cpu = ")
    lines = faults()
    assert lines.count("calibration/fits/liu2004.toml: id: found 'x'; allowed: 'liu2004'") == 1
    assert "models/hosts/xeon-e7520.toml: cpus: missing; allowed: whole numbers from 1 to 4096" in (
        lines
    )


def test_without_a_switch_two_hosts_are_back_to_back() -> None:
    machine = resolve("liu2004", switch=False)
    assert (machine.switch, machine.nodes) == (None, 2)
    assert not [p for p in machine.parameters if p.path.startswith("switch.")]
    assert parameter(machine, "nodes.count").source == "two hosts back to back"
    assert faults(switch=False, overrides={"switch.ports": "8"}) == [
        "--set switch.ports: there is no switch between two hosts back to back"
    ]


def test_settings_change_how_many_nodes_there_are() -> None:
    machine = resolve("liu2004", overrides={"nodes.count": 3})
    assert (machine.nodes, machine.groups[0].count, len(machine.wiring.places)) == (3, 3, 6)
    assert parameter(machine, "nodes.count").source == "--set"
    assert machine.digest != resolve("liu2004").digest
    assert faults(overrides={"nodes.count": "none"}) == [
        "--set nodes.count: found 'none'; allowed: whole numbers from 1 to 65536"
    ]
    (fault,) = faults(overrides={"nodes.count": "9"})
    assert fault.startswith("liu2004: switch.ports: found 8; allowed: from 18, for the adapter")
    (fault,) = faults(switch=False, overrides={"nodes.count": "3"})
    assert fault.startswith("liu2004: nodes.count: found 3; allowed: 2, back to back; more with")


@pytest.mark.parametrize(
    ("overrides", "place"),
    [
        ({"host.root_port.completion": "256"}, "host.root_port.completion: found 256 B; allowed:"),
        (
            {"host.root_port.posted_data_credits": "8", "adapter.bus.max_payload": "256"},
            "host.root_port.posted_data_credits: found 8; allowed: from 16",
        ),
        ({"adapter.receive.buffer": "1K"}, "adapter.receive.buffer: found 1024 B; allowed: from"),
        ({"switch.buffer": "1K"}, "switch.buffer: found 1024 B; allowed: from"),
        ({"switch.ports": "3"}, "switch.ports: found 3; allowed: from 8"),
    ],
)
def test_values_that_cannot_work_together_are_refused(
    overrides: dict[str, str], place: str
) -> None:
    lines = faults(overrides=overrides)
    assert len(lines) == 1
    assert lines[0].startswith(f"liu2004: {place}")


@pytest.mark.parametrize("mode", ["tavor", "mem", "memfree"])
def test_the_firmware_mode_may_be_chosen(mode: str) -> None:
    machine = resolve("liu2004", firmware_mode=mode)
    assert machine.adapter.firmware_mode == mode
    chosen = parameter(machine, "adapter.firmware_mode")
    assert (chosen.value, chosen.evidence) == (mode, "assumed")
    assert chosen.source == "chosen for this run"
    plain = [p for p in resolve("liu2004").parameters if p.path != chosen.path]
    assert [p for p in machine.parameters if p.path != chosen.path] == plain


@pytest.mark.parametrize(
    ("mode", "overrides", "held"), [("memfree", {}, "128 MiB"), ("mem", NO_MEMORY, "0 B")]
)
def test_no_table_is_in_a_memory_that_is_not_there(
    mode: str, overrides: dict[str, str], held: str
) -> None:
    two = {"adapter.sqpc.location": "adapter", "adapter.mtt.location": "adapter"}
    rest = {f"adapter.{name}.location": "host" for name in ("rqpc", "cqc", "mpt")}
    (fault,) = faults(firmware_mode=mode, overrides=overrides | two | rest)
    assert fault == (
        "liu2004: adapter.sqpc.location, adapter.mtt.location: found in the adapter's memory, of "
        f"which firmware mode {mode} can use none (adapter.memory.size is {held}); allowed: 'host'"
    )
    machine = resolve("liu2004", firmware_mode="memfree", overrides=NO_MEMORY)
    assert machine.adapter.in_host(machine.adapter.sqpc)
    (fault,) = faults(firmware_mode="mem", overrides=NO_MEMORY)
    assert fault.endswith("allowed: 'host', or firmware mode memfree")


def test_the_digest_depends_on_values_and_on_nothing_else(edit: Edit) -> None:
    machine = resolve("liu2004")
    same = resolve("liu2004", overrides={"adapter.bus.lanes": "8"})
    assert same.digest == machine.digest
    edit("models/testbeds/liu2004.toml", 'title = "Four', 'title = "4')
    assert resolve("liu2004").digest == machine.digest
    for path in ("adapter.bus.lanes", "host.cpus", "switch.ports", "link.width"):
        other = resolve("liu2004", overrides={path: "12"})
        assert other.digest != machine.digest, path


@pytest.mark.parametrize("setting", ["adapter.bus", "adapter.bus.kind"])
def test_a_bus_is_taken_over_with_all_its_parameters_and_nothing_of_the_old_one(
    setting: str,
) -> None:
    text = "pcix" if setting.endswith("kind") else "mt23108"
    machine = resolve("liu2004", adapter="mt25208", overrides={setting: text})
    other = resolve("liu2004", adapter="mt23108")

    def bus(machine: Machine) -> dict[str, object]:
        return {p.path: p.value for p in machine.parameters if p.path.startswith("adapter.bus.")}

    assert machine.adapter.bus == other.adapter.bus
    assert bus(machine) == bus(other)
    sources = [p.source for p in machine.parameters if p.path in bus(machine)]
    assert all(source.startswith("the bus of mt23108: ") for source in sources)


def test_the_mtu_may_be_chosen_as_far_as_the_adapter_takes_it() -> None:
    machine = resolve("liu2004", mtu=2048)
    assert machine.mtu == 2048
    chosen = parameter(machine, "mtu")
    assert (chosen.value, chosen.evidence, chosen.source) == (2048, "assumed", CHOSEN)
    assert faults(mtu=4096) == [
        "liu2004: mtu: found 4096 B; allowed: up to adapter.limits.max_mtu, 2048 B"
    ]
    for mtu in (0, 1000, True):
        allowed = "256 B, 512 B, 1024 B, 2048 B or 4096 B"
        assert faults(mtu=mtu) == [f"mtu: found {mtu!r}; allowed: {allowed}"]


def test_a_machine_is_frozen_and_equal_ones_are_equal_also_when_pickled() -> None:
    machine = resolve("liu2004")
    for one, name in ((machine, "mtu"), (machine.adapter.sqpc, "entries")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(one, name, 1)
    digest = machine.digest
    copy = pickle.loads(pickle.dumps(machine))
    assert copy == machine == resolve("liu2004")
    assert (copy.digest, hash(copy)) == (digest, hash(machine))
    assert len({machine, resolve("liu2004"), resolve("liu2004", mtu=2048)}) == 2
