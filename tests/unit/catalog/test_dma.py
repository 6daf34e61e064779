"""A device that is no RDMA adapter: what its file may hold, and what is said of anything else."""

from pathlib import Path

import pytest

from hcasim.catalog import Adapter, CatalogError, DmaDevice, load
from tests.unit.catalog.conftest import refused

LEAF = '{ value = "1 ns", evidence = "assumed", source = "invented" }'


def faults(folder: Path, base: str, text: str) -> list[str]:
    file = folder / "mine.toml"
    file.write_text(f'id = "mine"\ntitle = "A device"\nbased_on = "{base}"\n{text}\n')
    with pytest.raises(CatalogError) as caught:
        load(str(file), "adapters")
    return caught.value.faults


def test_a_device_has_no_more_than_its_bus_and_its_engine() -> None:
    model = load("nfp-6000").model
    assert isinstance(model, DmaDevice)
    assert not isinstance(model, Adapter)
    assert not hasattr(model, "send")
    assert not hasattr(load("mt25208").model, "dma")


@pytest.mark.parametrize(
    ("base", "text", "beside"),
    [
        ("nfp-6000", f"send.latency = {LEAF}", " send;"),
        ("mt25208", f"dma.latency = {LEAF}", " ack"),
    ],
)
def test_one_line_refuses_a_dma_engine_beside_what_serves_rdma(
    tmp_path: Path, base: str, text: str, beside: str
) -> None:
    (fault,) = faults(tmp_path, base, text)
    assert f"mine.toml: found dma beside{beside}" in fault
    assert fault.endswith("; allowed: with bus and ports alone")


def test_of_an_unknown_key_of_a_device_only_its_own_are_allowed(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "nfp-6000", "note = 'x'")
    own = "id, based_on, title, notes, references, stack, mpi_stack, ports, bus or dma"
    assert fault.endswith(f"mine.toml: note: unknown key; allowed: {own}; did you mean 'notes'?")


@pytest.mark.parametrize(
    ("testbed", "path", "words"),
    [
        ("pcie-bench-haswell", "adapter.send.latency", "there is no adapter.send here"),
        ("pcie-bench-haswell", "adapter.firmware_mode", "there is no adapter.firmware_mode here"),
        ("liu2004", "adapter.dma.latency", "there is no adapter.dma here"),
        ("pcie-bench-haswell", "adapter.protocol.kind", "nfp-6000 is no RDMA adapter"),
    ],
)
def test_a_setting_says_what_a_device_or_an_adapter_has_not(
    testbed: str, path: str, words: str
) -> None:
    assert f"--set {path}: {words}" in refused(testbed, overrides={path: "1 ns"})[0]
