"""The README can be read in a minute, and what it shows of the model is true."""

import re
from pathlib import Path

import pytest

from hcasim.cli import main
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.plan import plan_papers
from hcasim.papers.roles import Standing, standings
from hcasim.papers.scenario import Scenario
from tests.docs.examples import ROOT
from tests.docs.site.evidence import SIMULATED, counts

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
(FIGURE,) = re.findall(r"!\[[^\]]*\]\((\S+\.svg)\)", TEXT)
((COMMAND, SCENARIO),) = re.findall(r"`(hcasim run (\S+) --plot \S+\.svg)` draws this figure", TEXT)


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return [load_scenario(name) for name in list_scenarios()]


@pytest.fixture(scope="module")
def standing(scenarios: list[Scenario]) -> dict[str, Standing]:
    return dict(standings(plan_papers(scenarios)))


def test_it_is_short() -> None:
    assert len(TEXT.splitlines()) <= 220


def test_the_counts_of_claims_are_those_of_the_scenarios(
    scenarios: list[Scenario], standing: dict[str, Standing]
) -> None:
    assert counts(scenarios, standing) in TEXT
    peers = [one for own in scenarios if own.paper == SIMULATED for one in own.claims]
    missed = sum(one.deviation is not None for one in peers)
    assert f"`{SIMULATED}` ({len(peers)} claims, {missed} missed)" in TEXT


def drawn(svg: str) -> list[float]:
    """Where the lines and the stars of a figure are."""
    lines = re.findall(r'<path d="([^"]*)" clip-path', svg)
    stars = re.findall(r'<use xlink:href="#m[0-9a-f]+" x="(\S+)" y="(\S+)"', svg)
    words = [word for line in lines for word in re.findall(r"[-\d.]+", line)]
    return [float(word) for word in (*words, *(word for star in stars for word in star))]


@pytest.mark.check
def test_the_figure_is_what_its_command_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([*COMMAND.split()[1:], "-j", "1"])
    (found,) = tmp_path.iterdir()
    stored = drawn((ROOT / FIGURE).read_text(encoding="utf-8"))
    assert len(stored) > 40
    # Otherwise draw it again: COMMAND, with the name of the stored figure.
    assert drawn(found.read_text(encoding="utf-8")) == pytest.approx(stored, rel=1e-4), COMMAND


def test_most_of_the_stars_are_predictions(standing: dict[str, Standing]) -> None:
    claims = [one for one in load_scenario(SCENARIO).claims if one.unit == "MiB/s"]
    roles = [standing[one.id].role for one in claims]
    assert "Three of the ten" in TEXT
    assert "predicts the other seven" in TEXT
    assert (roles.count("fitted"), roles.count("predicted")) == (3, 7)


def test_each_block_of_the_diagram_is_a_folder_or_a_file() -> None:
    (diagram,) = re.findall(r"```text\n( host/.*?)```", TEXT, re.DOTALL)
    names = set(re.findall(r"[a-z_]+/?", diagram))
    assert len(names) > 25
    folders = {name for name in names if name.endswith("/")}
    top = ROOT / "hcasim"
    places = [one for name in folders for one in (top / name, top / "hca" / name) if one.is_dir()]
    assert len(places) == len(folders)
    files = {file.stem for folder in places for file in folder.glob("*.py")}
    assert names - folders - files == set()
