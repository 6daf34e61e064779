"""What the shipped files must hold."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from hcasim.catalog import MODELS, Adapter, Cache, Machine, list_ids, load, load_fit, resolve
from hcasim.catalog.fields import leaf_paths
from hcasim.catalog.folders import data_path
from hcasim.catalog.link import LINK_OF
from hcasim.catalog.loader import CLASSES
from hcasim.catalog.section import EVIDENCE
from hcasim.schemas.making import file_schema

ALL = [(kind, identifier) for kind in MODELS for identifier in list_ids(kind)]


def test_each_parameter_has_evidence_and_a_source_and_reads_back_as_its_value() -> None:
    for kind, identifier in ALL:
        loaded = load(identifier, kind)
        expected = leaf_paths(type(loaded.model), loaded.values)
        assert [p.path for p in loaded.parameters] == list(expected)
        for p in loaded.parameters:
            assert p.evidence in EVIDENCE
            assert len(p.source) > 8, p.path
            unit = expected[p.path].unit
            assert p.unit == (unit.base if unit else ""), p.path
            assert expected[p.path].read_argument(p.text) == p.value, p.path


def test_sources_are_public() -> None:
    for kind, identifier in ALL:
        text = data_path("models", kind, f"{identifier}.toml").read_text()
        assert not re.search(r"hardware_constants|published_numbers|C\d{3}\b", text)


def test_each_entry_of_a_fit_fills_a_leaf_that_says_so() -> None:
    for identifier in list_ids("calibrations"):
        for path in load_fit(identifier).entries:
            kind, model, leaf = path.split(".", 2)
            parameter = {p.path: p for p in load(model, kind).parameters}[leaf]
            assert parameter.evidence == "fitted", path
            assert f"fit {identifier}" in parameter.source


def test_there_are_no_stray_files() -> None:
    known = {data_path("models", kind, f"{name}.toml") for kind, name in ALL}
    assert {path for path in data_path("models").rglob("*") if path.is_file()} == known


def test_both_generations_are_one_chip_but_for_the_bus() -> None:
    """The firmware of the newer one emulates the older, so only interface and fits may differ."""
    older, newer = ({p.path: p for p in load(name).parameters} for name in ("mt23108", "mt25208"))
    common = [path for path in older if path in newer and older[path].evidence != "fitted"]
    assert len(common) > 30
    assert {path for path in common if older[path].value != newer[path].value} == set()


def conforms(schema: dict[str, Any], table: dict[str, Any]) -> bool:
    return Draft202012Validator(schema).is_valid(table)


def test_the_schema_for_editors_knows_leaves() -> None:
    for kind, identifier in dict(ALL).items():
        table = tomllib.loads(data_path("models", kind, f"{identifier}.toml").read_text())
        schema = file_schema(kind)
        leaf = next(key for key, value in leaf_paths(CLASSES[kind][0]).items() if "." not in key)
        given = table.get(leaf, {"fit": "x", "evidence": "fitted", "source": "a source"})
        assert conforms(schema, {**table, leaf: given})
        assert not conforms(schema, {**table, leaf: given.get("value", "8")})
        assert not conforms(schema, {**table, leaf: {**given, "evidence": "guess"}})


def test_the_schema_for_editors_lets_a_file_drop_what_its_base_has() -> None:
    table = {"id": "x", "title": "x", "based_on": "mt25218"}
    assert conforms(file_schema("adapters"), {**table, "tables": False})
    assert not conforms(file_schema("adapters"), {**table, "send": False})


def test_every_parameter_is_described() -> None:
    def check(model: type[BaseModel]) -> None:
        for name, info in model.model_fields.items():
            if name not in ("kind", "host", "switch", "stack", "default_adapter"):
                annotation = info.annotation
                nested = isinstance(annotation, type) and issubclass(annotation, BaseModel)
                assert nested or name == "bus" or info.description, (model, name)

    check(Cache)
    for model in chain.from_iterable(CLASSES.values()):
        check(model)


CACHE = {"entries": 64, "entry": 256, "line": 256, "ways": 4, "policy": "lru"}
CACHE |= {"outstanding": 1, "location": "mode"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"ways": 5}, "which do not divide 64 entries; allowed: 1, 2, 4, 8, 16, 32 or 64"),
        ({"entries": 0}, "greater than or equal to 1"),
        ({"line": 128}, "found a line of 128 B with entries of 256 B; allowed: multiples of"),
        ({"line": 768}, "found 64 entries, which do not fill lines of 768 B; .* multiples of 3"),
        ({"policy": "mru"}, "'lru', 'random' or 'fifo'"),
    ],
)
def test_a_description_made_in_python_is_checked_too(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Cache(**(CACHE | change))


def test_a_cache_knows_its_lines() -> None:
    assert Cache(**(CACHE | {"line": 1024})).lines == 16
    text = CACHE | {"entry": "8 B", "line": "0.5 KiB", "ways": 1}
    assert Cache.model_validate(text).lines == 1


def test_the_mode_says_where_tables_are_unless_the_table_does() -> None:
    found = {}
    for mode in ("tavor", "mem", "memfree"):
        adapter = resolve("liu2004", firmware_mode=mode).adapter
        for location in ("mode", "adapter", "host"):
            table = Cache(**(CACHE | {"location": location}))
            if (mode, location) != ("memfree", "adapter"):
                found[mode, location] = adapter.in_host(table)
        assert (adapter.local_memory_size > 0) == (mode != "memfree")
    assert {key for key, in_host in found.items() if in_host} == {
        ("memfree", "mode"),
        *((mode, "host") for mode in ("tavor", "mem", "memfree")),
    }


def test_one_chip_without_its_compatible_firmware() -> None:
    """MT25218 is MT25208 but for the firmware, which prefetches and fetches lines."""
    own = {p.path for p in load("mt25218").parameters if not p.inherited_from}
    assert own == {"firmware_mode", "send.prefetch", "mtt.line"}


@pytest.mark.pure
def test_data_is_beside_the_package_in_a_checkout() -> None:
    root = Path(__file__).resolve().parents[3]
    assert data_path("models", "adapters") == root / "models" / "adapters"
    assert data_path("models", "adapters", "none.toml") == root / "models/adapters/none.toml"


def fitting() -> list[tuple[str, str]]:
    """Each testbed with the adapters that speak what its links carry."""
    beds = {name: load(name, "testbeds").values for name in list_ids("testbeds")}
    spoken = {name: load(name, "adapters").values for name in list_ids("adapters")}
    return [
        (testbed, adapter)
        for testbed, bed in beds.items()
        for adapter, values in spoken.items()
        if "dma" in values or takes(values, bed)
    ]


def takes(adapter: dict[str, Any], bed: dict[str, Any]) -> bool:
    """Whether an adapter takes the links of a testbed and their MTU."""
    kind = bed["link"]["kind"]
    if (adapter.get("roce_cc") or {}).get("algorithm") == "hpcc":
        switch = load(bed["network"].get("switch") or "ideal-32", "switches").values
        return bool((switch.get("memory") or {}).get("telemetry"))
    if kind == "port":
        return bed["link"].get("carries") != "ethernet" or "gigabits" in adapter["port"]
    same = kind == LINK_OF[adapter["protocol"]["kind"]]
    return same and bed["mtu"] <= adapter["limits"]["max_mtu"]


def value_at(machine: Machine, path: str) -> object:
    groups = {f"{group.name}.": group for group in machine.groups}
    for start, group in groups.items():
        for whole in (path, path.removeprefix("nodes.")):
            if whole.startswith(start):
                return attrgetter(whole.removeprefix(start))(group)
    if path.startswith("trunk."):
        return attrgetter(path.removeprefix("trunk."))(machine.trunks[""])
    return attrgetter(path)(machine)


def test_each_parameter_is_where_its_path_says() -> None:
    # Each testbed and each adapter, once.
    pairs = {testbed: (testbed, adapter) for testbed, adapter in fitting()}
    pairs |= {adapter: (testbed, adapter) for testbed, adapter in fitting()}
    for testbed, adapter in set(pairs.values()):
        machine = resolve(testbed, adapter=adapter)
        paths = [p.path for p in machine.parameters]
        assert len(paths) == len(set(paths))
        for p in machine.parameters:
            assert value_at(machine, p.path) == p.value, (testbed, adapter, p.path)
            assert p.meaning, p.path


def test_the_digest_is_the_same_in_another_process() -> None:
    script = "from hcasim.catalog import resolve; print(resolve('liu2004').digest)"
    root = Path(__file__).resolve().parents[3]
    output = subprocess.check_output([sys.executable, "-c", script], text=True, cwd=root)
    assert output.strip() == resolve("liu2004").digest


def test_what_a_machine_lacks_is_not_described() -> None:
    card, stack = load("ne010e").values, load("nes").values
    assert not {"tables", "firmware_mode"} & card.keys()
    assert "driver" not in stack
    without = load("mt25208").values | {"memory": Adapter.model_fields["memory"].default}
    assert Adapter.model_validate(without).local_memory_size == 0
    lost = {key: value for key, value in without.items() if key != "firmware_mode"}
    with pytest.raises(ValidationError, match="found no firmware_mode, by which the location of"):
        Adapter.model_validate(lost)
