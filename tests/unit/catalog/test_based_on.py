"""A description may say only what differs from another; a device is no adapter."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import Adapter, CatalogError, DmaDevice, find_kind, load, resolve
from hcasim.catalog.section import UNSAID
from tests.unit.catalog.conftest import refused

Write = Callable[[str, str], Path]
Hcasim = Callable[..., Any]

GUESS = 'evidence = "assumed", source = "a guess"'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a description to the current folder; its id and title come by themselves."""
    monkeypatch.chdir(tmp_path)

    def put(identifier: str, text: str) -> Path:
        file = tmp_path / f"{identifier}.toml"
        file.write_text(f'id = "{identifier}"\ntitle = "{identifier}"\n{text}')
        return file

    return put


def values(name: str) -> dict[str, object]:
    return {p.path: p.value for p in load(name).parameters}


def test_what_is_not_written_is_that_of_the_base(write: Write) -> None:
    write("mine", f'based_on = "mt25208"\n[send]\nprefetch = {{ value = 3, {GUESS} }}\n')
    mine, base = values("mine.toml"), values("mt25208")
    assert mine == base | {"send.prefetch": 3}
    assert list(mine) == list(base)
    assert load("mine.toml").model.title == "mine"


def test_each_value_says_from_where_it_is_inherited(write: Write) -> None:
    write("mine", f'based_on = "mt25208"\n[send]\nprefetch = {{ value = 3, {GUESS} }}\n')
    write("yours", f'based_on = "./mine.toml"\n[ack]\nlatency = {{ value = "1 ns", {GUESS} }}\n')
    base = {p.path: p for p in load("mt25208").parameters}
    found = {p.path: p for p in load("yours.toml").parameters}
    assert found["ack.latency"].inherited_from == ""
    assert found["send.prefetch"].inherited_from == "mine"
    assert found["ports"].inherited_from == "mt25208"
    assert found["ports"].source == base["ports"].source


def test_a_fitted_value_is_inherited_with_its_fit_claims_and_interval(write: Write) -> None:
    write("mine", 'based_on = "mt25208"\n')
    (base,) = (p for p in load("mt25208").parameters if p.path == "receive_queue.latency")
    (mine,) = (p for p in load("mine.toml").parameters if p.path == "receive_queue.latency")
    assert mine.evidence == "fitted"
    for what in ("value", "interval", "claims", "source"):
        assert getattr(mine, what) == getattr(base, what)


def test_a_section_of_another_kind_replaces_the_whole_section(write: Write) -> None:
    given = {"width_bits": 64, "clock": '"133 MHz"', "mmrbc": '"512 B"', "outstanding_splits": 2}
    given["write_burst"] = '"512 B"'
    bus = "\n".join(f"{key} = {{ value = {value}, {GUESS} }}" for key, value in given.items())
    write("mine", f'based_on = "mt25208"\n[bus]\nkind = "pcix"\n{bus}\n')
    found = {path for path in values("mine.toml") if path.startswith("bus.")}
    assert found == {f"bus.{key}" for key in given}
    write("torn", f'based_on = "mt25208"\n[bus]\nkind = "pcix"\nmmrbc = {{ value = "1", {GUESS} }}')
    with pytest.raises(CatalogError, match=r"torn\.toml: bus\.clock: missing"):
        load("torn.toml")


def test_a_section_is_dropped_by_false(write: Write) -> None:
    write("mine", 'based_on = "ne010e"\n[bus]\nbridge = false\n')
    assert not any("bridge" in path for path in values("mine.toml"))
    write("torn", 'based_on = "ne010e"\nsend = false\n')
    with pytest.raises(CatalogError, match=r"torn\.toml: send: found false; allowed: a table"):
        load("torn.toml")


