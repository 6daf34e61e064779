"""A Dask scheduler and its workers simulate what this machine would, and what fails is said."""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.runs import scheduler
from hcasim.runs.executor import WorkerDied, on_scheduler, run_points
from hcasim.runs.store import Store
from tests.clusters import Cluster, started
from tests.unit.runs.points import doing, told

FEW = dict.fromkeys(range(1, 21), "")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Cluster]:
    """A scheduler with two workers, which come back when they die."""
    with started(tmp_path_factory.mktemp("dask"), root, 2) as cluster:
        with on_scheduler(cluster.file), _waiting():
            # Both are there.
            while len({*told(_moments(cluster))}) < 2:
                pass
        yield cluster


@contextlib.contextmanager
def _waiting() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _moments(cluster: Cluster) -> Path:
    log = cluster.folder / "log"
    log.unlink(missing_ok=True)
    run_points(doing(log, FEW))
    return log


@pytest.mark.check
def test_the_same_table_comes_from_one_process_from_several_and_from_a_cluster(
    cluster: Cluster,
) -> None:
    ways: list[dict[str, Any]] = [{"jobs": 1}, {"jobs": 2}, {"scheduler": cluster.file}]
    address = json.loads(cluster.file.read_text())["address"]
    ways.append({"scheduler": address})
    tables = [
        hc.bench("window_bw", "liu2004", size="4..64K", cache=False, **way).to_dict()
        for way in ways
    ]
    for table in tables:
        del table["wall_seconds"]
    assert tables[1:] == tables[:1] * 3


def test_points_are_simulated_by_all_workers_and_none_here(
    cluster: Cluster, tmp_path: Path
) -> None:
    seen: list[int] = []
    with on_scheduler(cluster.file):
        run_points(doing(tmp_path / "log", FEW), progress=lambda done, _: seen.append(done))
    processes = told(tmp_path / "log")
    assert len(processes) == len(FEW)
    assert len({*processes}) == 2
    assert os.getpid() not in processes
    assert seen == list(range(len(FEW) + 1))


def test_a_worker_that_dies_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    points = doing(tmp_path / "log", {4096: "die 1"} | FEW)
    with on_scheduler(cluster.file):
        results = run_points(points)
    assert [results[one].row["size"] for one in points] == [one.options.size for one in points]
    assert len(told(tmp_path / "log", 4096)) == 2


def test_a_point_of_which_each_worker_dies_is_named(cluster: Cluster, tmp_path: Path) -> None:
    with on_scheduler(cluster.file), pytest.raises(WorkerDied, match="size 4096 died"):
        run_points(doing(tmp_path / "log", {4096: "die 99"}))
    assert len(told(tmp_path / "log", 4096)) == 2


def test_a_failure_of_a_point_is_passed_on(cluster: Cluster, tmp_path: Path) -> None:
    with on_scheduler(cluster.file), pytest.raises(ZeroDivisionError):
        run_points(doing(tmp_path / "log", {4096: "fail"} | FEW))


def test_workers_with_other_code_are_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "code_digest", lambda: "0123456789")
    with pytest.raises(CatalogError, match=r"other code, .*; allowed: .* process, 01234567"):
        hc.bench("window_bw", "liu2004", size=[4, 8], cache=False, scheduler=cluster.file)


@pytest.mark.check
def test_a_scheduler_without_workers_is_said_and_waited_for(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "COMING", 0.1)
    with started(tmp_path, root, 0) as alone, on_scheduler(alone.file):
        threading.Timer(1, alone.add_worker).start()
        with pytest.warns(UserWarning, match="has no workers yet; waiting"):
            assert len(run_points(doing(tmp_path / "log", FEW))) == len(FEW)


@pytest.mark.check
def test_a_lost_connection_is_said_and_what_was_finished_is_kept(
    tmp_path: Path, root: Path
) -> None:
    kept = Store(tmp_path / "kept", "")
    points = doing(tmp_path / "log", {4096: "sleep"} | FEW)
    with started(tmp_path, root, 2) as lost, on_scheduler(lost.file), _waiting():

        def end(done: int, total: int) -> None:
            if done == len(FEW):
                os.killpg(lost.processes[0].pid, signal.SIGKILL)

        with pytest.raises(CatalogError, match="the connection was lost"):
            run_points(points, store=kept, progress=end)
    assert len(kept.find(points)) == len(FEW)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("tcp://127.0.0.1:1", "where no scheduler answers: Connection refused"),
        ("tcp://127.0.0.1", "allowed: tcp://HOST:PORT, or the file that"),
        ("tcp://127.0.0.1:99999", "allowed: tcp://HOST:PORT, or the file that"),
        ("http://127.0.0.1:80", "allowed: tcp://HOST:PORT, or the file that"),
        ("127.0.0.1:8786", "which is no file; allowed: tcp://HOST:PORT, or the file that"),
        ("pyproject.toml", "which no scheduler has written; allowed: tcp://HOST:PORT"),
    ],
)
def test_an_address_where_no_scheduler_is_is_refused(address: str, told: str) -> None:
    with pytest.raises(CatalogError) as caught:
        hc.bench("window_bw", "liu2004", size=4, cache=False, scheduler=address)
    (fault,) = caught.value.faults
    assert fault.startswith(f"scheduler: found {address!r}")
    assert told in fault


@pytest.mark.parametrize(
    "said", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", (100).to_bytes(8, "little") + b"x"]
)
def test_another_server_is_told_from_a_scheduler(
    monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(scheduler, "ANSWER", 0.5)
    # Dask would wait, or take what it gets for a length and ask for so much memory.
    monkeypatch.setattr("distributed.Client", None)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(said)
                connection.recv(1)

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CatalogError, match="no greeting of Dask within"):
            hc.bench("window_bw", "liu2004", size=4, cache=False, scheduler=address)
        thread.join()


def test_a_worker_without_hcasim_is_told() -> None:
    error = Exception("ModuleNotFoundError(\"No module named 'hcasim'\")")
    with pytest.raises(CatalogError, match="a worker that cannot import hcasim"):
        scheduler.Scheduler("tcp://here:1").explain(error)


def test_processes_and_a_scheduler_contradict_each_other() -> None:
    with pytest.raises(CatalogError) as caught:
        hc.bench("window_bw", "liu2004", size=4, jobs=2, cache=False, scheduler="tcp://127.0.0.1:1")
    assert caught.value.faults == [
        "jobs: contradicts the scheduler, which has workers of its own; leave one out"
    ]


def test_without_dask_the_way_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CatalogError, match=r"pip install 'hcasim\[cluster\]'"):
        hc.bench("window_bw", "liu2004", size=4, cache=False, scheduler="tcp://127.0.0.1:1")
