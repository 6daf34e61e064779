"""Settings give what a description has not and may have: leaves, and sections as a whole."""

import pytest

from hcasim.catalog import Adapter, CatalogError, Machine, Parameter, Value, resolve

CACHE = {
    "adapter.icm.cache.size": "128 KiB",
    "adapter.icm.cache.banks": "4",
    "adapter.icm.cache.latency": "20 ns",
    "adapter.icm.cache.policy": "lru",
}
WQES = {"adapter.wqe.cache.entries": "64", "adapter.wqe.cache.policy": "lru"}


def adapter(**request: dict[str, str]) -> Adapter:
    return resolve("liu2004", **request).hca


def parameters(machine: Machine, start: str) -> dict[str, Parameter[Value]]:
    return {one.path: one for one in machine.parameters if one.path.startswith(start)}


def faults(settings: dict[str, str], testbed: str = "liu2004") -> list[str]:
    with pytest.raises(CatalogError) as refused:
        resolve(testbed, overrides=settings)
    return list(refused.value.faults)


def test_a_leaf_that_a_section_may_have_can_be_set() -> None:
    machine = resolve("liu2004", overrides={"adapter.mtt.reach": "1 GiB"})
    assert resolve("liu2004").hca.mtt.reach is None
    assert machine.hca.mtt.reach == 2**30
    (one,) = parameters(machine, "adapter.mtt.reach").values()
    assert (one.text, one.unit, one.evidence, one.source) == ("1 GiB", "B", "assumed", "--set")


def test_all_leaves_of_a_section_together_make_it() -> None:
    machine = resolve("liu2004", overrides=CACHE)
    assert resolve("liu2004").hca.icm.cache is None
    cache = machine.hca.icm.cache
    assert cache is not None
    assert (cache.size, cache.banks, cache.latency, cache.policy) == (2**17, 4, 20_000, "lru")
    assert parameters(machine, "adapter.icm.cache.").keys() == CACHE.keys()


def test_a_section_that_settings_make_has_the_defaults_of_one_in_a_file() -> None:
    machine = resolve("liu2004", overrides=WQES)
    assert machine.hca.wqe.cache is not None
    own = parameters(machine, "adapter.wqe.cache.")
    assert own.pop("adapter.wqe.cache.service").source.startswith("not said; the default")
    assert own.keys() == WQES.keys()
    assert resolve("liu2004").digest != machine.digest


def test_one_line_names_the_leaves_that_a_section_lacks() -> None:
    size, banks, *rest = CACHE
    assert faults({size: "1 KiB", banks: "2", "mtu": "x"})[::-1] == [
        (
            "mtu: found 'x', which is not a number with a unit; "
            "a size is allowed with the unit B, KiB, MiB or GiB"
        ),
        f"--set {size}: there is no adapter.icm.cache here; allowed: together with "
        + ", ".join(rest),
    ]


def test_sections_that_a_section_needs_are_lacking_too() -> None:
    (fault,) = faults({"stack.mpi.eager.limit": "2 KiB"})
    assert "there is no stack.mpi here; allowed: together with stack.mpi.calls.send, " in fault
    assert "stack.mpi.eager.done" in fault
    assert "stack.mpi.ring" not in fault


def test_an_incomplete_slot_is_refused_before_a_link_trains_in_it() -> None:
    (fault,) = faults({"host.slot.lanes": "4"})
    assert fault == (
        "--set host.slot.lanes: there is no host.slot here; allowed: together with "
        "host.slot.generation, host.slot.max_payload"
    )
    slot = {"host.slot.generation": "1", "host.slot.lanes": "4", "host.slot.max_payload": "128"}
    bus = adapter(overrides=slot).bus
    assert bus.kind == "pcie"
    assert bus.lanes == 4


def test_each_group_of_nodes_gets_what_is_set_for_all_and_one_what_is_set_for_it() -> None:
    machine = resolve("fat-tree-64", overrides={"adapter.mtt.reach": "1 GiB"})
    assert {group.hca.mtt.reach for group in machine.groups} == {2**30}
    (first, *_, last) = machine.groups
    machine = resolve("fat-tree-64", overrides={f"{last.name}.adapter.mtt.reach": "1 GiB"})
    assert [group.hca.mtt.reach for group in machine.groups][-1] == 2**30
    assert machine.groups[0].hca.mtt.reach is None
    assert first.name != last.name
    assert len(faults({"adapter.umr.inline": "1"}, "fat-tree-64")) == 1


def test_a_section_of_several_kinds_cannot_be_set_leaf_by_leaf() -> None:
    (fault,) = faults({"adapter.bus.bridge.reads": "1"})
    assert "there is no adapter.bus.bridge here; allowed: adapter.bus.generation" in fault
