"""Finished points are kept on disk and come back as they were, or count for nothing."""

import os
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hcasim.workloads
from hcasim.catalog import Machine, resolve
from hcasim.papers.replay import replay
from hcasim.runs import store as store_module
from hcasim.runs.executor import run_points
from hcasim.runs.point import Point
from hcasim.runs.store import Store, code_digest, tidy, usual_folder
from hcasim.workloads import Options, Result
from tests.unit.conftest import formula

Simulated = Callable[[], list[Any]]
POINT = Point("write_lat", resolve("liu2004"), Options(size=8))
RESULT = Result({"size": 8, "latency_us": 0.1 + 0.2}, {"misses": 3}, {"stages": [{"us": 1.0}]})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "points", "code")


@pytest.fixture
def own_cache(simulated: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own, in front of a simulation that takes no time."""
    monkeypatch.setenv("HCASIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "points"


def test_a_result_comes_back_to_the_last_digit(store: Store) -> None:
    assert store.find([POINT]) == {}
    store.keep(POINT, RESULT)
    assert store.find([POINT]) == {POINT: RESULT}
    assert repr(store.find([POINT])[POINT].row) == repr(RESULT.row)
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_another_code_machine_workload_or_option_has_another_result(store: Store) -> None:
    store.keep(POINT, RESULT)
    others = [
        replace(POINT, workload="send_lat"),
        replace(POINT, machine=resolve("liu2004", overrides={"adapter.bus.lanes": "4"})),
        replace(POINT, options=replace(POINT.options, size=16)),
        replace(POINT, options=replace(POINT.options, explain=True)),
    ]
    assert store.find(others) == {}
    assert Store(store.folder, "other code").find([POINT]) == {}
    assert store.find([replace(POINT, machine=resolve("liu2004"))]) == {POINT: RESULT}


def test_every_floor_that_a_benchmark_stands_on_tells_one_code_from_another(root: Path) -> None:
    floors = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    (order,) = (
        one["layers"]
        for one in floors["tool"]["importlinter"]["contracts"]
        if one.get("containers") == ["hcasim"]
    )
    below = set(order[order.index("workloads") :]) - {"traces", "pages"}
    assert {*store_module.SIMULATOR, *store_module.BELOW} == below


@pytest.mark.parametrize("field", ["row", "counters", "breakdown"])
@pytest.mark.parametrize("value", [(1, 2), {1: 2}, float("nan"), object()])
def test_what_json_would_change_is_not_kept(store: Store, field: str, value: Any) -> None:
    store.keep(POINT, Result(**{"row": {}, field: {"value": value}}))
    assert store.find([POINT]) == {}


def damages() -> dict[str, Callable[[bytes], bytes]]:
    return {
        "altered digit": lambda data: data.replace(b"0.3", b"0.4"),
        "cut off": lambda data: data[:-5],
        "no text": lambda data: b"\xff\xfe" + data,
        "of another name": lambda data: f"{store_module._sum('x', '{}')}\n{{}}".encode(),
    }


@pytest.mark.parametrize("damage", damages())
def test_a_damaged_entry_counts_for_nothing_and_is_replaced(store: Store, damage: str) -> None:
    store.keep(POINT, RESULT)
    (file,) = store.folder.iterdir()
    data = file.read_bytes()
    file.write_bytes(damages()[damage](data))
    assert file.read_bytes() != data
    assert store.find([POINT]) == {}
    store.keep(POINT, RESULT)
    assert file.read_bytes() == data


def test_a_folder_that_cannot_be_made_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "points", "code")
    store.keep(POINT, RESULT)
    assert store.find([POINT]) == {}


def test_what_was_not_used_for_longest_is_removed_first(tmp_path: Path) -> None:
    for number in range(10):
        file = tmp_path / (64 * str(number))
        file.write_bytes(b"x" * 5000)
        os.utime(file, (number, number))
    tidy(tmp_path, most=10 * 8192)
    assert len(list(tmp_path.iterdir())) == 10
    tidy(tmp_path, most=9 * 8192)
    assert {file.name[0] for file in tmp_path.iterdir()} == {"6", "7", "8", "9"}


def test_nothing_but_entries_is_removed_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / (64 * "a")).mkdir()
    for name in ("thesis.tex", 63 * "a", 64 * "A"):
        (tmp_path / name).write_bytes(b"x" * 5000)
    (tmp_path / (64 * "b")).symlink_to(tmp_path / "thesis.tex")
    before = sorted(tmp_path.iterdir())
    tidy(tmp_path, most=0)
    assert sorted(tmp_path.iterdir()) == before


def test_a_store_is_bounded_and_reading_counts_as_use(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [replace(POINT, options=replace(POINT.options, size=1 << n)) for n in range(8)]
    for point in points:
        store.keep(point, RESULT)
    for file in store.folder.iterdir():
        os.utime(file, (1, 1))
    assert len(store.find(points[:2])) == 2
    monkeypatch.setattr(store_module, "MOST", 5 * 4096)
    monkeypatch.setattr(store_module.tidy, "__defaults__", (5 * 4096,))
    Store(store.folder, "code").keep(POINT, RESULT)
    assert set(points[:2]) <= set(store.find(points))
    assert len(list(store.folder.iterdir())) <= 4


@pytest.mark.parametrize(
    ("set_", "folder"),
    [
        ({"HCASIM_CACHE": "/a/b"}, "/a/b"),
        ({"HCASIM_CACHE": ""}, None),
        ({"XDG_CACHE_HOME": "/x"}, "/x/hcasim"),
        ({"XDG_CACHE_HOME": "x"}, "/home/me/.cache/hcasim"),
        ({}, "/home/me/.cache/hcasim"),
    ],
)
def test_the_folder_is_that_of_the_environment_or_the_users_own(
    monkeypatch: pytest.MonkeyPatch, set_: dict[str, str], folder: str | None
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("HCASIM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **set_}.items():
        monkeypatch.setenv(name, value)
    assert usual_folder() == (None if folder is None else Path(folder))


def test_the_digest_of_the_code_changes_with_any_file_that_makes_numbers(
    tmp_path: Path,
) -> None:
    """A copy of the package that differs in one line has another digest."""
    package, ignored = Path(hcasim.__file__).parent, shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "hcasim", ignore=ignored)
    asked = "from hcasim.runs.store import code_digest; print(code_digest())"

    def digest() -> str:
        done = subprocess.run(
            [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert digest() == code_digest()
    seen = {code_digest()}
    for name in ("engine/clock.py", "workloads/latency.py", "catalog/adapter.py"):
        with (tmp_path / "hcasim" / name).open("a") as stream:
            stream.write("# another\n")
        seen.add(digest())
    assert len(seen) == 4


def test_a_repeated_replay_simulates_nothing_and_gives_the_same(
    simulated: Simulated, own_cache: Path
) -> None:
    first = replay("liu2004/fig03", jobs=1)
    count = len(simulated())
    assert len(list(own_cache.iterdir())) == count
    again = replay("liu2004/fig03", jobs=2)
    assert len(simulated()) == count
    assert again.curves == first.curves
    fresh = replay("liu2004/fig03", jobs=1, cache=False)
    assert len(simulated()) == 2 * count
    assert fresh.curves == first.curves


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_run_goes_on_where_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    machine = resolve("liu2004")
    points = [Point("write_lat", machine, Options(size=1 << n)) for n in range(6)]
    interrupted = True
    record = store.folder.parent / "sizes"

    def run(name: str, machine: Machine, options: Options, listen: Any) -> Result:
        if interrupted and options.size == 1:
            raise KeyboardInterrupt
        with record.open("a") as stream:
            stream.write(f"{options.size}\n")
        return formula(name, machine, options)

    monkeypatch.setattr(hcasim.workloads, "run_point", run)
    # The shortest comes last.
    with pytest.raises(KeyboardInterrupt):
        run_points(points, workers=1, store=store)
    interrupted = False
    seen: list[tuple[int, int]] = []
    found = run_points(points, workers=workers, store=store, progress=lambda *n: seen.append(n))
    assert seen[0] == (5, 6)
    assert sorted(map(int, record.read_text().split())) == [1, 2, 4, 8, 16, 32]
    assert {job: one.row for job, one in found.items()} == {
        job: formula(job.workload, machine, job.options).row for job in points
    }


@pytest.mark.parametrize("workload", ["write_lat", "window_bw", "host_memory", "reg_mr", "scatter"])
def test_real_results_can_be_kept(store: Store, workload: str) -> None:
    usual = hcasim.workloads.WORKLOADS[workload].defaults
    few = replace(usual, size=64, iters=3, warmup=1, explain=True)
    point = Point(workload, resolve("sur2005", firmware_mode="memfree"), few)
    result = point.run()
    store.keep(point, result)
    assert store.find([point]) == {point: result}
