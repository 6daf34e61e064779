"""Traces of the probes are read again, and what is damaged is named by its line."""

import gzip
from collections.abc import Callable

import pytest

from hcasim.catalog import CatalogError
from hcasim.traces import Trace, parse_trace, render
from tests.unit.traces.outputs import perftest, probe

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]


def test_a_packed_trace_says_so() -> None:
    with pytest.raises(CatalogError, match=r"^file: found data packed by gzip; unpack it first"):
        parse_trace(gzip.compress(probe.TRACE.encode()), "file")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("[" * 5000 + "]" * 5000, "found tables and lists more than 16 deep in each other"),
        ("1" * 100_000, "found a whole number of more than 64 bits"),
    ],
)
def test_what_python_cannot_hold_is_told_as_what_is_too_deep_or_large(
    value: str, fault: str
) -> None:
    text = probe.TRACE + f'{{"record": {value}}}\n'
    line = text.count("\n")
    with pytest.raises(CatalogError) as caught:
        parse_trace(text.encode(), "file")
    assert f"file:{line}: found no JSON: {fault}" in caught.value.faults


def test_a_trace_of_a_probe_is_read_again_in_its_usual_form(read: Read) -> None:
    trace = read(probe.TRACE)
    assert trace.header.source.startswith("file ")
    assert trace.points[0].measured[0].samples == (900, 910.5)
    text = render(trace)
    assert render(read(text)) == text


def test_a_trace_that_was_interrupted_says_so(read: Read) -> None:
    text = "".join(probe.TRACE.splitlines(keepends=True)[:-1])
    trace = read(text)
    assert trace.end is not None
    assert (trace.end.points, trace.end.complete) == (1, False)


def test_a_trace_that_was_cut_in_a_line_is_refused(read: Read, faults: Faults) -> None:
    text = probe.TRACE.removesuffix("\n")
    assert read(text).points == read(probe.TRACE).points
    (fault,) = faults(text[:-1])
    assert fault.startswith("file:3: found no JSON: ")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            ('"ns"', '"us"'),
            "file:2: measured[1].unit: found 'us'; allowed: ns, MB/s or M/s; did you mean",
        ),
        (("900.0", "-900.0"), "file:2: measured[1].samples[1]: found -900.0; allowed: 0 or more"),
        (("900.0", "NaN"), "file:2: measured[1].samples[1]: found NaN; allowed: a finite number"),
        (("[900.0, 910.5]", '"9"'), "file:2: measured[1].samples: found '9'; allowed: a list"),
        (('"write_lat"', '""'), "file:2: workload: found ''; allowed: text that is not empty"),
        (('"workload": "write_lat", ', ""), "file:2: workload: missing"),
        (('"samples"', '"sample"'), "file:2: measured[1].sample: unknown key; allowed: quantity, "),
        (('{"size": 8}', "[8]"), "file:2: options: found [8]; allowed: a table"),
        (
            ('"name": "mlx5_0"', '"part_id": 1.5'),
            "file:1: device.part_id: found 1.5; allowed: a whole number",
        ),
        (
            ('"version": 1, ', '"version": 1, "made": 1, '),
            "file:1: made: unknown key; allowed: record, schema, version, tool, source, created, ",
        ),
        (
            ('"measured": ', '"measured": [], "x": '),
            "file:2: measured: found []; allowed: one or more",
        ),
        (("[900.0, 910.5]", "[]"), "file:2: measured[1]: one of samples, histogram and statistics"),
        (
            ('"device": {', '"plan": {"sha256": "abc", "seed": 1, "points": 0}, "device": {'),
            "file:1: plan.sha256: found 'abc'; allowed: text like ^[0-9a-f]{64}$",
        ),
        (
            ('"complete": true', '"complete": 1'),
            "file:3: complete: found 1; allowed: true or false",
        ),
        (
            ('"points": 1', '"points": 2'),
            "file:3: points: found 2; allowed: 1, as above: lines are missing",
        ),
        (
            ('"points": 1', '"points": 0'),
            "file:3: points: found 0; allowed: 1, as above: lines were added",
        ),
        (
            ('{"size": 8}', '{"size": -4}'),
            "file:2: options.size: found -4; allowed: true or false, 0 or more or text",
        ),
        (('{"size": 8}', '{"size": 8, "size": 8}'), "file:2: found the key 'size' twice; allowed:"),
        (('"point"', '["point"]'), "file:2: record: found ['point']; allowed: header, point"),
        (("hcasim-trace", "hcasim-tracks"), "file:1: schema: found 'hcasim-tracks'"),
        (("{", "[" * 100_000), "file:1: found no JSON: "),
    ],
)
def test_a_damaged_trace_is_refused(change: tuple[str, str], fault: str, faults: Faults) -> None:
    text = probe.TRACE.replace(change[0], change[1], 1)
    assert text != probe.TRACE
    found = faults(text, "probe")
    assert found[0].startswith(fault), found


