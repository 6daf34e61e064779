"""Settings that change a description, and what is said of those that it cannot have together."""

import pytest

from hcasim.catalog import CatalogError, list_ids, load, resolve
from hcasim.catalog.loader import each_file_once
from hcasim.catalog.part import Part


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (
            {"adapter.mtt.entries": "8"},
            (
                "--set adapter.mtt.entries: adapter.mtt: found 128 ways, which do not divide 1 "
                "lines; allowed ways: 1; set adapter.mtt.ways, too"
            ),
        ),
        (
            {"adapter.mtt.entries": "8", "adapter.mtt.ways": "2", "stack.cq_doorbell": "false"},
            (
                "--set adapter.mtt.entries, adapter.mtt.ways: adapter.mtt: found 2 ways, which do "
                "not divide 1 lines; allowed ways: 1"
            ),
        ),
        (
            {"adapter.mtt.location": "mode", "adapter.bus.lanes": "4"},
            (
                "--set adapter.mtt.location: adapter: found no firmware_mode, by which the "
                "location of mtt goes"
            ),
        ),
        (
            {"stack.mpi.eager.limit": "1M", "stack.cq_doorbell": "false"},
            (
                "--set stack.mpi.eager.limit: stack.mpi.queue: found room for 8256 B; allowed: "
                "from 1048585 B, for header and eager.limit"
            ),
        ),
    ],
    ids=["beside", "both", "whole", "other section"],
)
def test_of_several_settings_those_are_named_that_a_fault_is_about(
    settings: dict[str, str], fault: str
) -> None:
    others = {"adapter.send.units": "2", "adapter.sqpc.entries": "64", "adapter.limits.max_wr": "9"}
    with pytest.raises(CatalogError) as caught:
        resolve("pair", overrides={**others, **settings}, mpi=True)
    assert caught.value.faults == [fault]


def test_a_setting_is_found_at_its_path_and_nowhere_else() -> None:
    kinds = ("adapters", "hosts", "switches", "stacks", "testbeds")
    for loaded in (load(name, kind) for kind in kinds for name in list_ids(kind)):
        part = Part("part", type(loaded.model), dict(loaded.values), {})
        for path, leaf in part.settable.items():
            assert part.settable_at(path) == leaf
            assert part.settable_at(f"{path}.more") is None
            assert part.settable_at(path[:-1]) == part.settable.get(path[:-1])
        assert part.build() == loaded.model


@pytest.mark.parametrize(
    "settings",
    [
        {"adapter.bus.lanes": 1},
        {"adapter.bus": "pcix"},
        {
            "adapter.protocol.kind": "infiniband",
            "adapter.doorbell.latency": "1 ns",
            "host.root_port.completion": "64 B",
        },
        {"switch.port.width": 8, "link.cable_length": "1 m", "mtu": 512},
    ],
)
def test_a_setting_changes_one_machine_and_not_the_next(settings: dict[str, object]) -> None:
    with each_file_once():
        before = resolve("liu2004")
        changed = resolve("liu2004", overrides=settings)
        assert resolve("liu2004").digest == before.digest != changed.digest
