"""list and show tell what there is and where each value comes from."""

import os
from pathlib import Path

import pytest

from hcasim.catalog import MODELS, list_ids, resolve
from hcasim.cli.list import SECTIONS
from hcasim.papers.loader import list_scenarios
from hcasim.workloads import WORKLOADS
from tests.unit.cli.conftest import Hcasim


def test_list_names_everything(hcasim_: Hcasim) -> None:
    found = hcasim_("list", "--json").json
    assert {row["id"] for row in found["models"]} == {i for kind in MODELS for i in list_ids(kind)}
    assert [row["id"] for row in found["scenarios"]] == list_scenarios()
    assert [row["id"] for row in found["workloads"]] == list(WORKLOADS)
    assert [row["id"] for row in found["calibrations"]] == list_ids("calibrations")
    assert all(row["title"] for name in SECTIONS for row in found[name])


def test_list_may_be_asked_for_one_section(hcasim_: Hcasim) -> None:
    output = hcasim_("list", "workloads").output
    assert "write_lat" in output
    assert "mt25208" not in output
    assert hcasim_("list", "workloadz").code == 2


def test_show_prints_each_parameter_with_evidence_and_source(hcasim_: Hcasim) -> None:
    rows = hcasim_("show", "liu2004", "--json").json["parameters"]
    assert {row["path"] for row in rows} == {p.path for p in resolve("liu2004").parameters}
    assert all(row["evidence"] and row["source"] for row in rows)
    assert "adapter.bus.lanes" in hcasim_("show", "liu2004").output


@pytest.mark.parametrize(
    ("identifier", "prefix"),
    [
        ("mt23108", "adapter."),
        ("xeon-e7520", "host."),
        ("infiniscale", "switch."),
        ("vapi", "stack."),
    ],
)
def test_show_prints_the_paths_that_set_takes(
    hcasim_: Hcasim, identifier: str, prefix: str
) -> None:
    rows = hcasim_("show", identifier, "--json").json["parameters"]
    assert rows
    for row in rows:
        assert row["path"].startswith(prefix)
        resolve("liu2004", adapter="mt23108", overrides={row["path"]: row["text"]})


def test_show_takes_another_adapter_for_a_testbed(hcasim_: Hcasim) -> None:
    assert "adapter.bus.mmrbc" in hcasim_("show", "liu2004", "--adapter", "mt23108").output
    assert hcasim_("show", "vapi", "--adapter", "mt23108").code == 2


def test_show_takes_another_switch_for_a_testbed(hcasim_: Hcasim) -> None:
    shown = hcasim_("show", "pair", "--switch", "sx6036", "--json").json
    assert shown["switch"] == "sx6036"
    (speed,) = (one for one in shown["parameters"] if one["path"] == "link.speed")
    assert speed["value"] == "FDR"
    assert speed["source"].startswith("the ports of sx6036 allow no more: EDR (")
    (fault,) = hcasim_("show", "liu2004", "--switch", "xg700").faults
    assert fault.startswith("liu2004: link.kind: found infiniband; allowed: ethernet")
    for other in ("vapi", "write_lat"):
        assert hcasim_("show", other, "--switch", "sx6036").code == 2


def test_show_prints_a_scenario_with_its_claims(hcasim_: Hcasim) -> None:
    output = hcasim_("show", "liu2004/fig03").output
    assert "LIU-041" in output
    assert "4 8 16 32" in output
    assert hcasim_("show", "liu2004/fig03", "--json").json["figure"] == "3"


@pytest.mark.parametrize(("name", "near"), [("mt25280", "mt25208"), ("liu2004/fig3", "fig03")])
def test_an_unknown_id_is_answered_with_the_nearest(hcasim_: Hcasim, name: str, near: str) -> None:
    (fault,) = hcasim_("show", name).faults
    assert "did you mean" in fault
    assert near in fault


