"""bench writes what NetPIPE writes, draws it, and leaves nothing half-written."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcasim.traces.netpipe import write_netpipe, write_np_out
from hcasim.traces.simulated import Run
from hcasim.workloads.netpipe import netpipe_ladder
from tests.unit.cli.conftest import Hcasim

BEN = ("bench", "netpipe", "--testbed", "benjegerdes2004")
invented = pytest.mark.usefixtures("invented")


def measured(size: int, mbps: float, seconds: float) -> dict[str, Any]:
    return {"size": size, "throughput_Mbps": mbps, "latency_us": seconds * 1e6}


def run_of(rows: list[dict[str, Any]], iters: int = 1) -> Run:
    words = dict.fromkeys(("workload", "hcasim", "adapter", "machine", "transport", "link"), "x")
    return Run(**words, mtu=1024, axes=(), options={"iters": iters}, rows=rows, changed=[])


def test_lines_are_those_of_real_runs() -> None:
    # np.out in jli111/ompi on GitHub, at 15f792b.
    rows = [measured(1, 0.276301, 0.00002761), measured(1572864, 4500.921796, 0.00266612)]
    assert [*write_np_out(run_of(rows))][-2:] == [
        "       1 0.276301   0.00002761",
        " 1572864 4500.921796   0.00266612",
    ]
    # NPtcp over an e1000, linux-kernel mailing list, 25 May 2004.
    rows = [measured(size, 1.0, 1.0) for size in netpipe_ladder()]
    rows[121] = measured(8388605, 379.88, 0.16847449)
    line = "121: 8388605 bytes      3 times -->    379.88 Mbps in  168474.49 usec"
    assert line in write_netpipe(run_of(rows, 3))


@invented
def test_numpy_reads_np_out_back(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "np.out"
    found = hcasim_(*BEN, "-j", "1", "-o", str(file), "--format", "netpipe")
    assert (found.code, found.messages) == (0, f"Wrote {file}\n")
    size, mbps, seconds = np.loadtxt(file, unpack=True)
    assert tuple(size) == netpipe_ladder()
    assert len([one for one in found.output.splitlines() if one[0] != "#"]) == len(size)
    assert ({*mbps}, {*seconds}) == ({8000.0}, {4e-6})
    assert file.read_text().startswith("# simulated: benjegerdes2004, adapter mt23108, stack ")


def test_what_np_out_says_is_what_was_measured(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "np.out"
    rows = hcasim_(*BEN, "--size", "1,4K", "--output", str(file), "--json").json["rows"]
    for row, (size, mbps, seconds) in zip(rows, np.loadtxt(file), strict=True):
        assert row["size"] == size
        assert seconds == pytest.approx(row["latency_us"] / 1e6, abs=0.5001e-8, rel=0)
        assert mbps == pytest.approx(8 * size / 2**20 / (row["latency_us"] / 1e6), rel=1e-4)


@invented
def test_options_of_netpipe_are_those_of_the_run(hcasim_: Hcasim) -> None:
    words = ("--size", "64,8", "--perturbation", "3", "-I", "--verb", "write", "--json")
    rows = hcasim_(*BEN, *words).json["rows"]
    assert [row["size"] for row in rows] == [61, 64, 67, 5, 8, 11]


@invented
@pytest.mark.parametrize("name", ["figure", "figure.jpg"])
def test_a_pipe_whose_name_says_no_form_gets_a_png(
    hcasim_: Hcasim, tmp_path: Path, name: str
) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as reader:
        read = reader.submit(pipe.read_bytes)
        try:
            found = hcasim_(*BEN, "-j", "1", "--size", "8", "--plot", str(pipe))
        finally:
            # Without a figure the reader would wait for ever.
            with suppress(OSError):
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        assert read.result().startswith(b"\x89PNG")
    assert found.code == 0


@pytest.mark.parametrize(("option", "name"), [("-o", "np.out"), ("--plot", "np.png")])
def test_a_full_disk_is_one_line_and_does_not_hide_the_results(
    hcasim_: Hcasim, tmp_path: Path, option: str, name: str
) -> None:
    file = tmp_path / name
    file.symlink_to("/dev/full")
    found = hcasim_(*BEN, "--size", "8", option, str(file))
    fault = f"Error: {file}: cannot be written: no space left on device\n"
    assert (found.code, found.messages) == (2, fault)
    assert found.output.startswith("netpipe on benjegerdes2004, mt23108\n")


def test_a_reader_that_leaves_early_does_not_cost_the_file(process: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "np.out"
    words = (*BEN, "--size", "1..64", "-o", str(file), "--format", "netpipe")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        done = process(*words, stdout=nobody)
    assert (done.code, done.messages) == (141, f"Wrote {file}\n")
    assert len(np.loadtxt(file)) == 7
