"""Which tool wrote a file, and what several files become."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.catalog import CatalogError
from hcasim.traces import (
    Source,
    Trace,
    import_trace,
    merge,
    parse_trace,
    read_measured,
    render,
    tool_output,
    trace_file,
)
from tests.unit.traces.conftest import DATA
from tests.unit.traces.outputs import osu

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
PERFTEST = (DATA / "perftest" / "rxe_write_lat_8B.txt").read_text()
JSON = (DATA / "perftest" / "rxe_write_lat_8B.json").read_text()
OSU = (DATA / "osu" / "osu_latency_v7.2_hpcx_ib.txt").read_text()
PACKED = "found data packed by {}; unpack it first ({})"
NP_OUT = (DATA / "netpipe" / "netpipe3_np.out").read_text()
TERMINAL = (DATA / "netpipe" / "netpipe3_NPtcp_e1000_2004_stdout.txt").read_text()


def test_a_file_of_two_tools_is_refused(faults: Faults) -> None:
    assert faults(PERFTEST + OSU) == [
        (
            "file: found perftest's text (line 2) and an OSU benchmark (line 25); "
            "divide the file: one tool each"
        )
    ]
    assert "divide the file" in faults(OSU + PERFTEST, "osu")[0]
    assert "divide the file" in faults(PERFTEST + JSON)[0]


@pytest.mark.parametrize("text", [PERFTEST, TERMINAL])
def test_figures_outside_of_a_table_are_passed_over_and_said(text: str, read: Read) -> None:
    trace = read("12 0.25 1024\n0.01 0.02 0.05\n17 cores\n" + text)
    assert trace.points == read(text).points
    assert [note for note in trace.header.notes if "passed over" in note] == [
        "line 1 was passed over: '12 0.25 1024'",
        "line 2 was passed over: '0.01 0.02 0.05'",
    ]


def test_an_unknown_output_names_all_that_are_known(faults: Faults) -> None:
    assert faults("Hello\n") == [
        (
            "file: found no output of a known tool; allowed: a trace of hcasim's probes, "
            "perftest's text, perftest's JSON, an OSU benchmark, an Intel MPI benchmark or "
            "NetPIPE; --format says which it is; traces of what a program did are for `hcasim app`"
        )
    ]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "file: found an empty file; allowed: a tool's output"),
        (b" \n\t\n", "file: found an empty file; allowed: a tool's output"),
        (b"\x7fELF\x02\x01\x01\x00", "file: found binary data; allowed: text in UTF-8"),
        (b"one\ntwo \xff\xfe\n", "file:2: found binary data; allowed: text in UTF-8"),
        (gzip.compress(OSU.encode()), f"file:1: {PACKED.format('gzip', 'gunzip')}"),
        (lzma.compress(OSU.encode()), f"file:1: {PACKED.format('xz', 'unxz')}"),
        (bz2.compress(OSU.encode()), f"file:1: {PACKED.format('bzip2', 'bunzip2')}"),
        (b"PK\x03\x04\x0a\0\0\0np.out1 2 3", f"file: {PACKED.format('zip', 'unzip')}"),
        (b"10.390000\n", "file: found numbers alone, as perftest prints with --output: "),
        (b"Hello, world\n", "file: found no output of a known tool; allowed: "),
    ],
)
def test_what_no_tool_printed_is_refused(data: bytes, fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        import_trace(Source("file", data))
    assert caught.value.faults[0].startswith(fault)


def test_a_file_is_read_whatever_it_holds(tmp_path: Path) -> None:
    """What a tool printed, or its trace; an option that is missing is one of import."""
    sample, file = DATA / "perftest" / "rxe_write_lat_8B.txt", tmp_path / "trace.jsonl"
    trace = read_measured(sample)
    file.write_text(render(trace))
    assert read_measured(file).points == trace.points
    (tmp_path / "osu.txt").write_text(osu.BARRIER_5)
    with pytest.raises(CatalogError) as caught:
        read_measured(tmp_path / "osu.txt")
    hint = "--processes how many on each; an option of `hcasim import osu.txt -o FILE.jsonl`"
    assert caught.value.faults[0].endswith(hint)


def test_a_format_that_is_given_is_taken(faults: Faults) -> None:
    assert faults("Hello\n", "osu") == ["file: found no results; is the output whole?"]
    assert faults(PERFTEST, "iperf")[0].startswith("--format: found 'iperf'; allowed: probe, ")


def test_hints_without_a_meaning_are_refused(faults: Faults) -> None:
    assert faults(OSU, unit="MiB/s") == ["--unit: has no meaning for file, an OSU benchmark"]
    assert faults(PERFTEST, nodes=2, algorithm="tree") == [
        "--nodes: has no meaning for file, perftest's text",
        "--algorithm: has no meaning for file, perftest's text",
    ]


def tagged(tag: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{tag}{line}" for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "change",
    [
        tagged("[1,0]<stdout>:"),
        tagged("Sun Dec  3 09:52:05 2017[1,0]<stdout>:"),
        tagged("[prterun-node-7.cluster-4711@1,0]<stdout>: "),
        tagged("    "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("1.61", "\x1b[31m1.61\x1b[0m"),
    ],
)
def test_what_mpirun_and_terminals_add_is_passed_over(
    change: Callable[[str], str], read: Read
) -> None:
    where = {"nodes": 8, "processes": 1}
    for text in (OSU, osu.FULL_5, osu.MBW_MR_7):
        assert read(change(text), **where).points == read(text, **where).points
    for text in (PERFTEST, JSON, NP_OUT):
        assert read(change(text)).points == read(text).points
    assert import_trace(Source("/home/file", OSU.encode("utf-16"))).points == read(OSU).points


def named(*paths: Path) -> list[tuple[str, Trace]]:
    return [(path.name, import_trace(Source(path.name, path.read_bytes()))) for path in paths]


def test_files_of_one_adapter_become_one_trace() -> None:
    folder = DATA / "perftest"
    trace = merge(named(folder / "rxe_write_lat_8B.txt", folder / "rxe_write_bw_gbits.json"))
    assert [point.workload for point in trace.points] == ["write_lat", "write_bw"]
    assert [one.split()[0] for one in trace.header.source.split("; ")] == [
        "rxe_write_lat_8B.txt",
        "rxe_write_bw_gbits.json",
    ]
    assert trace.header.notes[1].startswith("rxe_write_bw_gbits.json: bandwidths of 4096 bytes")
    assert trace.end is not None
    assert trace.end.points == 2
    assert parse_trace(render(trace).encode(), "file").points == trace.points


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (
            ("perftest/rxe_write_lat_8B.txt", "perftest/siw_write_lat_8B.txt"),
            (
                "siw_write_lat_8B.txt: found siw0 over iwarp, and in rxe_write_lat_8B.txt "
                "rxe0 over roce"
            ),
        ),
        (
            ("perftest/rxe_write_lat_8B.txt", "netpipe/netpipe3_np.out"),
            "netpipe3_np.out: found netpipe, and in rxe_write_lat_8B.txt perftest",
        ),
        (
            ("osu/osu_latency_v7.2_hpcx_ib.txt", "osu/osu_latency_v3.1.1_mvapich2.1_qlogic.txt"),
            (
                "osu_latency_v3.1.1_mvapich2.1_qlogic.txt: found version 3.1.1, and in "
                "osu_latency_v7.2_hpcx_ib.txt version 7.2"
            ),
        ),
        (
            ("perftest/rxe_write_lat_8B.txt", "perftest/rxe_write_lat_8B.txt"),
            "rxe_write_lat_8B.txt: found the same content as in rxe_write_lat_8B.txt",
        ),
    ],
)
def test_files_that_do_not_belong_together_are_refused(names: tuple[str, ...], fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        merge(named(*(DATA / name for name in names)))
    assert caught.value.faults == [
        fault,
        "a trace is of one adapter; import each alone",
    ]


def test_a_test_without_a_simulation_keeps_its_name(read: Read) -> None:
    text = PERFTEST.replace("RDMA_Write Latency Test", "RDMA_Write_imm Latency Test")
    assert read(text).points[0].workload == "write_imm_lat"
    text = PERFTEST.replace("RDMA_Write Latency Test", "Send Latency Multicast Test")
    (point,) = read(text).points
    assert (point.workload, point.options["multicast"]) == ("send_lat", True)


def test_more_lines_than_anybody_prints_are_refused_at_once(faults: Faults) -> None:
    assert faults("x\n" * 2_000_001) == [
        "file: found more than 2,000,000 lines; allowed: up to as many"
    ]


@pytest.mark.parametrize("kind", ["perftest", "perftest-json", "osu", "netpipe", "probe"])
def test_more_points_than_anybody_measures_are_refused(
    read: Read, faults: Faults, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = {
        "perftest": PERFTEST,
        "perftest-json": (DATA / "perftest" / "rxe_write_bw_64K.json").read_text(),
        "osu": OSU,
        "netpipe": NP_OUT,
        "probe": render(read(PERFTEST)),
    }[kind]
    count = len(read(text).points)
    monkeypatch.setattr(tool_output, "POINTS", count)
    monkeypatch.setattr(trace_file, "POINTS", count)
    assert len(read(text).points) == count
    monkeypatch.setattr(tool_output, "POINTS", count - 1)
    monkeypatch.setattr(trace_file, "POINTS", count - 1)
    (fault,) = faults(text)
    assert fault == "file: found more than 50,000 points; allowed: up to as many; divide it"
