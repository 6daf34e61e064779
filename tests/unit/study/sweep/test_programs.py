"""Programs of MPI in a sweep, in place of benchmarks."""

from pathlib import Path
from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.runs import program as programs
from hcasim.runs.machine import each_machine_once
from hcasim.runs.program import read_launch

PROGRAM = """
def main(comm, size="1024"):
    yield from comm.compute(1e-5)
    if comm.rank == 0:
        yield from comm.send(int(size), 1)
    elif comm.rank == 1:
        yield from comm.recv(int(size), 0)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(PROGRAM)
    return file


@pytest.mark.check
def test_a_kernel_has_the_times_that_app_gives() -> None:
    found = hc.sweep("is.S", "sur2005", ranks=[2, 4], jobs=1, cache=False)
    assert found.axes == ("ranks",)
    assert found.fields == ("run_us", "compute_us", "mpi_us", "wait_us")
    for row in found.rows:
        once = hc.app("is.S", "sur2005", row["ranks"])
        assert row["run_us"] == pytest.approx(1e6 * once.seconds)
        assert row["wait_us"] == pytest.approx(1e6 * once.wait_seconds)
        assert row["run_us"] == pytest.approx(row["compute_us"] + row["mpi_us"], rel=0.05)
    assert found.to_xarray().run_us.sel(ranks=4) < found.to_xarray().run_us.sel(ranks=2)


def test_a_file_varies_in_its_arguments_and_the_machine(file: Path) -> None:
    found = hc.sweep(
        str(file),
        "liu2004",
        ranks=2,
        arguments=["1024", "1048576"],
        overrides={"host.memory.read_latency": ["450 ns", "2 us"]},
        jobs=2,
        cache=False,
    )
    runs = [row["run_us"] for row in found.rows]
    assert len({*runs}) == 4
    assert runs[2] > 100 + runs[0]
    assert all(row["compute_us"] == 10 for row in found.rows)
    assert [row["arguments"] for row in found.rows] == ["1024", "1024", "1048576", "1048576"]


def test_a_file_is_run_each_time_and_a_kernel_is_kept(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCASIM_CACHE", str(tmp_path / "cache"))
    runs: list[object] = []
    plain = programs.app
    monkeypatch.setattr(programs, "app", lambda *a, **more: runs.append(a[0]) or plain(*a, **more))
    for program in (str(file), "is.S"):
        rows = [hc.sweep(program, "liu2004", ranks=2, jobs=1).rows for _ in range(2)]
        assert rows[0] == rows[1]
    assert runs == [str(file), str(file), "is.S"]


def test_the_files_of_a_program_are_read_once_and_found_from_another_folder(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    plain = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: read.append(self) or plain(self))
    machine = hc.machine("liu2004", mpi=True)
    with each_machine_once():
        for ranks in (2, 3, 4):
            assert read_launch(file, machine, {"ranks": ranks}).key.startswith("app ")
    assert read.count(file) == 1
    monkeypatch.chdir(file.parent)
    launch = read_launch(file.name, machine, {"ranks": 2})
    assert launch.title == "mine.py with 2 ranks"
    monkeypatch.chdir("/")
    assert launch.run().row["run_us"] > 10


def test_a_run_that_goes_wrong_is_refused_while_the_others_go_on(file: Path) -> None:
    file.write_text(PROGRAM.replace("comm.rank == 0", "comm.size == 2 and comm.rank == 0"))
    found = hc.sweep(str(file), "liu2004", ranks=[2, 3], jobs=1, cache=False)
    assert "run_us" in found.rows[0]
    assert "error" in found.rows[1]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "ranks: found none; allowed: how many processes is.S has"),
        ({"ranks": 0}, "ranks: found 0; allowed: a whole number of 1 or more"),
        ({"ranks": 1000}, "ranks: found 1000; allowed: 1 to"),
        ({"ranks": 2, "size": 8}, "size: is.S has no such option; it has ranks, ppn, map_by"),
        ({"ranks": 2, "map_by": "blok"}, "did you mean 'block'?"),
        ({"ranks": 2, "rate": "2 Gop/s"}, "rate: has no meaning for is.S"),
        ({"ranks": 2, "arguments": "'"}, 'arguments: found "\'": No closing quotation'),
        ({"ranks": 2, "workload": "is.Q"}, "class: found 'Q'; allowed: S, W, A, B or C"),
        ({"ranks": 2, "workload": "none.py"}, "none.py: cannot be read: no such file"),
        ({"ranks": 2, "workload": "write_lat"}, "ranks: write_lat has no such option"),
    ],
)
def test_what_cannot_be_started_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        hc.sweep(given.pop("workload", "is.S"), "sur2005", **given)
    assert any(fault in one for one in caught.value.faults), caught.value.faults