HEADER, POINT, END = probe.TRACE.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            (POINT, END),
            ["file:1: record: found 'point'; allowed: a header, with which a trace begins"],
        ),
        (
            (HEADER, POINT, HEADER, END),
            [
                (
                    "file:3: record: found 'header'; allowed: one header, as in line 1; "
                    "divide the file: one trace each"
                )
            ],
        ),
        (
            (HEADER, POINT, END, HEADER, POINT, END),
            [
                (
                    "file:4: record: found 'header'; allowed: one header, as in line 1; "
                    "divide the file: one trace each"
                )
            ],
        ),
        (
            (HEADER, POINT, END, POINT, POINT),
            ["file:4: record: found 'point'; allowed: nothing behind the end in line 3"],
        ),
    ],
)
def test_a_line_out_of_place_is_named(
    lines: tuple[str, ...], told: list[str], faults: Faults
) -> None:
    assert faults("".join(lines), "probe") == told


def test_the_output_of_another_tool_is_no_trace_and_one_fault(faults: Faults) -> None:
    (fault,) = faults(perftest.LAT_2008, "probe")
    assert fault.startswith("file:1: found no JSON: ")
    assert fault.endswith("; what another tool printed becomes a trace by `hcasim import`")


def test_a_name_may_hold_what_ends_a_line_elsewhere(read: Read) -> None:
    text = probe.TRACE.replace("mlx5_0", "mlx5\u2028\x85\x0b0".replace("\x0b", "\\u000b"))
    trace = read(text)
    assert trace.header.device.name == "mlx5\u2028\x85\x0b0"
    assert parse_trace(render(trace).encode(), "file").header == trace.header


def test_half_a_character_in_a_trace_is_refused(read: Read, faults: Faults) -> None:
    assert faults(probe.TRACE.replace("mlx5_0", r"mlx5_\ud800")) == [
        r"file:1: found half a character (\ud800 to \udfff)"
    ]
    # Two halves are a whole one.
    whole = read(probe.TRACE.replace("mlx5_0", r"mlx5_\ud83d\ude00"))
    assert whole.header.device.name == "mlx5_\U0001f600"


@pytest.mark.parametrize("value", [5e-324, 9e-10, 1.1e15])
@pytest.mark.parametrize(
    "form",
    [
        '"samples": [5, VALUE, 6]',
        '"samples": [0, VALUE]',
        '"statistics": {"mean": 5, "deviation": VALUE}',
        '"statistics": {"mean": 5, "percentiles": {"99": VALUE}}',
        '"histogram": [[VALUE, 2]]',
    ],
)
def test_a_number_that_nobody_has_measured_is_refused(form: str, value: float) -> None:
    measured = f'{{"quantity": "latency", "unit": "ns", {form.replace("VALUE", str(value))}}}'
    point = f'{{"record": "point", "workload": "write_lat", "measured": [{measured}]}}'
    with pytest.raises(CatalogError, match="allowed: 0, or 1e-09 to 1e\\+15"):
        parse_trace(f"{HEADER}{point}\n".encode(), "file")
