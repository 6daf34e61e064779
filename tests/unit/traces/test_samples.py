"""Each number of each sample, read a second time in another way: by splitting its lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.traces import Measured, Source, Trace, import_trace, parse_trace, render
from tests.unit.traces.conftest import DATA

Read = Callable[..., Trace]
FAILED = "siw_atomic_lat_fadd.txt"
SAMPLES = sorted(path for path in DATA.rglob("*.*") if path.name not in (FAILED, "README.md"))
TEXTS = [path for path in SAMPLES if path.parent.name == "perftest" and path.suffix == ".txt"]
JSONS = [path for path in SAMPLES if path.suffix == ".json"]


def table(path: Path, width: int) -> list[list[float]]:
    """The lines of a file that are so many numbers."""
    rows = []
    for line in path.read_text().splitlines():
        try:
            numbers = [float(word) for word in line.split()]
        except ValueError:
            continue
        if len(numbers) == width:
            rows.append(numbers)
    assert rows
    return rows


def close(found: float | None, expected: float) -> bool:
    return found is not None and abs(found - expected) <= 1e-12 * expected


def named(path: Path) -> str:
    return path.name


def statistics(measured: Measured) -> list[float | None]:
    found = measured.statistics
    assert found is not None
    tail = [found.percentiles.get("99"), found.percentiles.get("99.9")]
    return [found.minimum, found.maximum, found.median, found.mean, found.deviation, *tail]


@pytest.mark.parametrize("path", [p for p in TEXTS if "lat" in p.name and "unsorted" not in p.name])
def test_times_of_perftest_are_those_printed_in_nanoseconds(path: Path, read: Read) -> None:
    trace = read(path)
    rows = table(path, 9)
    assert len(trace.points) == len(rows)
    for point, row in zip(trace.points, rows, strict=True):
        (measured,) = point.measured
        assert (point.options["size"], point.options["iters"]) == (row[0], row[1])
        assert (measured.quantity, measured.unit) == ("latency", "ns")
        assert measured.printed == f"{row[4]:.2f} us"
        for found, printed in zip(statistics(measured), row[2:], strict=True):
            # A deviation of 0.00 is there, too.
            assert found == 0 if printed == 0 else close(found, printed * 1000)


@pytest.mark.parametrize("path", [p for p in TEXTS if "bw" in p.name], ids=named)
def test_a_megabyte_of_perftest_is_two_to_the_twentieth(path: Path, read: Read) -> None:
    trace = read(path)
    factor, unit = (125, "Gbit/s") if "gbits" in path.name else (1.048576, "MiB/s")
    for point, row in zip(trace.points, table(path, 5), strict=True):
        bandwidth, rate = point.measured
        assert point.options["size"] == row[0]
        assert bandwidth.statistics is not None
        assert bandwidth.statistics.count == row[1]
        assert close(bandwidth.statistics.maximum, row[2] * factor)
        assert close(bandwidth.statistics.mean, row[3] * factor)
        assert bandwidth.printed == f"{row[3]:.2f} {unit}"
        assert rate.statistics is not None
        assert close(rate.statistics.mean, row[4])
        assert (rate.unit, rate.printed) == ("M/s", f"{row[4]:.6f} M/s")


@pytest.mark.parametrize("path", JSONS, ids=named)
def test_json_says_the_same_as_the_last_line_of_the_text(path: Path, read: Read) -> None:
    point = read(path).points[-1]
    beside = read(path.with_suffix(".txt")).points[-1]
    assert point.workload == beside.workload
    assert point.options == beside.options
    assert point.measured == beside.measured
    printed = [one.printed for one in beside.measured]
    assert [one.printed for one in point.measured] == printed
    text = path.read_text()
    assert all(one.split()[0] in text for one in printed)


def test_perftest_names_workload_adapter_and_options(data: Path, read: Read) -> None:
    expected = {
        "rxe_atomic_lat_fadd": ("atomic_lat", {"size": 8, "iters": 1000, "op": "fetch_add"}),
        "rxe_send_lat_8B": ("send_lat", {"size": 8, "iters": 1000, "inline": False}),
        "rxe_write_bw_64K": (
            "write_bw",
            {"size": 65536, "iters": 500, "inline": False, "tx_depth": 128, "cq_mod": 1},
        ),
        "rxe_write_bw_bidir": (
            "write_bibw",
            {"size": 4096, "iters": 300, "inline": False, "tx_depth": 16, "cq_mod": 16},
        ),
    }
    for name, (workload, options) in expected.items():
        trace = read(data / "perftest" / f"{name}.txt")
        assert trace.points[0].workload == workload
        assert trace.points[0].options == {"qps": 1, "mtu": 4096, **options}
        assert (trace.header.device.name, trace.header.device.transport) == ("rxe0", "roce")
        assert (trace.header.port.layer, trace.header.port.mtu) == ("ethernet", 4096)


def test_iwarp_is_known_by_its_transport(data: Path, read: Read) -> None:
    trace = read(data / "perftest" / "siw_write_lat_8B.txt")
    assert (trace.header.device.name, trace.header.device.transport) == ("siw0", "iwarp")
    # A path MTU of verbs has no meaning there.
    assert "mtu" not in trace.points[0].options


@pytest.mark.parametrize("path", sorted((DATA / "osu").glob("osu_latency*")), ids=named)
def test_latencies_of_osu_are_those_printed(path: Path, read: Read) -> None:
    trace = read(path)
    rows = table(path, 2)
    assert trace.header.tool.version == path.name.split("_v")[1].split("_")[0]
    for point, (size, microseconds) in zip(trace.points, rows, strict=True):
        (measured,) = point.measured
        assert (point.workload, point.options) == ("osu_latency", {"size": size})
        assert measured.quantity == "latency"
        assert measured.printed == f"{microseconds:.2f} us"
        assert measured.statistics is not None
        assert close(measured.statistics.mean, microseconds * 1000)


def test_a_megabyte_of_osu_is_a_million(data: Path, read: Read) -> None:
    path = data / "osu" / "osu_mbw_mr_v5.6.3_ib100g.txt"
    for point, (size, megabytes, messages) in zip(read(path).points, table(path, 3), strict=True):
        bandwidth, rate = (one.statistics for one in point.measured)
        assert point.workload == "osu_mbw_mr"
        assert point.options == {"size": size, "nodes": 2, "processes": 1, "window": 64}
        assert bandwidth is not None
        assert bandwidth.mean == megabytes
        assert rate is not None
        assert close(rate.mean, messages / 1e6)


def test_times_of_np_out_are_seconds_of_one_way(data: Path, read: Read) -> None:
    path = data / "netpipe" / "netpipe3_np.out"
    trace = read(path)
    assert trace.header.tool.version == "3"
    for point, (size, mbps, seconds) in zip(trace.points, table(path, 3), strict=True):
        latency, bandwidth = (one.statistics for one in point.measured)
        assert (point.workload, point.options) == ("netpipe", {"size": size})
        assert latency is not None
        assert close(latency.mean, seconds * 1e9)
        assert bandwidth is not None
        assert close(bandwidth.mean, mbps * 2**20 / 8 / 1e6)
        # The two say the same, so that neither is a round trip.
        assert bandwidth.mean is not None
        assert abs(bandwidth.mean / (size / seconds / 1e6) - 1) < 1e-3


def test_times_of_netpipe_on_the_terminal_are_microseconds(data: Path, read: Read) -> None:
    path = data / "netpipe" / "netpipe3_NPtcp_e1000_2004_stdout.txt"
    trace = read(path)
    lines = [line.split() for line in path.read_text().splitlines() if "-->" in line]
    for point, words in zip(trace.points, lines, strict=True):
        latency, bandwidth = (one.statistics for one in point.measured)
        assert point.options == {"size": int(words[1]), "iters": int(words[3])}
        assert latency is not None
        assert close(latency.mean, float(words[9]) * 1000)
        assert bandwidth is not None
        assert close(bandwidth.mean, float(words[6]) * 2**20 / 8 / 1e6)


@pytest.mark.parametrize("path", SAMPLES, ids=named)
def test_a_trace_says_where_it_comes_from_and_can_be_read_back(path: Path, read: Read) -> None:
    import hashlib

    trace = read(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert trace.header.source == f"{path.name} {digest}"
    text = render(trace)
    again = parse_trace(text.encode(), "trace")
    assert (again.header, again.points, again.failures, again.end) == (
        trace.header,
        trace.points,
        trace.failures,
        trace.end,
    )
    imported = import_trace(Source("trace", text.encode()))
    assert render(imported) == text
