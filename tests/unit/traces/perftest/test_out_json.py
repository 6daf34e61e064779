"""perftest's JSON: valid since 2024, repaired before, and without the unit of its bandwidths."""

import re
from collections.abc import Callable

import pytest

from hcasim.traces import Trace
from tests.unit.traces.conftest import DATA
from tests.unit.traces.outputs import perftest

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
LAT = (DATA / "perftest" / "rxe_write_lat_8B.json").read_text()
BW = (DATA / "perftest" / "rxe_write_bw_64K.json").read_text()


def test_valid_json_needs_no_note_on_its_form(read: Read) -> None:
    trace = read(perftest.JSON_2024)
    assert trace.header.notes == (
        "bandwidths of 65536 bytes are in Gbit/s, as their message rate tells",
    )
    (point,) = trace.points
    assert (point.workload, point.measured[0].printed) == ("read_bw", "92.37 Gbit/s")
    assert point.measured[0].statistics is not None
    assert point.measured[0].statistics.mean == 92.37 * 125


def test_a_duration_with_events_has_a_mean(read: Read) -> None:
    (point,) = read(perftest.DURATION_JSON_2021).points
    assert point.workload == "send_lat"
    assert point.options["events"] is True
    assert point.options["connection"] == "UD"
    assert point.measured[0].printed == "4.05 us"


def test_the_unit_is_asked_for_where_the_message_rate_does_not_tell_it(
    read: Read, faults: Faults
) -> None:
    text = BW.replace("MsgRate: 0.001475", "MsgRate: 0.000000")
    assert faults(text) == [
        (
            "file:25: BW_average: perftest's JSON has no unit, and the message rate does not tell "
            "it; --unit says which it is: MiB/s or Gbit/s"
        )
    ]
    assert read(text, unit="Gbit/s").points[0].measured[0].printed == "92.19 Gbit/s"
    assert "do not fit together" in faults(BW, unit="Gbit/s")[0]


def test_a_deviation_that_is_no_number_is_left_out_with_a_note(read: Read) -> None:
    text = re.sub(r"(t_stdev\"?: )[0-9.]+", r"\1-nan", LAT)
    trace = read(text)
    assert any("t_stdev is -nan, which says nothing" in note for note in trace.header.notes)
    found = trace.points[0].measured[0].statistics
    assert found is not None
    assert found.deviation is None


def test_files_behind_each_other_are_several_runs(read: Read) -> None:
    assert [point.workload for point in read(LAT + BW + LAT).points] == [
        "write_lat",
        "write_bw",
        "write_lat",
    ]


@pytest.mark.parametrize(
    ("text", "change", "fault"),
    [
        (LAT, ("t_typical: 10.25", "t_typical: -10.25"), "file:25: t_typical: found '-10.25'; it"),
        (LAT, ("t_typical: 10.25,\n", ""), "results: found no t_typical"),
        (LAT, ("t_min: 9.91", "t_min: 99.91"), "found t_min 99.91 above t_typical 10.25"),
        (LAT, ("t_min: 9.91,", "t_min 9.91,"), "file:23: found no JSON: "),
        (
            LAT,
            ("t_min: 9.91,", "t_min: 9.91,\nt_min: 9.92,"),
            "file:24: t_min: found a second time",
        ),
        (LAT, ("MsgSize: 8", "MsgSize: eight"), "MsgSize: found 'eight'; allowed: a whole number"),
        (LAT, ("test: RDMA_Write_L", "test: RDMA_Wrote_L"), "found 'RDMA_Wrote_Latency_Test'"),
        (LAT, ("results: {", "result: {"), "file:20: found no JSON: 'result: {'"),
        (LAT, ("test_info: {", "test_info: 3 {"), "file:2: found no JSON: 'test_info: 3 {'; "),
        (LAT, ("results: {", "test_info: {"), "test_info: found a second time"),
        (LAT, ("t_min: 9.91,\nt_max: 221.38,\nt_typical: 10.25,", "avg_lat: 3.5,"), "--output"),
    ],
)
def test_what_cannot_be_read_is_named(
    text: str, change: tuple[str, str], fault: str, faults: Faults
) -> None:
    changed = text.replace(*change)
    assert changed != text
    (found,) = faults(changed)
    assert fault in found


@pytest.mark.parametrize("text", [LAT, perftest.JSON_2024])
def test_wherever_a_file_was_cut_it_is_refused(text: str, faults: Faults) -> None:
    text = text.rstrip()
    for length in range(text.index("test_info") + len('test_info": {'), len(text)):
        (fault,) = faults(text[:length])
        assert "found no JSON: " in fault or "found a second time" in fault, text[:length]
