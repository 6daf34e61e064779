"""A scenario may be named by the path of its file, as other descriptions are."""

import shutil
from pathlib import Path

import pytest

import hcasim as hc
from hcasim.catalog import data_path
from hcasim.papers.starting import starting_file
from tests.unit.cli.conftest import Hcasim

THEIRS = data_path("scenarios", "liu2004", "fig03.toml")


@pytest.fixture
def mine(in_empty_folder: Path) -> Path:
    """One's own experiment, without the claims of the paper that it is like."""
    text = THEIRS.read_text().partition("[[claims]]")[0]
    for key, value in {"title": "Mine", "paper": "own"}.items():
        (old,) = (line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(old, f'{key} = "{value}"')
    file = in_empty_folder / "lab" / "mine.toml"
    file.parent.mkdir()
    file.write_text(text)
    return file


@pytest.mark.check
@pytest.mark.usefixtures("simulated")
def test_commands_and_python_take_the_path_of_a_scenario(hcasim_: Hcasim, mine: Path) -> None:
    for name in ("lab/mine.toml", "./lab/mine.toml", str(mine)):
        found = hcasim_("run", name, "--json").json
        assert (found["scenario"], found["title"]) == ("own/mine", "Mine")
        assert hcasim_("show", name, "--json").json["testbed"] == "liu2004"
    assert hcasim_("reproduce", "./lab/mine.toml").code == 0
    assert hcasim_("run", "./lab/mine.toml", "liu2004/fig03", "-o", "out").code == 0
    assert {file.stem for file in Path("out").iterdir()} == {"own-mine", "liu2004-fig03"}
    for one in (mine, str(mine), Path("lab/mine.toml")):
        assert hc.run(one).scenario.id == "own/mine"
    assert hc.reproduce(mine).ok
    assert hc.reproduce([str(mine)]).replays[0].scenario.title == "Mine"


@pytest.mark.usefixtures("simulated")
def test_parts_of_it_may_be_files_that_lie_beside_it(hcasim_: Hcasim, mine: Path) -> None:
    (mine.parent / "fast.toml").write_text(
        starting_file("adapters", "fast", "mt25208", mine.parent)
    )
    text = mine.read_text()
    mine.write_text(text.replace('adapter = "mt25208"', 'adapter = "./fast.toml"'))
    found = hcasim_("run", "lab/mine.toml", "--json").json
    assert [one["adapter"] for one in found["series"]] == ["fast", "mt23108"]
    mine.write_text(text.replace('testbed = "liu2004"', 'testbed = "none.toml"'))
    (fault,) = hcasim_("run", "lab/mine.toml").faults
    assert fault.startswith("lab/mine.toml: testbed: lab/none.toml: no such file; ")


@pytest.mark.usefixtures("simulated")
def test_a_file_takes_the_place_of_the_scenario_whose_id_it_has(
    hcasim_: Hcasim, in_empty_folder: Path
) -> None:
    text = THEIRS.read_text()
    Path("fig03.toml").write_text(text.replace("published = 3.8\n", "published = 8.3\n", 1))
    judged = {one.id: one for one in hc.reproduce("fig03.toml").verdicts}
    assert judged["LIU-041"].published == pytest.approx(8.3, rel=1e-12)
    assert judged["LIU-041"].status == "fail"
    assert hc.run("liu2004/fig03").scenario.claims[0].published == pytest.approx(3.8, rel=1e-12)
    (fault,) = hcasim_("run", "fig03.toml", "liu2004/fig03").faults
    assert fault.startswith("liu2004/fig03: found the id 'liu2004/fig03', which fig03.toml has, ")
    # Claims of another scenario are not judged twice.
    shutil.copy(THEIRS, "mine.toml")
    (fault,) = hcasim_("reproduce", "mine.toml").faults
    assert fault.startswith("liu2004/mine: claims: found LIU-041 of liu2004/fig03, LIU-027-")
    assert fault.endswith("; allowed: ids of its own")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "bad.toml: no such file; its folder holds lab.toml"),
        ("", "bad.toml: found a folder; allowed: a regular file"),
        ("title = ", "bad.toml: not valid TOML: "),
        ('title = "Mine"', "bad.toml: paper: missing"),
        ('id = "a"\ntitle = "A"\nbased_on = "mt25208"', "bad.toml: describes an adapter; a "),
        (THEIRS.read_text().replace('"write_lat"', '"wrte_lat"'), "did you mean 'write_lat'?"),
        (THEIRS.read_text().replace('"liu2004"', '"a:b/c"', 1), "found the id 'a:b/c/bad'; "),
        (THEIRS.read_text().replace("iters", "itres"), "bad.toml: options.itres: "),
    ],
)
def test_a_broken_file_is_refused_in_words(
    hcasim_: Hcasim, in_empty_folder: Path, content: str | None, fault: str
) -> None:
    file = Path("bad.toml")
    Path("lab.toml").touch()
    if content == "":
        file.mkdir()
    elif content is not None:
        file.write_text(content)
    assert any(fault in one for one in hcasim_("run", "./bad.toml").faults)
    with pytest.raises(hc.CatalogError):
        hc.run(file)


def test_a_scenario_is_no_machine(hcasim_: Hcasim, mine: Path) -> None:
    (fault,) = hcasim_("bench", "write_lat", "--testbed", str(mine)).faults
    assert fault == "lab/mine.toml: found a scenario; allowed: a testbed"
    for words in (("run", "./lab"), ("run", "lab/mine"), ("run", "./lab/mien.toml")):
        assert len(hcasim_(*words).faults) == 1
