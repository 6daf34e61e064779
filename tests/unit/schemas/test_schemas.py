"""The JSON Schemas in the package are those of the classes, and fit what is really there."""

import json
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pydantic
import pytest
from jsonschema import Draft202012Validator

import hcasim as hc
from hcasim.catalog import MODELS, CatalogError, data_path
from hcasim.papers.report import reproduce
from hcasim.runs.simulated_trace import to_trace
from hcasim.schemas import SCHEMAS, schema
from hcasim.schemas.making import made
from hcasim.traces import read_trace, render
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


def test_the_schemas_in_the_package_are_those_of_the_classes() -> None:
    for name in SCHEMAS:
        shipped = schema(name)
        Draft202012Validator.check_schema(shipped)
        by = shipped.pop("$comment").rpartition(" ")[2]
        if by.split(".")[:2] != pydantic.VERSION.split(".")[:2]:
            pytest.skip(f"{name} was made with pydantic {by}, which may write it otherwise")
        new = json.loads(json.dumps(made(name)))
        del new["$comment"]
        assert shipped == new, f"{name}: run: make schemas"


def test_each_schema_has_a_file_and_an_unknown_one_is_answered_with_the_nearest() -> None:
    folder = Path(hc.schema.__code__.co_filename).parent
    assert sorted(file.stem for file in folder.glob("*.json")) == sorted(SCHEMAS)
    with pytest.raises(CatalogError, match="did you mean 'adapter'"):
        hc.schema("adapters")


def test_each_file_of_the_catalogue_fits_its_schema() -> None:
    for name, file in FILES:
        table = tomllib.loads(file.read_text())
        assert faults(name, table) == [], file
        assert faults(name, {**table, "extra": 1}), file


OF_ONE = {"reg_mr": "rashti2007", "host_memory": "sur2005", "nvmf_read": "nvmf"}
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


def test_a_simulated_trace_fits_its_schema_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "lat.jsonl"
    file.write_text(render(to_trace(hc.bench("write_lat", "liu2004", size=[8, 64], jobs=1))))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["record"] for line in lines] == ["header", "point", "point", "end"]
    for line in lines:
        assert faults("trace", line) == []
        assert faults("trace", {**line, "extra": 1})
        assert faults("trace", {key: one for key, one in line.items() if key != "record"})
    assert len(read_trace(file).points) == 2


def test_what_reproduce_and_run_say_fits_their_schemas_and_tells_each_option() -> None:
    report = reproduce(["rashti2007/fig4"], jobs=1)
    found = json.loads(json.dumps(report.to_dict()))
    assert faults("reproduce", found) == []
    assert (found["schema"], found["version"]) == ("hcasim-reproduce", 1)
    (scenario,) = found["scenarios"]
    assert scenario["series"][0]["options"]["mtu"] == 1500
    run = json.loads(json.dumps(report.replays[0].to_dict()))
    assert faults("run", run) == []
    shared = {key: one for key, one in run["series"][0].items() if key != "rows"}
    assert shared == scenario["series"][0]
