"""Keys and ids that are no longer there name what says the same now."""

import re
from pathlib import Path

import pytest

from hcasim.catalog import CatalogError, load, resolve
from hcasim.catalog.host import Host
from hcasim.catalog.part import leaf_paths
from hcasim.catalog.stack import Stack
from hcasim.catalog.successors import _KEYS, successor, successor_of_id


def test_every_successor_is_there() -> None:
    known = {one.path for one in resolve("pair").parameters}
    known |= {f"host.{path}" for path in leaf_paths(Host)}
    known |= {f"stack.{path}" for path in leaf_paths(Stack)}
    for path, text in _KEYS.items():
        assert path not in known
        assert set(re.findall(r"'([a-z_.]+)'", text)) <= known


def test_a_setting_that_is_gone_says_what_to_set_instead() -> None:
    for path in ("host.cache.read_latency", "compute.host.cache.read_latency"):
        assert "; instead: 'host.memory.dram_latency'" in successor(path)
    assert not successor("host.memory.read_latency")
    with pytest.raises(CatalogError, match=r"adapter.send.gap: unknown parameter; instead: no key"):
        resolve("pair", overrides={"adapter.send.gap": "5 ns"})


def test_a_key_of_a_file_that_is_gone_does_so_too(tmp_path: Path) -> None:
    leaf = '{ value = "5 ns", evidence = "assumed", source = "none" }'
    text = f'id = "own"\nbased_on = "connectx5"\ntitle = "Own"\n[responder]\nrest = {leaf}\n'
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(CatalogError, match=r"responder.rest: unknown key; instead: 'adapter"):
        load(str(tmp_path / "own.toml"), "adapters")


def test_an_id_that_is_gone_does_so_too() -> None:
    assert successor_of_id("epyc-rome-vm") == "; instead: 'epyc-rome'"
    with pytest.raises(
        CatalogError, match=r"no stack 'rdma-core-r2'.*; instead: 'rdma-core', with"
    ):
        load("rdma-core-r2", "stacks")
