"""A plugin of pytest: curves of one's own, published or measured, held against the model.

The fixture `hcasim` simulates and compares (`hcasim.pytest.model.Model`), the marker `hcasim` does
that before a test begins, with the arguments of `Model.holds`, and each claim of a scenario becomes
a test: of all `*.toml` in the folders that `hcasim_scenarios` in pytest's configuration, or
`--hcasim-scenarios`, names, or of the papers and scenarios whose ids these are.

pytest loads this with every run, so it imports nothing of hcasim before that is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hcasim.pytest.model import Model

_SCENARIOS = "hcasim_scenarios"
_CONTEXT = "context.toml"
"""A paper's statements that no figure replays, beside its scenarios."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what names scenarios."""
    text = "scenarios for hcasim, each claim of which becomes a test: a folder, a file or an id"
    group = parser.getgroup("hcasim")
    group.addoption("--hcasim-scenarios", action="append", default=[], metavar="PATH", help=text)
    parser.addini(_SCENARIOS, f"{text}; as seen from this file", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and have scenarios collected that lie beside the tests."""
    config.addinivalue_line(
        "markers",
        "hcasim(published, testbed, workload=None, within=None, ...): hold a curve against what "
        "hcasim simulates, before the test begins",
    )
    # Who names tests wants these alone.
    asked = _places(config, usual=config.args_source is not pytest.Config.ArgsSource.ARGS)
    known = [config.invocation_params.dir / one.partition("::")[0] for one in config.args]
    for path in asked:
        if not path.exists():
            raise pytest.UsageError(f"{path}: found no such file, folder or id of scenarios")
        if not any(path.resolve().is_relative_to(one.resolve()) for one in known):
            config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take a file of a folder of scenarios for one."""
    if file_path.suffix != ".toml" or file_path.name == _CONTEXT:
        return None
    places = _places(parent.config)
    if not any(file_path.resolve().is_relative_to(one.resolve()) for one in places):
        return None
    from hcasim.pytest.scenarios import ScenarioFile

    file: pytest.Collector = ScenarioFile.from_parent(parent, path=file_path)
    return file


def _places(config: pytest.Config, usual: bool = True) -> list[Path]:
    """Return the files and folders of the scenarios that are asked for, by path or id.

    Parameters:
        usual: with those of the configuration.
    """
    here = config.invocation_params.dir
    named = [(here, one) for one in config.getoption("--hcasim-scenarios")]
    if usual:
        start = config.inipath.parent if config.inipath else config.rootpath
        named += [(start, one) for one in config.getini(_SCENARIOS)]
    return [_place(start, one) for start, one in named]


def _place(start: Path, name: str) -> Path:
    if (path := start / name).exists():
        return path
    from hcasim.catalog.folders import data_path

    found = (data_path("scenarios", one) for one in (name, f"{name}.toml"))
    return next((one for one in found if one.exists()), path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Hold the curves of a test's markers against the model, and then run the test."""
    for mark in item.iter_markers("hcasim"):
        from inspect import signature

        from hcasim.ground.errors import CatalogError
        from hcasim.pytest.model import Disagreement, Model

        model = Model(item.path.parent)
        try:
            signature(model.holds).bind(*mark.args, **mark.kwargs)
        except TypeError as error:
            allowed = (
                "hcasim(published, testbed, workload, ...), as the fixture's holds() takes them"
            )
            pytest.fail(f"hcasim: {error}; allowed: {allowed}", pytrace=False)
        try:
            model.holds(*mark.args, **mark.kwargs)
            continue
        except (CatalogError, Disagreement) as error:
            said = str(error)
        pytest.fail(said, pytrace=False)


@pytest.fixture
def hcasim(request: pytest.FixtureRequest) -> Model:
    """The model, which simulates, and which curves are held against."""
    from hcasim.pytest.model import Model

    return Model(request.path.parent)
