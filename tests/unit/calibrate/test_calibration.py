"""Calibration files are read as they were written, and machines take them on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.calibration import Calibration, read_calibration, render_calibration
from hcasim.catalog import CatalogError, Fit, FittedValue, resolve

SEND = "adapters.mt25208.send.latency"
READ = "hosts.xeon-e7520.memory.read_latency"


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    entries = {
        SEND: FittedValue("900 ns", ("850 ns", "950 ns"), ("write_lat",), verdict="identified"),
        READ: FittedValue("300 ns", ("0 ns", "4.5 us"), verdict="not at all"),
    }
    return Calibration(
        Fit("liu2004-mt25208", "title", "notes", tmp_path / "cal.toml", entries),
        {"hcasim": "0.1.0", "testbed": "liu2004", "adapter": "mt25208", "converged": True},
        {"adapters.mt25208.bus.lanes": "4"},
        ({"name": 'a "quoted" name.jsonl', "sha256": "0" * 64},),
        ({"curve": "write_lat", "rms_deviations": 0.5},),
        {SEND: (890_000, 910_000), READ: (0, 600_000)},
    )


@pytest.fixture
def file(calibration: Calibration) -> Path:
    path = calibration.fit.file
    path.write_text(render_calibration(calibration, ["a comment"]))
    return path


def test_a_file_says_what_was_written(calibration: Calibration, file: Path) -> None:
    assert read_calibration(file) == calibration
    assert file.read_text().startswith("# a comment\n\nid = ")


def test_a_machine_takes_on_what_belongs_to_its_parts(calibration: Calibration) -> None:
    assert calibration.overrides("liu2004", "mt25208") == {
        "adapter.bus.lanes": "4",
        "adapter.send.latency": "900 ns",
        "host.memory.read_latency": "300 ns",
    }
    # The host is the same one with another adapter.
    other = calibration.overrides("liu2004", "mt23108")
    assert other == {"host.memory.read_latency": "300 ns"}
    with pytest.raises(CatalogError, match="which benjegerdes2004-g5 with mt23108 does not"):
        calibration.overrides("benjegerdes2004-g5", "mt23108")


def test_samples_keep_values_that_belong_together(calibration: Calibration) -> None:
    found = [calibration.overrides("liu2004", "mt25208", n) for n in range(calibration.tries)]
    assert [one["adapter.send.latency"] for one in found] == ["890 ns", "910 ns"]
    assert [one["host.memory.read_latency"] for one in found] == ["0 ns", "600 ns"]


def test_parameters_show_their_evidence(calibration: Calibration) -> None:
    machine = resolve("liu2004", overrides=calibration.overrides("liu2004", "mt25208"))
    marked = {one.path: one for one in calibration.marked(machine)}
    send, lanes = marked["adapter.send.latency"], marked["adapter.bus.lanes"]
    assert (send.value, send.evidence, send.claims) == (900_000, "fitted", ("write_lat",))
    assert send.interval == (850_000, 950_000)
    assert "cal.toml: identified" in send.source
    assert (lanes.value, lanes.evidence) == (4, "assumed")
    others = {one.path: one for one in machine.parameters if one.path not in calibration.settings}
    assert marked["adapter.ports"] == others["adapter.ports"]


def test_a_fit_of_the_catalogue_is_a_calibration(root: Path) -> None:
    found = read_calibration(root / "calibration" / "fits" / "liu2004.toml")
    assert found.tries == 0
    assert found.overrides("liu2004", "mt25208")["adapter.receive.latency"] == "790 ns"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"900 ns"', '"900 parsecs"', "adapters.mt25208.send.latency: found '900 parsecs'"),
        ("[adapters.mt25208.send]", "[adapters.mt25208.sent]", "unknown parameter"),
        ("[adapters.mt25208.send]", "[adapters.mt2520.send]", "did you mean 'mt25208'?"),
        ("[890000, 910000]", "[890000]", "samples: allowed: as many for each value"),
        ("[890000, 910000]", "[890000, -5]", "samples.adapters.mt25208.send.latency: found"),
        ("[890000, 910000]", '["a", 1]', "allowed: a list of whole numbers"),
        ('bus.lanes" = "4"', 'bus.lanes" = "5"', "settings.adapters.mt25208.bus.lanes: found 5"),
        ('testbed = "liu2004"', "testbed = 4", "made.testbed: found 4; allowed: text"),
    ],
)
def test_a_spoilt_file_is_refused_by_its_key(file: Path, old: str, new: str, words: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(CatalogError) as caught:
        read_calibration(file)
    assert any(words in fault for fault in caught.value.faults), caught.value.faults


@pytest.mark.parametrize("content", ["", "id = 'x'\n", "samples = 4\n", "made = 1\n", "traces = 3"])
def test_a_file_that_is_no_calibration_is_refused(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "other.toml"
    file.write_text(content)
    with pytest.raises(CatalogError):
        read_calibration(file)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ({}, {}),
        ({"mtu": 1024, "no_switch": False}, {}),
        ({"mtu": 512, "no_switch": True}, {"mtu": 512, "no_switch": True}),
        ({"mtu": 2048, "testbed": "gone"}, {"mtu": 2048}),
    ],
)
def test_a_file_says_how_its_base_differs_from_the_testbed(
    calibration: Calibration, made: dict[str, Any], found: dict[str, Any]
) -> None:
    assert replace(calibration, made={**calibration.made, **made}).base() == found


def test_a_base_that_cannot_be_is_refused(calibration: Calibration, file: Path) -> None:
    changed = replace(calibration, made={**calibration.made, "mtu": "2K", "no_switch": 1})
    file.write_text(render_calibration(changed, []))
    with pytest.raises(CatalogError) as caught:
        read_calibration(file)
    assert [fault.partition(": ")[2] for fault in caught.value.faults] == [
        "made.mtu: found '2K'; allowed: bytes",
        "made.no_switch: found 1; allowed: true or false",
    ]
