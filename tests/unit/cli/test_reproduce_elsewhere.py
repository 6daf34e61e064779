"""The claims of papers are judged on a machine of one's own, and everything says that it is."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hcasim as hc

Hcasim = Callable[..., Any]
Simulated = Callable[[], list[Any]]


@pytest.fixture
def lab(hcasim_: Hcasim, in_empty_folder: Path) -> Path:
    """A variant of a testbed, with slower memory."""
    hcasim_("new", "host", "slow", "--based-on", "xeon-e7520")
    hcasim_("new", "testbed", "lab", "--based-on", "liu2004")
    for file, path, value in (
        ("slow.toml", "memory.read_latency", None),
        ("lab.toml", "nodes.host", '"slow.toml"'),
    ):
        text = Path(file).read_text()
        line = re.search(rf"^# ({re.escape(path)} = )(.*)", text, re.MULTILINE)
        assert line is not None
        changed = value or line[2].replace("450 ns", "2 us")
        Path(file).write_text(text.replace(line[0], line[1] + changed))
    return Path("lab.toml")


@pytest.mark.check
def test_claims_that_a_variant_misses_are_missed(hcasim_: Hcasim, lab: Path) -> None:
    assert hcasim_("reproduce", "liu2004/fig04", "-j", "1").code == 0
    words = ("reproduce", "liu2004/fig04", "--testbed", "lab.toml", "-j", "1")
    found = hcasim_(*words, "-o", "out")
    assert found.code == 1
    title, *lines = Path("out/reproduce.txt").read_text().splitlines()
    assert title == "Published and simulated, on another machine: testbed lab.toml"
    assert "all series on testbed lab.toml, not with what the authors had" in lines
    assert found.output.startswith(f"{title}: 1 figure in ")
    written = json.loads(Path("out/reproduce.json").read_text())
    assert written["instead"] == {"testbed": "lab.toml"}
    assert "(on lab.toml)" in Path("out/liu2004-fig04.svg").read_text()
    assert {one["testbed"] for part in written["scenarios"] for one in part["series"]} == {"lab"}
    report = hc.reproduce("liu2004/fig04", testbed=lab, jobs=1)
    assert not report.ok
    assert "testbed='lab.toml'" in repr(report)
    assert "on another machine: testbed lab.toml" in report._repr_html_()


def test_what_the_claims_of_others_compare_is_on_the_same_machine(
    simulated: Simulated, in_empty_folder: Path
) -> None:
    report = hc.reproduce("liu2004/fig03", adapter="mt23108", jobs=1)
    assert {adapter for _, adapter, *_ in simulated()} == {"mt23108"}
    assert {name for name, *_ in simulated()} == {"write_lat", "send_lat", "read_lat"}
    assert [one.scenario.id for one in report.replays] == ["liu2004/fig03"]


def test_it_is_not_for_all_papers_and_must_suit_them(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("reproduce", "--adapter", "mt25208").faults
    assert fault.startswith("adapter: found without a name; allowed: with papers, ")
    faults = hcasim_("reproduce", "sur2005/fig3b", "--adapter", "ne010e").faults
    assert "firmware_mode: found 'mem', but ne010e has no modes" in faults
    (fault,) = hcasim_("reproduce", "liu2004/fig03", "--testbed", "lui2004").faults
    assert "did you mean 'liu2004'?" in fault
