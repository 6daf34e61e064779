"""Settings change descriptions and give what they lack; what clashes names what it is about."""

import pytest

from hcasim.catalog import Machine, Parameter, Value, resolve
from hcasim.catalog.loader import each_file_once
from tests.unit.catalog.conftest import refused


@pytest.mark.parametrize(
    ("settings", "about", "fault"),
    [
        ({"mtt.entries": "8"}, "adapter.mtt: found 128 ways, which do not divide 1 lines",
         "allowed: 1; set adapter.mtt.ways, too"),
        ({"mtt.entry": "48"}, "adapter.mtt: found a line of 64 B with entries of 48 B",
         "allowed: multiples of 48 B; set adapter.mtt.line, too"),
        ({"mtt.entries": "8", "mtt.ways": "2"},
         "adapter.mtt: found 2 ways, which do not divide 1 lines", "allowed: 1"),
        ({"mtt.location": "mode"},
         "adapter: found no firmware_mode, by which the location of mtt goes", ""),
    ],
)  # fmt: skip
def test_of_several_settings_those_are_named_that_a_fault_is_about(
    settings: dict[str, str], about: str, fault: str
) -> None:
    others = {"adapter.send.units": "2", "adapter.sqpc.entries": "64", "stack.cq_doorbell": "false"}
    own = {f"adapter.{path}": text for path, text in settings.items()}
    found = refused("pair", overrides=others | own, mpi=True)
    assert found == ["; ".join(filter(None, (f"--set {', '.join(own)}: {about}", fault)))]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("ring.credit_return", "33", "found 33; allowed: 0 to 32, as many as slots"),
        ("queue.credit_return", "80", "found 80; allowed: 0 to 79, below receives"),
        ("queue.receives", "2", "--set stack.mpi.queue.receives: stack.mpi.queue.credit_return"),
        ("eager.limit", "8K", "found room for 6144 B; allowed: from 8240 B"),
        ("collectives.bcast", "binomal", "did you mean 'binomial'"),
        ("rails.small", "any", "allowed: first or round_robin"),
    ],
)
def test_an_mpi_library_that_contradicts_itself_is_refused(
    path: str, value: str, said: str
) -> None:
    others = {"adapter.send.units": "2", f"stack.mpi.{path}": value}
    assert said in refused("liu2004", stack="mvapich-0.9.5", overrides=others)[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"adapter.bus": "pcix"},
        {"adapter.bus.lanes": 1, "host.root_port.completion": "64 B"},
        {"switch.port.width": 8, "link.cable_length": "1 m", "mtu": 512},
    ],
)
def test_a_setting_changes_one_machine_and_not_the_next(settings: dict[str, object]) -> None:
    with each_file_once():
        before = resolve("liu2004")
        changed = resolve("liu2004", overrides=settings)
        assert resolve("liu2004").digest == before.digest != changed.digest


CACHE = {
    "adapter.icm.cache.size": "128 KiB",
    "adapter.icm.cache.banks": "4",
    "adapter.icm.cache.latency": "20 ns",
    "adapter.icm.cache.policy": "lru",
}
WQES = {"adapter.wqe.cache.entries": "64", "adapter.wqe.cache.policy": "lru"}


def parameters(machine: Machine, start: str) -> dict[str, Parameter[Value]]:
    return {one.path: one for one in machine.parameters if one.path.startswith(start)}


def test_a_leaf_that_a_section_may_have_can_be_set() -> None:
    machine = resolve("liu2004", overrides={"adapter.mtt.reach": "1 GiB"})
    assert resolve("liu2004").hca.mtt.reach is None
    assert machine.hca.mtt.reach == 2**30
    (one,) = parameters(machine, "adapter.mtt.reach").values()
    assert (one.text, one.unit, one.evidence, one.source) == ("1 GiB", "B", "assumed", "--set")


def test_a_section_that_settings_make_has_the_defaults_of_one_in_a_file() -> None:
    machine, plain = resolve("liu2004", overrides=CACHE | WQES), resolve("liu2004")
    cache = machine.hca.icm.cache
    assert cache is not None
    assert (cache.size, cache.banks, cache.latency, cache.policy) == (2**17, 4, 20_000, "lru")
    assert machine.hca.wqe.cache is not None
    assert plain.hca.icm.cache is plain.hca.wqe.cache is None
    own = parameters(machine, "adapter.wqe.cache.") | parameters(machine, "adapter.icm.cache.")
    assert own.pop("adapter.wqe.cache.service").source.startswith("not said; the default")
    assert own.keys() == CACHE.keys() | WQES.keys()


