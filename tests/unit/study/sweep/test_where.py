"""A sweep gives one table wherever it is simulated, and loses nothing that was finished."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hcasim as hc
from tests.clusters import started

LATENCY = "host.memory.read_latency"
POINTS = 12
STUDY = (
    *("sweep", "write_lat", "--testbed", "liu2004", "--size", "8,64,4K", "--iters", "400"),
    *("--exact", "--set", f"{LATENCY}=100 ns..400 ns+100 ns", "-j", "2", "--json"),
)


@pytest.mark.check
def test_one_process_several_and_a_cluster_make_the_same_table(tmp_path: Path, root: Path) -> None:
    with started(tmp_path, root, 2) as cluster:
        ways = ({"jobs": 1}, {"jobs": 2}, {"scheduler": cluster.file})
        tables = [
            hc.sweep(
                *("write_lat", "liu2004"),
                size="8,64,1K",
                qps=[1, 2],
                overrides={LATENCY: "x1,x2"},
                cache=False,
                **way,  # type: ignore[arg-type]
            )
            for way in ways
        ]
    assert len(tables[0].rows) == 12
    assert tables[1:] == tables[:1] * 2


@pytest.mark.check
def test_a_sweep_that_was_killed_repeats_nothing_that_was_finished(
    tmp_path: Path, root: Path
) -> None:
    def begun() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "hcasim", *STUDY],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root), "HCASIM_CACHE": str(tmp_path / "kept")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def finished() -> bytes:
        with begun() as process:
            return process.communicate()[0]

    def kept() -> dict[str, int]:
        folder = tmp_path / "kept" / "points"
        every = [*folder.iterdir()] if folder.exists() else []
        # A name as long as a hash is of a finished point; others are being written.
        return {one.name: one.stat().st_ino for one in every if len(one.name) == 64}

    with begun() as killed:
        while len(kept()) < 3:
            assert killed.poll() is None
            time.sleep(0.01)
        os.killpg(killed.pid, signal.SIGKILL)
    before = kept()
    assert 3 <= len(before) < POINTS
    output = finished()
    after = kept()
    assert len(after) == POINTS
    assert {name: after[name] for name in before} == before
    assert finished() == output
    assert len(json.loads(output)["rows"]) == POINTS
