"""A fit names parts by their ids, also parts of the user's own in files given by their paths."""

import re
from pathlib import Path

import pytest

from hcasim.calibrate.entries import identifier, leaf_at, prefixes
from hcasim.catalog import MODELS, CatalogError, folders, resolve
from hcasim.catalog.fields import Leaf
from hcasim.papers.starting import starting_file

BASES = {"adapters": "mt25208", "hosts": "xeon-e7520", "switches": "infiniscale", "stacks": "vapi"}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A testbed in a file, all of whose parts are in files beside it."""
    monkeypatch.setattr(folders, "_GIVEN", {})
    for kind, base in BASES.items():
        file = tmp_path / f"my-{kind}.toml"
        file.write_text(starting_file(kind, file.stem, base, tmp_path))
    lab = tmp_path / "lab.toml"
    text = starting_file("testbeds", "lab", "liu2004", tmp_path)
    for key, value in {
        "nodes.host": '"./my-hosts.toml"',
        "nodes.stack": '"./my-stacks.toml"',
        "nodes.adapters": '["./my-adapters.toml"]',
        "nodes.default_adapter": '"./my-adapters.toml"',
        "network.switch": '"./my-switches.toml"',
    }.items():
        text = re.sub(rf"^# {re.escape(key)} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
    lab.write_text(text)
    return lab


def test_files_that_were_given_are_named_by_their_ids(lab: Path) -> None:
    machine = resolve(str(lab))
    starts = prefixes(str(lab), str(lab.parent / "my-adapters.toml"))
    assert [start for start, _ in starts] == [
        *(f"{kind}.my-{kind}." for kind in MODELS[:-1]),
        "testbeds.lab.link.",
    ]
    assert prefixes(machine.id, machine.adapter.id) == starts
    for path in ("adapters.my-adapters.send.latency", "hosts.my-hosts.memory.read_latency"):
        assert isinstance(leaf_at(path), Leaf)
    assert resolve("lab", adapter="my-adapters").digest == machine.digest


def test_what_was_not_given_is_not_known(lab: Path) -> None:
    fault = leaf_at("adapters.my-adapters.send.latency")
    assert isinstance(fault, str)
    assert "found no adapter 'my-adapters'" in fault


def test_a_file_with_the_id_of_another_part_is_refused(lab: Path) -> None:
    file = lab.parent / "mt23108.toml"
    file.write_text(starting_file("adapters", "mt23108", "mt25208", lab.parent))
    assert resolve("liu2004", adapter=str(file)).adapter.bus.kind == "pcie"
    with pytest.raises(CatalogError, match=r"id: found 'mt23108', which is that of .*, too"):
        identifier(str(file), "adapters")
