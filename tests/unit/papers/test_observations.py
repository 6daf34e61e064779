"""A calibration sees the claims that its fit lists, each with the digits of the paper."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.observation import Observation, without_repeats
from hcasim.catalog import CatalogError, load_fit
from hcasim.papers.observations import observations

Edit = Callable[[str, str], None]
Simulated = Callable[[], list[Any]]


def observed(fit: str) -> list[Observation]:
    return observations(load_fit(fit))


def test_they_are_the_claims_that_the_fit_lists_and_those_that_repeat_them() -> None:
    found = observed("liu2004")
    assert {one.id: str(one.published) for one in found} == {
        "LIU-038": "4.8",
        "LIU-039": "6.9",
        "LIU-041": "3.8",
        "LIU-004": "3.8",
        "LIU-044": "9.0",
        "LIU-045": "12.4",
        "LIU-057": "781",
    }
    assert [one.id for one in without_repeats(found)] == [
        one.id for one in found if one.id != "LIU-004"
    ]
    assert {one.id: one.rounding for one in found}["LIU-044"] == pytest.approx(0.05)


def test_a_number_that_is_derived_says_how_far_it_may_be_off() -> None:
    (found,) = observed("rashti2007")
    assert found.id == "RAS-029"
    assert str(found.published) == "9.6"
    assert found.rounding == pytest.approx(0.4)


def test_the_digits_are_those_that_the_file_holds(edit: Edit) -> None:
    edit("published = 3.8\n", "published = 3.80\n")
    found = {one.id: one for one in observed("liu2004")}
    assert str(found["LIU-041"].published) == "3.80"
    assert found["LIU-041"].rounding == pytest.approx(0.005)


def test_each_is_read_where_its_claim_is() -> None:
    found = {one.id: one for one in observed("liu2004")}
    (latency,) = found["LIU-045"].experiments
    assert latency.workload == "read_lat"
    assert (latency.settings["adapter"], latency.settings["size"]) == ("mt23108", 4)
    assert latency.benchmark()[0].options.iters == 10_000
    assert found["LIU-045"].best == "min"
    peak = found["LIU-057"]
    assert [one.settings["size"] for one in peak.experiments][-1] == 2**20
    assert {one.settings["adapter"] for one in peak.experiments} == {"mt23108"}
    assert (peak.field, peak.best, peak.tolerance) == ("bandwidth_MBps", "max", 0.03)


def test_one_point_may_be_read_off(edit: Edit) -> None:
    edit('select = "smallest"', "at = 8")
    found = {one.id: one for one in observed("liu2004")}
    assert [one.settings["size"] for one in found["LIU-041"].experiments] == [8]


def test_firmware_mode_and_settings_are_those_of_the_series(edit: Edit) -> None:
    flag = 'settings = { "host.pcix_bridge.streaming" = false }'
    of_series = f'adapter = "mt25218"\nfirmware_mode = "memfree"\n{flag}'
    edit('adapter = "mt25208"', of_series)
    found = {one.id: one for one in observed("liu2004")}
    (asked,), (other,) = (found[name].experiments for name in ("LIU-041", "LIU-044"))
    assert (asked.settings["adapter"], asked.settings["firmware_mode"]) == ("mt25218", "memfree")
    assert asked.overrides == {"host.pcix_bridge.streaming": "false"}
    assert "firmware_mode" not in other.settings
    assert not other.overrides


@pytest.mark.usefixtures("edit")
def test_a_number_is_fitted_in_the_unit_that_was_printed() -> None:
    file = Path("scenarios/liu2004/fig06.toml")
    text = file.read_text()
    assert 'published = 781\nunit = "MB/s"' in text
    file.write_text(
        text.replace('published = 781\nunit = "MB/s"', 'published = 745\nunit = "MiB/s"')
    )
    one = {one.id: one for one in observed("liu2004")}["LIU-057"]
    assert one.unit == "MiB/s"
    assert one.rounding == 0.5
    assert one.read([{"bandwidth_MBps": 781.19}]) == pytest.approx(745, abs=0.01)


@pytest.mark.usefixtures("edit")
def test_a_fit_may_allow_the_model_an_error_beside_the_rounding() -> None:
    file = Path("calibration/fits/liu2004.toml")
    text = file.read_text()
    rounded = {one.id: one.deviation for one in observed("liu2004")}
    file.write_text(text.replace("\nclaims = ", "\nfloor_percent = 2.0\nclaims = ", 1))
    found = {one.id: one.deviation for one in observed("liu2004")}
    assert found["LIU-038"] == pytest.approx(math.hypot(rounded["LIU-038"], 0.02 * 4.8))


FIT = "calibration/fits/liu2004.toml"


def relist(old: str, new: str) -> list[str]:
    """List other claims in the copied fit; return the faults."""
    file = Path(FIT)
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(CatalogError) as caught:
        observed("liu2004")
    return caught.value.faults


@pytest.mark.usefixtures("edit")
def test_the_claims_of_a_fit_are_some_that_there_are() -> None:
    (fault,) = relist('"LIU-057"', '"LIU-75"')
    assert fault.startswith(f"{FIT}: claims: found no 'LIU-75' in the scenarios; did you mean")
    text = Path(FIT).read_text()
    Path(FIT).write_text(re.sub(r"claims = .*\n", "", text))
    with pytest.raises(CatalogError, match="claims: missing; allowed: ids of claims"):
        observed("liu2004")


NUMBER = "allowed if fitted: one number of one measure"


@pytest.mark.usefixtures("edit")
@pytest.mark.parametrize(
    ("other", "found", "allowed"),
    [
        *((name, "kind ", NUMBER) for name in ("LIU-003", "LIU-040", "LIU-072", "LIU-076")),
        ("RAS-016", "quantity 'overhead'", "allowed if fitted: what one benchmark measures"),
    ],
)
def test_only_a_single_number_of_one_benchmark_can_be_fitted(
    other: str, found: str, allowed: str
) -> None:
    (fault,) = relist('"LIU-057"', f'"{other}"')
    assert f"{other}: found {found}" in fault
    assert fault.endswith(allowed)
