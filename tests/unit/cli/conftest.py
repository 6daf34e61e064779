"""The command line as a user meets it: a process with output, messages and an exit code."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import pytest

import hcasim.workloads
from hcasim.catalog import Machine
from hcasim.cli import main
from hcasim.engine import Probe, Simulator
from hcasim.runs import executor
from hcasim.runs.benchmark import bench
from hcasim.runs.foreign import to_trace
from hcasim.traces import render
from hcasim.workloads import Options, Result
from tests.unit.cli.fits import SIZES, TRUTH


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    output: str
    messages: str

    @property
    def json(self) -> Any:
        """The document that was printed."""
        return json.loads(self.output)

    @property
    def faults(self) -> list[str]:
        """The messages of a refused command, without the word Error."""
        assert self.code == 2
        assert self.output == ""
        assert "Traceback" not in self.messages
        return [line.removeprefix("Error: ") for line in self.messages.splitlines()]


Hcasim = Callable[..., Outcome]


@pytest.fixture
def hcasim_(capfd: pytest.CaptureFixture[str]) -> Hcasim:
    """Run a command in this process."""

    def run(*words: str) -> Outcome:
        # An interrupted command ignores further ones; here the process lives on.
        ending = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
        before = {one: signal.getsignal(one) for one in ending}
        with pytest.raises(SystemExit) as caught:
            main(words)
        for one, handler in before.items():
            signal.signal(one, handler)
        printed = capfd.readouterr()
        assert isinstance(caught.value.code, int)
        return Outcome(caught.value.code, printed.out, printed.err)

    return run


@pytest.fixture
def usual_signals() -> Iterator[None]:
    """Answers to signals as a command finds them; in the background a shell ignores SIGINT."""
    usual = {signal.SIGHUP: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL}
    usual |= {signal.SIGINT: signal.default_int_handler}
    before = {one: signal.signal(one, answer) for one, answer in usual.items()}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.fixture
def process(root: Path) -> Hcasim:
    """Run a command in a process of its own, with what `subprocess.run` takes."""

    def run(*words: str, **more: Any) -> Outcome:
        settings = {"cwd": root, "stdout": subprocess.PIPE, "text": True} | more
        done = subprocess.run(
            [sys.executable, "-m", "hcasim", *words],
            stderr=subprocess.PIPE,
            check=False,
            **settings,
        )
        return Outcome(done.returncode, done.stdout or "", done.stderr)

    return run


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the simulation by constant results."""

    def run(name: str, machine: Machine, options: Options, listen: Any = None) -> Result:
        if listen is not None:
            sim = Simulator()
            listen(sim)
            Probe(sim, "node0.hca").event("doorbell", 1, "qp 1", 1000)
        known = hcasim.workloads.WORKLOADS[name]
        fields = known.fields
        values = {"latency_us": 4.0, "bandwidth_MBps": 1048.576, "rate_Mps": 0.5}
        values |= {"throughput_Mbps": 8000.0, "run_s": 1.5, "communication_s": 0.5}
        told = ("size", "qps")
        if known.mpi:
            told = tuple(one for one in ("size", "nodes", "processes") if one in known.options)
        row = {one: getattr(options, one) for one in told} | {f: values[f] for f in known.fields}
        breakdown: dict[str, Any] = {}
        if options.explain and "latency_us" in fields:
            breakdown = {"stages": [{"stage": "post_send", "us": 4.0}], "total_us": 4.0}
        elif options.explain:
            idle = {"name": "icm", "busy": 0.0001}
            busy = [{"name": "tags", "waited": 0.25}, idle, {"name": "bus", "busy": 1.0}]
            breakdown = {"binds": "bus", "resources": busy}
        counters = {"sqpc_access_cnt": 4, "sqpc_miss_cnt": 1, "sqpc_wait_ps": 2_500_000}
        return Result(row, counters, breakdown)

    monkeypatch.setattr(hcasim.workloads, "run_point", run)
    # Workers would simulate what is long.
    monkeypatch.setattr(executor, "FIRST", inf)
    monkeypatch.setenv("HCASIM_CACHE", "")


@pytest.fixture(scope="session")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of traces without noise."""
    folder = tmp_path_factory.mktemp("traces")
    for workload, sizes in SIZES.items():
        few = {"iters": 10, "warmup": 2, "window": 8} if workload == "window_bw" else {}
        trace = to_trace(bench(workload, "liu2004", size=sizes, overrides=TRUTH, **few))
        (folder / f"{workload}.jsonl").write_text(render(trace))
    return folder


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def words(exact: Path, in_empty_folder: Path) -> list[str]:
    """The words of a fit that goes to an empty folder."""
    return ["calibrate", *map(str, sorted(exact.iterdir())), "--testbed", "liu2004", "-j", "1"]
