"""Each schema fits what the commands really write, and refuses it damaged."""

import copy
import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import hcasim as hc
from hcasim.catalog import data_path
from hcasim.cli import app
from hcasim.schemas import SCHEMAS, schema

OPTIONAL = {
    "adapter": "firmware_mode memory notes port references tables",
    "app": "wall_seconds",
    "bench": "wall_seconds",
    "bench-several": "wall_seconds",
    "calibrate": "",
    "calibrate-traces": "made traces curves held_out",
    "calibration": "title notes claims",
    "calibration-traces": "title notes settings",
    "compare": "",
    "context": "",
    "host": "io_bridge notes pcix_bridge references",
    "import": "",
    "list": "models scenarios calibrations workloads",
    "reproduce": "wall_seconds",
    "run": "wall_seconds",
    "scenario": "claims",
    "sensitivity": "",
    "show-model": "",
    "show-scenario": "",
    "show-testbed": "adapter host stack switch",
    "show-groups": "groups switch",
    "show-workload": "",
    "stack": "driver notes references",
    "sweep": "",
    "switch": "notes port references",
    "testbed": "notes paper references",
    "trace-end": "",
    "trace-header": "device pci port notes",
    "trace-point": "options",
    "why": "",
}
"""The keys that each instance may do without."""


def printed(*words: str) -> Any:
    """What a command prints for programs."""
    done = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Something real of each kind."""
    folder = tmp_path_factory.mktemp("instances")
    lat, fit = str(folder / "lat.jsonl"), folder / "fit.toml"
    one = ("bench", "write_lat", "--testbed", "liu2004", "-j", "1")
    several = printed(*one, "--size", "8,1K", "--explain")
    printed(*one, "--size", "8,64", "-o", lat)
    few = (
        "--free",
        "adapter.send.latency",
        "--intervals",
        "linear",
        "-j",
        "1",
        "--set",
        "link.cable_length=3 m",
    )
    traces = printed("calibrate", lat, "--testbed", "liu2004", *few, "-o", str(fit))
    header, point, _, end = map(json.loads, Path(lat).read_text().splitlines())
    (run,) = printed("run", "rashti2007/fig4", "-j", "1")
    program = folder / "program.py"
    program.write_text("def main(comm):\n    yield from comm.barrier()\n")
    bus = ("bw_rd", "--testbed", "pcie-bench-haswell", "--size", "64", "-j", "1")
    pair = ("liu2004", "liu2004", "--b", "adapter.send.latency=1 us")
    read = ("--size", "8", "-j", "1")
    found = {
        "app": printed("app", str(program), "--testbed", "liu2004", "-n", "2"),
        "bench": printed(*one, "--size", "8"),
        "bench-several": several,
        "calibrate": printed("calibrate", "rashti2007", "-j", "1"),
        "calibrate-traces": traces,
        "calibration-traces": tomllib.loads(fit.read_text()),
        "compare": printed("compare", *pair, "write_lat", *read),
        "why": printed("why", *pair, "write_lat", *read),
        "import": printed("import", lat),
        "list": printed("list"),
        "reproduce": printed("reproduce", "rashti2007/fig4", "-j", "1"),
        "run": run,
        "sensitivity": printed("sensitivity", *bus, "--only", "host.memory.read_latency"),
        "show-model": printed("show", "mt25208"),
        "show-scenario": printed("show", "liu2004/fig03"),
        "show-testbed": printed("show", "liu2004"),
        "show-groups": printed("show", "fat-tree-64"),
        "show-workload": printed("show", "write_lat"),
        "sweep": printed("sweep", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "1"),
        "trace-header": header,
        "trace-point": point,
        "trace-end": end,
    }
    for name, file in {
        "adapter": "models/adapters/mt25208",
        "calibration": "calibration/fits/liu2004",
        "context": "scenarios/liu2004/context",
        "host": "models/hosts/powermac-g5",
        "scenario": "scenarios/liu2004/fig03",
        "stack": "models/stacks/vapi",
        "switch": "models/switches/infiniscale",
        "testbed": "models/testbeds/liu2004",
    }.items():
        found[name] = tomllib.loads(data_path(f"{file}.toml").read_text())
    return found


def fits(name: str, document: Any) -> bool:
    return _validator(name.partition("-")[0]).is_valid(document)


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def places(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where something stands in a document; of a list the first part alone."""
    inner: Any = node.items() if isinstance(node, dict) else enumerate(node[:1])
    for key, one in inner:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from places(one, (*path, key))


def test_there_is_an_instance_of_each_kind(instances: dict[str, Any]) -> None:
    assert {name.partition("-")[0] for name in instances} == set(SCHEMAS)
    assert instances.keys() == OPTIONAL.keys()


def test_a_schema_fits_what_is_really_there(instances: dict[str, Any]) -> None:
    for name, one in instances.items():
        validator = _validator(name.partition("-")[0])
        assert [error.message for error in validator.iter_errors(one)] == [], name


def test_a_key_that_is_missing_or_renamed_is_refused(instances: dict[str, Any]) -> None:
    for name, whole in instances.items():
        lacking = {key for key in whole if fits(name, {k: v for k, v in whole.items() if k != key})}
        assert lacking == set(OPTIONAL[name].split()) & whole.keys(), name
        for key in whole:
            renamed = {f"{k}x" if k == key else k: one for k, one in whole.items()}
            assert not fits(name, renamed), (name, key)


@pytest.mark.check
def test_a_value_of_the_wrong_type_is_refused_wherever_it_stands(instances: dict[str, Any]) -> None:
    for name, whole in instances.items():
        for *path, key in places(whole):
            damaged = copy.deepcopy(whole)
            node = damaged
            for step in path:
                node = node[step]
            node[key] = 7.5 if isinstance(node[key], dict | list) else [[]]
            assert not fits(name, damaged), (name, path, key)


@pytest.mark.parametrize("name", ["bench", "bench-several"])
def test_a_result_without_one_of_its_options_in_force_is_refused(
    instances: dict[str, Any], name: str
) -> None:
    whole = instances[name]
    for key in whole["options"]:
        options = {k: one for k, one in whole["options"].items() if k != key}
        assert not fits(name, {**whole, "options": options}), key
    for key in whole["points"][0]:
        points = [{k: one for k, one in point.items() if k != key} for point in whole["points"]]
        assert not fits(name, {**whole, "points": points}), key
    assert not fits(name, {**whole, "options": {}})
    assert not fits(name, {**whole, "points": []})


@pytest.mark.parametrize("name", ["calibrate", "import", "list", "show"])
def test_what_a_command_prints_says_which_document_it_is_of_which_version(
    instances: dict[str, Any], name: str
) -> None:
    for one in (found for key, found in instances.items() if key.partition("-")[0] == name):
        head = {"schema": f"hcasim-{name}", "version": 1, "hcasim": hc.__version__}
        assert list(one.items())[:3] == list(head.items())
