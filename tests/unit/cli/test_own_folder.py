"""All commands work with descriptions of the user's own in a folder, from any other folder."""

import re
from pathlib import Path

import pytest

import hcasim as hc
from hcasim.cli.list import SECTIONS
from hcasim.papers.starting import starting_file
from tests.unit.cli.conftest import Hcasim

FIGURE = """
title = "What I measured"
paper = "mine"
figure = "1"
section = "1"
testbed = "lab"
workload = "write_lat"
options = { sizes = [8, 64], iters = 10, warmup = 2 }

[series.fast]
label = "Fast"
adapter = "fast"

[axes]
x = "Size"
y = "Latency (us)"
field = "latency_us"

[[claims]]
id = "MINE-1"
section = "1"
system = "fast"
statement = "latency of small messages"
quantity = "latency"
published = 3.9
unit = "us"
relation = "="
kind = "value"
measure = { series = "fast", at = 8 }
"""
FIT = """
id = "lab"
title = "Mine"
claims = ["MINE-1"]

[entries."adapters.fast.send.latency"]
value = "790 ns"
bounds = ["0 ns", "2000 ns"]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an adapter, a testbed, a figure and a fit, seen from another folder."""
    own = tmp_path / "own"
    lab = starting_file("testbeds", "lab", "liu2004", tmp_path)
    for key, value in {"adapters": '["fast"]', "default_adapter": '"fast"'}.items():
        lab = re.sub(rf"^# nodes.{key} = .*", f"nodes.{key} = {value}", lab, flags=re.MULTILINE)
    for place, text in {
        "models/adapters/fast": starting_file("adapters", "fast", "mt25208", tmp_path),
        "models/testbeds/lab": lab,
        "scenarios/mine/fig1": FIGURE,
        "calibration/fits/lab": FIT,
    }.items():
        file = own / f"{place}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HCASIM_PATH", "../own")
    return own


def test_every_command_and_python_take_their_values(hcasim_: Hcasim, own: Path) -> None:
    fast, figure = own / "models/adapters/fast.toml", own / "scenarios/mine/fig1.toml"
    usual = 'doorbell.latency = { value = "100 ns"'
    fast.write_text(fast.read_text().replace(f"# {usual}", usual.replace("100", "1100")))
    figure.write_text(FIGURE.replace("3.9", "4.8"))
    listed = hcasim_("list", "--json").json
    rows = {row["id"]: row for name in SECTIONS for row in listed[name]}
    assert {"fast", "lab", "mine/fig1"} <= rows.keys()
    assert not any("BROKEN" in row["title"] for row in rows.values())
    shown = hcasim_("show", "lab").output
    assert "from mt25208" in shown
    assert re.search(r"adapter.doorbell.latency +1100 ns", shown)
    # What they have is what is theirs, and of their own a microsecond in each message.
    theirs = hc.bench("write_lat", "liu2004", size=[8, 64], iters=10, warmup=2).curve.latency_us
    slower = pytest.approx([one + 1 for one in theirs], rel=1e-9)
    words = ("-s", "8,64", "-n", "10", "--warmup", "2", "-j", "1", "--json")
    benched = hcasim_("bench", "write_lat", "--testbed", "lab", *words).json
    assert benched["adapter"] == "fast"
    assert [row["latency_us"] for row in benched["rows"]] == slower
    ran = hcasim_("run", "mine/fig1", "-j", "1", "--json").json
    assert ran["title"] == "What I measured"
    assert [row["latency_us"] for row in ran["series"][0]["rows"]] == slower
    (judged,) = hcasim_("reproduce", "mine", "--json", "-j", "1").json["claims"]
    assert (judged["id"], judged["status"]) == ("MINE-1", "pass")
    assert judged["simulated"] == pytest.approx(theirs[0] + 1, rel=1e-9)
    fitted = hcasim_("calibrate", "lab", "-j", "1").output
    # What is fitted makes up for the rest.
    makes_up = round(790 - 1000 * (theirs[0] + 1 - 4.8))
    assert re.search(rf"adapters.fast.send.latency +{makes_up} ns", fitted)
    assert hc.machine("lab").adapter.id == "fast"
    assert hc.bench("write_lat", "lab", size=[8, 64], iters=10, warmup=2).curve.latency_us == slower
    assert hc.run("mine/fig1", jobs=1).curves["fast"].latency_us == slower
    assert hc.reproduce("mine", jobs=1).summary["pass"] == 1


def test_a_published_figure_is_run_on_a_machine_of_the_users_own(
    hcasim_: Hcasim, own: Path
) -> None:
    files = {"--testbed": "models/testbeds/lab.toml", "--adapter": "models/adapters/fast.toml"}
    words = [word for option, file in files.items() for word in (option, str(own / file))]
    found = hcasim_("run", "liu2004/fig05", *words, "--json", "-j", "1")
    figure = found.json
    theirs = hc.run("liu2004/fig05", jobs=1).curves["pcie_fetch_add"].rows
    for series in figure["series"]:
        assert (series["testbed"], series["adapter"]) == ("lab", "fast")
        # It is the same adapter as theirs but for its name.
        assert series["rows"] == [dict(row) for row in theirs]
    assert figure["title"].endswith("lab.toml, with " + str(own / files["--adapter"]) + ")")
    slower = hc.run("liu2004/fig05", adapter="mt23108", jobs=1)
    assert {one.settings["adapter"] for one in slower.curves.values()} == {"mt23108"}
    (fault,) = hcasim_("run", "liu2004/fig05", "--adapter", "mt2520").faults
    assert "did you mean 'mt25208'?" in fault


def test_a_broken_figure_of_the_users_own_is_no_fault_of_others(hcasim_: Hcasim, own: Path) -> None:
    folder = own / "scenarios" / "mine"
    another = FIGURE.replace("MINE-1", "MINE-2")
    (folder / "fig2.toml").write_text(another.replace('"lab"', '"lob"'))
    (folder / "fig3.toml").write_text("id = ")
    # This one is found only when its points are made.
    (folder / "fig5.toml").write_text(another.replace("iters = 10,", "iters = 10, qps = 1000000,"))
    assert "LIU-041" in hcasim_("show", "liu2004/fig03").output
    assert hcasim_("reproduce", "mine/fig1", "-j", "1").code == 0
    assert hcasim_("calibrate", "lab", "-j", "1").code == 0
    for words in (("show", "mine/fig2"), ("reproduce", "mine/fig3"), ("reproduce", "mine")):
        assert any("scenarios/mine/fig" in fault for fault in hcasim_(*words).faults)
    assert "allowed: up to 65536" in hcasim_("reproduce", "mine/fig5").faults[0]
