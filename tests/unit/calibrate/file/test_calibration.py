"""Calibration files are read as they were written, and machines take them on."""

from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate import Calibration, read_calibration
from hcasim.catalog import CatalogError, render_fit, resolve
from tests.unit.calibrate.calibrations import contents, of_liu2004


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    return of_liu2004(tmp_path / "cal.toml")


@pytest.fixture
def file(calibration: Calibration) -> Path:
    path = calibration.file
    path.write_text(render_fit(calibration, ["a comment"]))
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
    ("made", "found"),
    [
        ({"mtu": 1024, "no_switch": False}, {}),
        ({"mtu": 512, "no_switch": True}, {"mtu": 512, "no_switch": True}),
        ({"mtu": 2048, "testbed": "sur2005", "adapter": "mt25218"}, {"mtu": 2048}),
    ],
)
def test_a_file_says_how_its_base_differs_from_the_testbed(
    made: dict[str, Any], found: dict[str, Any]
) -> None:
    other = contents()
    other["made"] |= made
    assert Calibration.at(Path("cal.toml"), other).base() == found
