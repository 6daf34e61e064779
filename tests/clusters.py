"""A scheduler of Dask and its workers, on this machine."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Cluster:
    """Processes of Dask on the loopback interface."""

    folder: Path
    root: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "scheduler.json"

    def start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        words = ("--scheduler-file", str(self.file), "--no-dashboard", *words)
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", *words],
            cwd=self.folder,
            env={**os.environ, **SETTINGS, "PYTHONPATH": str(self.root)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def add_worker(self) -> None:
        self.start("worker", "--nthreads", "1", "--host", "127.0.0.1")

    def end(self) -> None:
        for process in self.processes[::-1]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


SETTINGS = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}


@contextlib.contextmanager
def started(folder: Path, root: Path, workers: int) -> Iterator[Cluster]:
    cluster = Cluster(folder, root)
    try:
        cluster.start("scheduler", "--host", "127.0.0.1", "--port", "0")
        for _ in range(workers):
            cluster.add_worker()
        while not cluster.file.exists():
            time.sleep(0.05)
        yield cluster
    finally:
        cluster.end()
