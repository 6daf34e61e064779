"""Programs of MPI in a sweep, in place of benchmarks."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.runs import launch
from hcasim.runs.launch import Launches

PROGRAM = """
def main(comm, size="1024"):
    yield from comm.compute(1e-5)
    if comm.rank == 0:
        yield from comm.send(int(size), 1)
    elif comm.rank == 1:
        yield from comm.recv(int(size), 0)
"""
READING = """
import os
from pathlib import Path
import package

def main(comm):
    import helper
    steps = helper.N + package.N + int(Path("data.txt").read_text()) + len(os.listdir("steps"))
    try:
        steps += int(Path("late.txt").read_text())
    except FileNotFoundError:
        pass
    second = 1e-6
    yield from comm.compute((steps + int(os.environ["MORE"])) * second)
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


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a program has run, with a cache of its own; the current folder is its own, too."""
    monkeypatch.setenv("HCASIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    runs = []
    plain = launch.app
    monkeypatch.setattr(
        launch, "app", lambda *given, **more: (runs.append(1), plain(*given, **more))[1]
    )
    return runs


def sweep(file: str) -> float:
    (row,) = hc.sweep(file, "liu2004", ranks=2, jobs=1).rows
    return float(row["run_us"])


def test_what_is_kept_counts_while_all_that_was_read_is_the_same(
    tmp_path: Path, simulated: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the program read: itself, modules, data, names of files, and the environment."""
    monkeypatch.setenv("MORE", "0")
    (tmp_path / "package").mkdir()
    files = {"reading.py": READING, "helper.py": "N = 1", "package/__init__.py": "N = 1"}
    files |= {"data.txt": "1", "steps/1": ""}
    (tmp_path / "steps").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    us = sweep("reading.py")
    changes: list[Callable[[], object]] = [
        lambda: (tmp_path / "reading.py").write_text(READING.replace("= 1e-6", "= 2e-6")),
        lambda: (tmp_path / "helper.py").write_text("N = 2"),
        lambda: (tmp_path / "package" / "__init__.py").write_text("N = 2"),
        lambda: (tmp_path / "data.txt").write_text("2"),
        lambda: (tmp_path / "steps" / "2").touch(),
        lambda: monkeypatch.setenv("MORE", "1"),
        lambda: (tmp_path / "late.txt").write_text("1"),
    ]
    for number, change in enumerate(changes, start=1):
        assert sweep("reading.py") == us
        assert len(simulated) == number
        change()
        (tmp_path / f"other{number}.py").write_text("beside it, but never opened")
        before, us = us, sweep("reading.py")
        assert us > before, number
    assert "helper" not in sys.modules


def test_a_trace_counts_by_its_own_files(tmp_path: Path, simulated: list[int]) -> None:
    for name, text in {"all.txt": "a\nb\n", "a": "0 send 1 0 8\n", "b": "1 recv 0 0 8\n"}.items():
        (tmp_path / name).write_text(text)
    first = sweep("all.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    assert (sweep("all.txt"), len(simulated)) == (first, 1)
    (tmp_path / "a").write_text("0 sleep 1\n0 send 1 0 8\n")
    assert sweep("all.txt") > 1e6


@pytest.mark.parametrize(
    "does",
    [
        "open('/dev/urandom').close()",
        "open('log', 'w').close()",
        "import socket; socket.socket().close()",
    ],
)
def test_what_cannot_be_known_or_done_again_is_not_kept(
    tmp_path: Path, simulated: list[int], does: str
) -> None:
    (tmp_path / "doing.py").write_text(
        f"def main(comm):\n    {does}\n    yield from comm.barrier()"
    )
    sweep("doing.py")
    sweep("doing.py")
    assert len(simulated) == 2


def test_the_files_of_a_program_are_read_once_and_found_from_another_folder(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    plain = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: read.append(self) or plain(self))
    launches, machine = Launches(), hc.machine("liu2004", mpi=True)
    for ranks in (2, 3, 4):
        assert launches.read(file, machine, {"ranks": ranks}).key.startswith("app ")
    assert read.count(file) == 1
    monkeypatch.chdir(file.parent)
    launch = Launches().read(file.name, machine, {"ranks": 2})
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
