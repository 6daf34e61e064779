"""Each schema fits what is really read and written, and refuses it damaged."""

import copy
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import hcasim as hc
from hcasim.catalog import MODELS, CatalogError, data_path
from hcasim.cli import app
from hcasim.schemas.making import SCHEMAS, schema
from hcasim.workloads import WORKLOADS

NAMES = dict(zip(MODELS, ("adapter", "host", "switch", "stack", "testbed"), strict=True))
FILES = [
    *((name, file) for kind, name in NAMES.items() for file in data_path("models", kind).glob("*")),
    *(
        ("context" if file.stem == "context" else "scenario", file)
        for file in data_path("scenarios").glob("*/*")
    ),
    *(("calibration", file) for file in data_path("calibration", "fits").glob("*")),
]


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def faults(name: str, document: Any) -> list[str]:
    found = validator(name).iter_errors(document)
    return [f"{'.'.join(map(str, one.absolute_path))}: {one.message}" for one in found]


def test_an_unknown_schema_is_answered_with_the_nearest() -> None:
    with pytest.raises(CatalogError, match="did you mean 'adapter'"):
        hc.schema("adapters")


def test_a_command_writes_all_schemas_into_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    command = [sys.executable, "-m", "hcasim.schemas"]
    subprocess.run([*command, folder], check=True)
    written = {file.name: json.loads(file.read_text()) for file in folder.iterdir()}
    assert written == {f"{name}.json": schema(name) for name in SCHEMAS}
    for one in written.values():
        Draft202012Validator.check_schema(one)
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "Usage: python -m hcasim.schemas FOLDER\n")


def test_each_file_of_the_catalogue_fits_its_schema() -> None:
    for name, file in FILES:
        table = tomllib.loads(file.read_text())
        assert faults(name, table) == [], file
        assert faults(name, {**table, "extra": 1}), file


OF_ONE = {
    "reg_mr": "rashti2007",
    "host_memory": "sur2005",
    "nvmf_read": "nvmf",
    "nvmf_write": "nvmf",
}
FEW = {"size": 64, "iters": 4}


def said(workload: str, **options: Any) -> dict[str, Any]:
    """What is said of a benchmark, after a look whether it fits the schema."""
    testbed = OF_ONE.get(workload, "liu2004")
    testbed = "fat-tree-64" if workload in ("all_to_all", "rc_swarm") else testbed
    found = hc.bench(workload, testbed, jobs=1, **options).to_dict()
    assert faults("bench", json.loads(json.dumps(found))) == [], workload
    return found


@pytest.mark.pure
def test_what_each_benchmark_says_fits_the_schema_and_tells_each_option(
    simulated: Callable[[], list[Any]],
) -> None:
    for workload, one in WORKLOADS.items():
        size = {"size": [8] if "atomic" in workload else [64, 128]}
        found = said(workload, **(size if "size" in one.options else {}))
        every = [{**found["options"], **point} for point in found["points"]]
        assert len(every) == len(found["rows"])
        assert {name for point in every for name in point} == {
            *(one.options - {"explain"}),
            *("mtu", "switch", "host", "stack"),
        }, workload


@pytest.mark.parametrize(
    "workload", ["write_lat", "window_bw", "osu_bw", "imb_allgather", "all_to_all", "nvmf_read"]
)
def test_what_is_explained_fits_the_schema(workload: str) -> None:
    assert said(workload, explain=True, **FEW)["breakdown"]


OPTIONAL = {
    "adapter": "firmware_mode memory mpi_stack notes port references stack tables",
    "app": "wall_seconds",
    "bench": "wall_seconds",
    "bench-several": "wall_seconds",
    "calibrate-traces": "made traces curves alternatives held_out",
    "calibration": "title notes claims",
    "calibration-traces": "title notes settings",
    "host": "core gpu io_bridge notes pcix_bridge references",
    "list": "models scenarios calibrations workloads",
    "reproduce": "wall_seconds",
    "run": "wall_seconds",
    "scenario": "chosen_from claims",
    "show-model": "mpi_stack stack",
    "show-testbed": "adapter host stack switch",
    "show-groups": "groups switch",
    "show-scenario": "chosen_from",
    "stack": "driver event notes poll_cq poll_memory post_recv post_send references",
    "switch": "notes port references",
    "testbed": "notes paper references",
    "trace-header": "device pci port notes",
    "trace-point": "options",
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
    few = ("--free", "adapter.send.latency", "--intervals", "linear", "-j", "1")
    few = (*few, "--set", "link.cable_length=3 m")
    traces = printed("calibrate", lat, "--testbed", "liu2004", *few, "-o", str(fit))
    header, point, _, end = map(json.loads, Path(lat).read_text().splitlines())
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
        "check": printed("check", lat, "--testbed", "liu2004", "-j", "1"),
        "compare": printed("compare", *pair, "write_lat", *read),
        "why": printed("why", *pair, "write_lat", *read),
        "import": printed("import", lat),
        "list": printed("list"),
        "reproduce": printed("reproduce", "rashti2007/fig4", "-j", "1"),
        "run": printed("run", "rashti2007/fig4", "-j", "1"),
        "runs": printed("run", "rashti2007/fig4", "liu2004/fig05", "-j", "1"),
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
    return validator(name.partition("-")[0]).is_valid(document)


def places(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where something stands in a document; of a list the first part alone."""
    inner: Any = node.items() if isinstance(node, dict) else enumerate(node[:1])
    for key, one in inner:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from places(one, (*path, key))


def test_there_is_an_instance_of_each_kind(instances: dict[str, Any]) -> None:
    assert {name.partition("-")[0] for name in instances} == set(SCHEMAS)
    assert instances.keys() >= OPTIONAL.keys()


def test_a_schema_fits_what_is_really_there(instances: dict[str, Any]) -> None:
    for name, one in instances.items():
        assert faults(name.partition("-")[0], one) == [], name


def test_a_key_that_is_missing_or_renamed_is_refused(instances: dict[str, Any]) -> None:
    for name, whole in instances.items():
        lacking = {key for key in whole if fits(name, {k: v for k, v in whole.items() if k != key})}
        assert lacking == set(OPTIONAL.get(name, "").split()) & whole.keys(), name
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


def test_a_result_without_a_point_or_the_use_of_its_machine_is_refused(
    instances: dict[str, Any],
) -> None:
    whole = instances["bench"]
    for key in ("mtu", "switch", "host", "stack"):
        options = {k: one for k, one in whole["options"].items() if k != key}
        assert not fits("bench", {**whole, "options": options}), key
    assert not fits("bench", {**whole, "points": []})
    assert not fits("bench", {**whole, "workload": "nothing"})


def test_what_a_command_prints_says_which_document_it_is_of_which_version(
    instances: dict[str, Any],
) -> None:
    for key, one in instances.items():
        if (name := key.partition("-")[0]) in ("calibrate", "import", "list", "reproduce", "show"):
            head = {"schema": f"hcasim-{name}", "version": 1, "hcasim": hc.__version__}
            assert list(one.items())[:3] == list(head.items())


def test_what_reproduce_and_run_say_tells_each_option(instances: dict[str, Any]) -> None:
    (scenario,) = instances["reproduce"]["scenarios"]
    assert scenario["series"][0]["options"]["mtu"] == 1500
    assert instances["run"]["series"][0] == scenario["series"][0]