def test_a_section_that_is_optional_may_be_left_out() -> None:
    machine = resolve("rashti2007", stack="mpich2-nes", overrides={"stack.mpi.shared": "false"})
    assert machine.stack.mpi is not None
    assert machine.stack.mpi.shared is None
    assert parameters(machine, "stack.mpi.shared.") == {}
    # Whatever else is set, the order of settings does not matter.
    again = {"stack.mpi.shared": "false", "stack.mpi.rails.ports": "1"}
    other = resolve("rashti2007", stack="mpich2-nes", overrides=again)
    assert other.stack.mpi == machine.stack.mpi
    bed = "roce-40g"
    assert [one.host.iommu is None for one in resolve(bed).groups] == [False]
    left_out = resolve(bed, overrides={"host.iommu": "false"})
    assert [one.host.iommu is None for one in left_out.groups] == [True]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        # Needed, of several kinds, not there, and what is inside of what is left out.
        ({"host.memory": "false"}, "--set host.memory: a group of parameters; allowed: host."),
        ({"adapter.bus": "false"}, "--set adapter.bus: found 'false'; allowed: "),
        ({"host.root_port": "false"}, "host: found xeon-e7520, which has no root_port, "),
        ({"host.gpu": "false"}, "--set host.gpu: a group of parameters; allowed: host.gpu."),
        (
            {"stack.mpi.shared.eager": "1 KiB", "stack.mpi.shared": "false"},
            "--set stack.mpi.shared.eager: there is no stack.mpi.shared here; allowed: together ",
        ),
        ({"stack.mpi.shared": "none"}, "stack.mpi.shared.packet or stack.mpi.shared=false"),
    ],
)
def test_nothing_else_is_left_out(settings: dict[str, str], said: str) -> None:
    (fault,) = refused("rashti2007", stack="mpich2-nes", overrides=settings)
    assert said in fault


def test_one_line_names_the_leaves_that_a_section_lacks() -> None:
    size, banks, *rest = CACHE
    section, mtu = refused("liu2004", overrides={size: "1 KiB", banks: "2", "mtu": "x"})
    assert mtu.startswith("mtu: found 'x', which is not a number with a unit; a size is allowed")
    allowed = f"allowed: together with {', '.join(rest)}"
    assert section == f"--set {size}: there is no adapter.icm.cache here; {allowed}"


def test_sections_that_a_section_needs_are_lacking_too() -> None:
    (fault,) = refused("liu2004", overrides={"stack.mpi.eager.limit": "2 KiB"})
    assert "there is no stack.mpi here; allowed: together with stack.mpi.header.size, " in fault
    assert "stack.mpi.eager.done" in fault
    assert "stack.mpi.ring" not in fault


def test_an_incomplete_slot_is_refused_before_a_link_trains_in_it() -> None:
    (fault,) = refused("liu2004", overrides={"host.slot.lanes": "4"})
    assert fault == (
        "--set host.slot.lanes: there is no host.slot here; allowed: together with "
        "host.slot.generation, host.slot.max_payload"
    )
    slot = {"host.slot.generation": "1", "host.slot.lanes": "4", "host.slot.max_payload": "128"}
    bus = resolve("liu2004", overrides=slot).hca.bus
    assert (bus.kind, bus.lanes) == ("pcie", 4)


def test_each_group_of_nodes_gets_what_is_set_for_all_and_one_what_is_set_for_it() -> None:
    for start, reaches in (("", [2**30, 2**30]), ("storage.", [None, 2**30])):
        machine = resolve("fat-tree-64", overrides={f"{start}adapter.mtt.reach": "1 GiB"})
        assert [group.hca.mtt.reach for group in machine.groups] == reaches
    assert len(refused("fat-tree-64", overrides={"adapter.umr.inline": "1"})) == 1


def test_a_section_of_several_kinds_cannot_be_set_leaf_by_leaf() -> None:
    (fault,) = refused("liu2004", overrides={"adapter.bus.bridge.reads": "1"})
    assert "there is no adapter.bus.bridge here; allowed: adapter.bus.generation" in fault
