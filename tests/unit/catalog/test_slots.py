"""A host has the slots that it has; a what-if brings its own."""

from pathlib import Path

import pytest

from hcasim.catalog import CatalogError, Machine, resolve

PCI_X_ONLY = "benjegerdes2004"
BED = "models/testbeds/liu2004.toml"


def sources(machine: Machine, section: str) -> list[str]:
    return [p.source for p in machine.parameters if p.path.startswith(f"host.{section}.")]


@pytest.mark.parametrize(
    "what_if", [{"overrides": {"adapter.bus": "mt25208"}}, {"adapter": "mt25218"}]
)
def test_a_root_port_stands_in_for_one_that_a_host_lacks(what_if: dict[str, object]) -> None:
    machine = resolve(PCI_X_ONLY, **what_if)
    assert machine.host.root_port == resolve("liu2004").host.root_port.model_copy(
        update={"short_read": 0}
    )
    assert all(
        one.startswith("no root_port in this host; that of generic: ")
        for one in sources(machine, "root_port")
    )
    assert machine.host.id == "dell-2650"


def test_a_root_port_that_stands_in_can_be_set_and_one_that_is_not_there_cannot() -> None:
    settings = {"adapter.bus": "mt25208", "host.root_port.short_read": "256"}
    assert resolve(PCI_X_ONLY, overrides=settings).host.root_port.short_read == 256
    del settings["adapter.bus"]
    with pytest.raises(CatalogError, match=r"there is no host\.root_port here; allowed: "):
        resolve(PCI_X_ONLY, overrides=settings)


@pytest.mark.parametrize(
    ("section", "adapter"), [("root_port", "mt25208"), ("pcix_bridge", "mt23108")]
)
def test_a_testbed_whose_host_lacks_the_slot_of_its_adapter_is_faulty(
    data: Path, section: str, adapter: str
) -> None:
    host = data / "models/hosts/xeon-e7520.toml"
    before, table, rest = host.read_text().partition(f"[{section}]")
    assert table
    host.write_text(before + rest.partition("\n\n")[2])
    with pytest.raises(CatalogError) as caught:
        resolve("liu2004", adapter=adapter)
    (fault,) = caught.value.faults
    assert fault == (
        f"host: found xeon-e7520, which has no {section}, and the bus of {adapter} needs one; "
        f"allowed: a host with a table [{section}]"
    )