def test_list_and_show_survive_a_broken_file_of_the_users(
    hcasim_: Hcasim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapters = tmp_path / "models" / "adapters"
    adapters.mkdir(parents=True)
    (adapters / "broken.toml").write_text("id = ")
    os.mkfifo(adapters / "pipe.toml")
    monkeypatch.setenv("HCASIM_PATH", str(tmp_path))
    (adapters / "torn.toml").write_text('id = "torn"\ntitle = "x"\nbased_on = "mt25208"\nports = 1')
    figure = tmp_path / "scenarios" / "mine" / "fig1.toml"
    figure.parent.mkdir(parents=True)
    figure.write_text('title = "A figure"\n')
    fit = tmp_path / "calibration" / "fits" / "mine.toml"
    fit.parent.mkdir(parents=True)
    fit.write_text('id = "yours"\n')
    found = hcasim_("list", "--json").json
    rows = {row["id"]: row for name in SECTIONS for row in found[name]}
    for name, fault in {
        "broken": "not valid TOML",
        "pipe": "found a pipe",
        "torn": "ports: found 1 without evidence",
        "mine/fig1": "missing",
        "mine": "id: found 'yours'; allowed: 'mine'",
    }.items():
        assert rows[name]["title"].startswith("BROKEN: ")
        assert fault in rows[name]["title"]
    assert sum("BROKEN" in row["title"] for row in rows.values()) == 5
    assert rows["broken"]["where"] == str(adapters)
    assert rows["mt25208"]["where"] == "hcasim"
    assert hcasim_("list").code == hcasim_("show", "mt25208").code == 0
    assert "not valid TOML" in hcasim_("show", "broken").faults[0]


def test_show_reads_a_file_and_tells_its_kind(hcasim_: Hcasim, root: Path) -> None:
    file = str(root / "models" / "stacks" / "vapi.toml")
    shown = hcasim_("show", file, "--json").json
    assert (shown["id"], shown["kind"]) == ("vapi", "stacks")


def test_show_says_from_which_description_a_value_is_inherited(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    lanes = '{ value = 4, evidence = "assumed", source = "a guess" }'
    file.write_text(f'id = "mine"\ntitle = "x"\nbased_on = "mt25208"\n[bus]\nlanes = {lanes}\n')
    shown = hcasim_("show", str(file), "--json").json
    rows = {row["path"]: row for row in shown["parameters"]}
    assert rows["adapter.bus.lanes"]["inherited_from"] is None
    assert rows["adapter.ports"]["inherited_from"] == "mt25208"
    lines = hcasim_("show", str(file)).output.splitlines()
    (lanes,) = (line for line in lines if line.startswith("adapter.bus.lanes "))
    (ports,) = (line for line in lines if line.startswith("adapter.ports "))
    assert "from mt25208: " in ports
    assert "from mt25208" not in lanes


def test_list_and_show_take_the_forms_of_all_results(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "models.csv"
    printed = hcasim_("list", "models", "--format", "csv", "-o", str(file)).output
    assert printed == file.read_text()
    assert printed.splitlines()[0] == "section,id,kind,title,where"
    assert len(printed.splitlines()) > sum(len(list_ids(kind)) for kind in MODELS)
    for what in ("liu2004", "write_lat", "liu2004/fig03"):
        assert hcasim_("show", what, "--format", "markdown").output.startswith("| ")
    (fault,) = hcasim_("show", "liu2004", "-o", "x.png").faults
    assert "allowed endings" in fault
    assert hcasim_("list", "--plot", "x.png").code == 2


def test_show_says_what_a_parameter_or_the_parameters_of_a_section_mean(hcasim_: Hcasim) -> None:
    head, one = hcasim_("show", "mt25208", "adapter.send.latency").output.splitlines()[1:]
    assert head.split() == ["path", "value", "meaning", "evidence", "source"]
    assert one.startswith("adapter.send.latency  790 ns (761 ns to 819 ns)  delay of a packet thr")
    found = hcasim_("show", "liu2004", "adapter.mtt", "--json").json["parameters"]
    assert {row["path"].rpartition(".")[0] for row in found} == {"adapter.mtt"}
    assert all(row["meaning"] for row in found)
    (fault,) = hcasim_("show", "mt25208", "adapter.send.latencie").faults
    assert fault.endswith("of mt25208; did you mean 'adapter.send.latency'?")
    assert hcasim_("show", "write_lat", "adapter.send").code == 2


def test_one_quantity_has_one_unit(hcasim_: Hcasim) -> None:
    rows = hcasim_("show", "liu2004", "--json").json["parameters"]
    assert {row["unit"] for row in rows} == {"", "B", "B/s", "ns", "m", "ns/m", "op/s", "Hz"}
    by_path = {row["path"]: row for row in rows}
    assert by_path["adapter.send.latency"]["value"] == 790
    assert by_path["link.cable_length"]["value"] == 5
    (call,) = hcasim_("show", "apt", "stack.registration.call").output.splitlines()[2:]
    assert call.split()[1:3] == ["10000", "ns"]
