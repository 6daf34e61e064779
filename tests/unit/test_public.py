"""What a notebook gets from `import hcasim as hc`."""

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import data_path
from hcasim.runs.foreign import to_trace
from hcasim.workloads.options import OPTIONS


def test_each_name_is_there_is_listed_and_has_a_line_of_its_own() -> None:
    for name in hc.__all__:
        assert getattr(hc, name).__doc__
        assert name in dir(hc)
        assert f"    hc.{name}" in (hc.__doc__ or "")


def test_help_tells_of_each_name() -> None:
    shown = pydoc.plain(pydoc.render_doc(hc))
    assert all(name in shown for name in hc.__all__)
    assert "machine = resolve(" in shown


def results() -> Iterator[Any]:
    bench = hc.bench("write_lat", "liu2004", size=[8, 64], overrides={"adapter.bus.lanes": 4})
    run = hc.run("liu2004/fig03", x=[8])
    yield from (bench, bench.machine, bench.machine.adapter, bench.curve)
    yield from (run, run.scenario, run.scenario.claims[0], run["pcie"])
    report = hc.reproduce("liu2004/fig03")
    yield from (
        report,
        report.verdicts[0],
        hc.calibration(data_path("calibration", "fits", "liu2004.toml")),
    )
    yield to_trace(bench)


@pytest.mark.usefixtures("simulated")
def test_a_result_is_one_short_line_and_a_table_in_a_notebook() -> None:
    for one in results():
        assert re.fullmatch(r"[A-Z]\w+\(.*\)", repr(one)), repr(one)
        assert repr(one) == str(one)
        assert len(repr(one)) < 100, repr(one)
        if type(one).__name__ not in ("Adapter", "Scenario", "Claim", "Verdict"):
            assert "<table>" in one._repr_html_()
    assert repr(next(results())) == (
        "Benchmark('write_lat', testbed='liu2004', adapter='mt25208', points=2)"
    )


def test_what_runs_points_takes_all_processors_unless_told() -> None:
    for name in ("bench", "run", "reproduce"):
        parameter = inspect.signature(getattr(hc, name)).parameters["jobs"]
        assert parameter.default is None, name


def test_help_of_bench_names_each_option() -> None:
    shown = pydoc.plain(pydoc.render_doc(hc.bench))
    assert [name for name in OPTIONS if not re.search(rf"\b{name}\b", shown)] == []


def test_what_is_not_there_is_said_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'hcasim' has no attribute 'benhc'"):
        _ = hc.benhc


def test_the_package_imports_nothing_until_it_is_asked(root: Path) -> None:
    code = "import sys, hcasim; print(*(one for one in sys.modules if 'hcasim.' in one))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_files_may_be_named_by_their_path_objects(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('id = "mine"\ntitle = "Mine"\nbased_on = "mt25208"\n')
    assert hc.machine("liu2004", adapter=file).adapter.id == "mine"
    found = hc.bench(
        "write_lat", data_path("models") / "testbeds/liu2004.toml", adapter=file, size=8
    )
    assert found.machine.id == "liu2004"