def test_a_machine_does_not_depend_on_how_its_parts_are_written(write: Write) -> None:
    write("mine", 'based_on = "mt25208"\n')
    assert resolve("liu2004", adapter="mine.toml").digest == resolve("liu2004").digest
    changed = resolve("liu2004", adapter="mine.toml", overrides={"adapter.bus.lanes": "4"})
    lanes = next(p for p in changed.parameters if p.path == "adapter.bus.lanes")
    assert (lanes.value, lanes.inherited_from) == (4, "")


def test_what_neither_says_has_the_default_of_its_kind_which_may_be_said_and_set(
    write: Write,
) -> None:
    unsaid = {one.path: one.value for one in load("mt25208").parameters if one.source == UNSAID}
    assert unsaid["order"] == "port"
    assert unsaid["send.units"] == unsaid["receive.units"] == unsaid["wqe.fetch"] == 1
    assert resolve("liu2004", overrides={"adapter.send.units": "4"}).adapter.send.units == 4
    write("mine", f'based_on = "mt25208"\norder = {{ value = "queue_pair", {GUESS} }}\n')
    assert load("mine.toml").model.order == "queue_pair"


def faults(read: Callable[[], object]) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        read()
    return caught.value.faults


def test_a_circle_is_a_fault_that_names_the_chain(write: Write) -> None:
    for name, base in {"a": "./b.toml", "b": "c.toml", "c": "./b.toml"}.items():
        write(name, f'based_on = "{base}"\n')
    for read in (
        lambda: load("a.toml", "adapters"),
        lambda: load("b.toml", "stacks"),
        lambda: find_kind("./a.toml"),
    ):
        assert faults(read) == ["c.toml: based_on: found a circle: b -> c -> b"]


def test_a_fault_is_that_of_the_file_that_has_it(write: Write) -> None:
    write("mine", 'based_on = "mt2520"\n')
    (fault,) = faults(lambda: load("mine.toml", "adapters"))
    assert fault.startswith("mine.toml: based_on: ")
    assert fault.endswith("; did you mean 'mt25208'?")
    write("base", 'based_on = "mt25208"\nports = 1\n[send]\nprefetch = { value = 3 }\n')
    write("mine", 'based_on = "base.toml"\n')
    ports, evidence = faults(lambda: load("mine.toml", "adapters"))
    assert ports.startswith("base.toml: ports: found 1 without evidence")
    assert evidence.startswith("base.toml: send.prefetch.evidence: missing; allowed: spec")
    write("c", 'based_on = ["./a.toml"]\n')
    (fault,) = faults(lambda: find_kind("c.toml"))
    assert fault.startswith("c.toml: found no key that tells")


def test_the_kind_of_a_file_is_that_of_its_base(write: Write) -> None:
    write("mine", 'based_on = "vapi"\n')
    write("yours", 'based_on = "mine.toml"\n')
    assert find_kind("mine.toml") == find_kind("yours.toml") == "stacks"


def test_a_device_is_no_adapter() -> None:
    assert type(load("nfp-6000").model) is DmaDevice
    assert type(load("mt25208").model) is Adapter


@pytest.mark.parametrize(
    ("base", "leaf", "beside"), [("nfp-6000", "send", " send;"), ("mt25208", "dma", " ack")]
)
def test_one_line_refuses_a_dma_engine_beside_what_serves_rdma(
    write: Write, base: str, leaf: str, beside: str
) -> None:
    write("mine", f'based_on = "{base}"\n{leaf}.latency = {{ value = "1 ns", {GUESS} }}\n')
    (fault,) = faults(lambda: load("mine.toml", "adapters"))
    assert fault.startswith(f"mine.toml: found dma beside{beside}")
    assert fault.endswith("; allowed: with bus and ports alone")


def test_of_an_unknown_key_of_a_device_only_its_own_are_allowed(write: Write) -> None:
    write("mine", 'based_on = "nfp-6000"\nnote = "x"\n')
    (fault,) = faults(lambda: load("mine.toml", "adapters"))
    allowed = "id, based_on, title, notes, references, stack, mpi_stack, ports, bus or dma"
    assert fault.endswith(f"note: unknown key; allowed: {allowed}; did you mean 'notes'?")


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
