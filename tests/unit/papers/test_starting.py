"""A scenario to start from measures what its base does, as it is and with every line in use."""

import re
from pathlib import Path

import pytest

from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.plan import plan
from hcasim.papers.scenario import Scenario
from hcasim.papers.starting import starting_file
from hcasim.workloads import Options


def points(scenario: Scenario) -> list[tuple[str, str, Options]]:
    return [(one.workload, one.machine.digest, one.options) for one in plan(scenario).jobs]


# Of all papers every third scenario; the others differ in numbers alone.
@pytest.mark.parametrize("base", list_scenarios()[::3])
def test_it_measures_the_same_as_its_base(base: str, tmp_path: Path) -> None:
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


def test_what_else_may_be_set_is_there_with_meaning_bounds_and_what_holds(tmp_path: Path) -> None:
    lines = starting_file("scenarios", "mine", "liu2004/fig06", tmp_path).splitlines()
    place = lines.index("# qps = 1")
    assert lines[place - 1].endswith("(1 to 2147483647)")
    assert '# firmware_mode = "tavor"' in lines
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
