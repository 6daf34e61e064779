"""Traces of a software adapter go through the command line: imported, fitted, used.

No model describes a software adapter in an emulated machine, and a fit to it has to say so.
"""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from hcasim.calibrate.file.reading import read_calibration
from hcasim.traces import read_trace

pytestmark = pytest.mark.check

LIMIT_S = 300
"""Of each command; a fit takes some 10 s."""
FREE = ("--free", "adapter.send.latency", "--free", "adapter.responder.latency")
MTU = ("--mtu", "2048")
"""The guest's link carries 4096 bytes, which the adapter of liu2004 cannot."""
QUICK = ("--intervals", "linear", "-j", "2")
DIFFERENT = [
    "every.jsonl: transport: found roce; mt25208 speaks infiniband",
    "every.jsonl: link: found ethernet; that of liu2004 is infiniband",
]
SOFTWARE = "every.jsonl: rxe0 is software: what is fitted says nothing of an adapter"
LEFT_OUT = ["left out 2 points of post_cost: this workload is not simulated"]
OPAQUE = "the model does not describe these curves: its parameters say little of the machine"


def hcasim(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does, in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "hcasim", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


@pytest.fixture
def folder(results: Path, tmp_path: Path) -> Path:
    """A folder with the traces of the guest and nothing else."""
    for trace in results.glob("*.jsonl"):
        (tmp_path / trace.name).write_bytes(trace.read_bytes())
    return tmp_path


def fit(*words: str, trace: str = "every") -> tuple[str, ...]:
    """A fit of two parameters to a trace."""
    return ("calibrate", f"{trace}.jsonl", "--testbed", "liu2004", *FREE, *QUICK, *words)


def test_import_shows_every_point_of_a_trace_and_what_failed(folder: Path) -> None:
    for name in ("every", "faults"):
        shown = hcasim("import", f"{name}.jsonl", cwd=folder)
        assert (shown.returncode, "incomplete" in shown.stderr) == (0, False)
        heading, *lines = shown.stdout.splitlines()
        assert heading == f"{name}.jsonl: hcasim-probes 1, rxe0 over roce"
        trace = read_trace(folder / f"{name}.jsonl")
        rows = [(one.workload, str(one.options["size"])) for one in trace.points]
        found = {tuple(line.split()[:2]) for line in lines}
        assert found >= {*rows, *(("Failed:", f"{one.workload}:") for one in trace.failures)}
        failed = [f"Failed: {one.workload}: {one.error}" for one in trace.failures]
        assert lines[len(lines) - len(failed) :] == failed


@pytest.mark.parametrize("name", ["every", "by_hand", "faults", "ended-INT"])
def test_an_imported_trace_is_the_one_that_the_probes_wrote(name: str, folder: Path) -> None:
    done = hcasim("import", f"{name}.jsonl", "-o", "again.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    ended = "Note: incomplete: SIGINT" in done.stderr.splitlines()
    assert ended == name.startswith("ended")
    file = folder / f"{name}.jsonl"
    written, again = read_trace(file), read_trace(folder / "again.jsonl")
    source = f"{file.name} {sha256(file.read_bytes()).hexdigest()}"
    assert again.header == written.header.model_copy(update={"source": source})
    assert (again.points, again.failures) == (written.points, written.failures)
    assert again.end == written.end


def test_a_fit_to_a_software_adapter_ends_and_says_that_it_means_little(folder: Path) -> None:
    words = fit(*MTU, "--allow-mismatch", "-o", "rxe.toml", "--report", "rxe.html")
    done = hcasim(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {*DIFFERENT, SOFTWARE, *LEFT_OUT, OPAQUE} <= {*done.stdout.splitlines()}
    assert OPAQUE in (folder / "rxe.html").read_text()
    found = read_calibration(folder / "rxe.toml").made
    assert found.notes == (*DIFFERENT, SOFTWARE, *LEFT_OUT)
    # Each point that is not left out; registration and deregistration are two.
    points = read_trace(folder / "every.jsonl").points
    counted = {"post_cost": 0, "reg_mr": 2}
    assert found.observations == sum(counted.get(one.workload, 1) for one in points)

    bench = ("bench", "write_lat", "--testbed", "liu2004", "--size", "8", "--json")
    fitted = hcasim(*bench, "--calibration", "rxe.toml", cwd=folder)
    assert fitted.returncode == 0, fitted.stderr
    assert json.loads(fitted.stdout)["rows"][0]["latency_us"] > 0


OTHER = "the traces were taken on another machine; see also --allow-mismatch"


@pytest.mark.parametrize(
    ("trace", "words", "said"),
    [
        ("every", (), [f"Error: {line}" for line in (*DIFFERENT, OTHER)]),
        ("faults", ("--allow-mismatch",), ["faults.jsonl: 16 points of it could not be measured"]),
    ],
)
def test_what_nothing_can_be_fitted_to_is_refused_without_a_file(
    folder: Path, trace: str, words: tuple[str, ...], said: list[str]
) -> None:
    before = sorted(folder.iterdir())
    output = ("-o", "rxe.toml", "--report", "rxe.html")
    done = hcasim(*fit(*MTU, *words, *output, trace=trace), cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert [one for one in said if one not in done.stderr] == []
    assert sorted(folder.iterdir()) == before
