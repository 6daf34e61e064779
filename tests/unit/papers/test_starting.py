"""A file to start from says the same as its base, as it is and with every line in use."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hcasim.catalog import MODELS, CatalogError, list_ids, load, resolve
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.plan import plan
from hcasim.papers.scenario import Scenario
from hcasim.papers.starting import starting_file
from hcasim.workloads import Options


@pytest.mark.parametrize("kind", MODELS)
def test_it_is_the_same_as_its_base_as_it_is_and_with_every_line_in_use(
    kind: str, tmp_path: Path
) -> None:
    for base in list_ids(kind):
        check_start(kind, base, tmp_path)


def check_start(kind: str, base: str, tmp_path: Path) -> None:
    text = starting_file(kind, "mine", base, tmp_path)
    assert max(map(len, (line for line in text.splitlines() if line.startswith("##")))) <= 101
    file, known = tmp_path / "mine.toml", load(base, kind)
    file.write_text(text)
    inherited = [
        replace(one, inherited_from=one.inherited_from or base) for one in known.parameters
    ]
    assert list(load(str(file), kind).parameters) == inherited
    file.write_text(re.sub(r"^# (?=[\w.\"-]+ = )", "", text, flags=re.MULTILINE))
    used = load(str(file), kind)
    assert {one.path: one.value for one in used.parameters} == {
        one.path: one.value for one in known.parameters
    }
    assert {one.evidence for one in used.parameters} == {"assumed"}
    assert {one.inherited_from for one in used.parameters} == {""}


def test_each_parameter_is_there_with_meaning_bounds_and_source(tmp_path: Path) -> None:
    lines = starting_file("adapters", "mine", "mt25208", tmp_path).splitlines()
    place = lines.index('# bus.lanes = { value = 8, evidence = "assumed", source = "what if" }')
    assert lines[place - 3] == "## width of the link: 1, 2, 4, 8, 12 or 16"
    assert lines[place - 2].startswith("## datasheet: ")
    paths = {line.split()[1] for line in lines if line.startswith("# ")}
    assert {one.path for one in load("mt25208").parameters} <= paths


def test_one_line_in_use_changes_one_value(tmp_path: Path) -> None:
    text = starting_file("adapters", "mine", "mt25208", tmp_path)
    file = tmp_path / "mine.toml"
    file.write_text(text.replace("# bus.lanes = { value = 8", "bus.lanes = { value = 4"))
    values = {one.path: one.value for one in load(str(file)).parameters}
    assert values == {one.path: one.value for one in load("mt25208").parameters} | {"bus.lanes": 4}
    assert resolve("liu2004", adapter=str(file)).adapter.id == "mine"


def test_a_base_may_be_a_file_somewhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    Path("one.toml").write_text(starting_file("adapters", "one", "mt25208", Path()))
    Path("deep/two.toml").write_text(starting_file("adapters", "two", "one.toml", Path("deep")))
    assert 'based_on = "./../one.toml"' in Path("deep/two.toml").read_text()
    assert load("deep/two.toml").parameters == load("one.toml").parameters


def test_it_is_the_same_text_each_time_and_a_wrong_base_is_refused(tmp_path: Path) -> None:
    assert len({starting_file("testbeds", "a", "fat-tree-64", tmp_path) for _ in range(3)}) == 1
    with pytest.raises(CatalogError, match="did you mean 'mt25208'"):
        starting_file("adapters", "a", "mt2520", tmp_path)


def points(scenario: Scenario) -> list[tuple[str, str, Options]]:
    return [(one.workload, one.machine.digest, one.options) for one in plan(scenario).jobs]


# Of all papers every third scenario; the others differ in numbers alone.
@pytest.mark.parametrize("base", list_scenarios()[::3])
def test_a_scenario_measures_the_same_as_its_base(base: str, tmp_path: Path) -> None:
    text = starting_file("scenarios", "mine", base, tmp_path)
    assert max(map(len, (line for line in text.splitlines() if line.startswith("##")))) <= 101
    file, known = tmp_path / "mine.toml", load_scenario(base)
    file.write_text(text)
    found = load_scenario(str(file))
    assert (found.id, found.claims) == ("own/mine", ())
    assert (found.options, found.axes) == (known.options, known.axes)
    assert found.series == known.series
    assert points(found) == points(known)
    file.write_text(re.sub("^# ", "", text, flags=re.MULTILINE))
    assert points(load_scenario(str(file))) == points(known)
    assert file.read_text().count("\n[[claims]]") == len(load_scenario(str(file)).claims) <= 1


def test_what_else_a_scenario_may_set_is_there_with_meaning_bounds_and_what_holds(
    tmp_path: Path,
) -> None:
    lines = starting_file("scenarios", "mine", "liu2004/fig06", tmp_path).splitlines()
    place = lines.index("# qps = 1")
    assert lines[place - 1].endswith("(1 to 2147483647)")
    assert lines.index('# verb = "write"') < lines.index('label = "PCI-Express"')
    assert '# id = "MINE-1"' in lines


def test_files_that_the_base_names_are_named_from_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep").mkdir()
    text = starting_file("scenarios", "one", "liu2004/fig03", Path())
    Path("fast.toml").write_text('id = "fast"\ntitle = "Fast"\nbased_on = "mt25208"\n')
    Path("one.toml").write_text(text.replace('"mt25208"', '"fast.toml"'))
    Path("deep/two.toml").write_text(starting_file("scenarios", "two", "one.toml", Path("deep")))
    assert 'adapter = "./../fast.toml"' in Path("deep/two.toml").read_text()
    assert points(load_scenario("deep/two.toml")) == points(load_scenario("one.toml"))
