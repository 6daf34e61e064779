"""The command answers at once, and refuses words that it does not know."""

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import click
import pytest

from hcasim import __version__
from hcasim.catalog import CatalogError
from hcasim.cli.main import COMMANDS, app
from hcasim.ground.process import build
from tests.unit.cli.conftest import Hcasim

HEAVY = {"matplotlib", "numpy", "pandas", "pydantic", "rich", "scipy", "simpy"}


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)], ids="".join)
def test_help_imports_nothing_heavy(root: Path, words: tuple[str, ...]) -> None:
    code = (
        "import atexit, sys; from hcasim.cli import main;"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        f"main([*{words!r}, '--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: hcasim")
    assert HEAVY & set(done.stderr.split()) == set()


def test_each_command_has_a_line_in_the_help_and_a_help_of_its_own(hcasim_: Hcasim) -> None:
    listing = hcasim_("--help").output
    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(limit=200) in " ".join(listing.split())
        assert hcasim_(name, "-h").code == 0


def test_the_version_of_the_module_is_that_of_the_package(process: Hcasim) -> None:
    assert process("--version").output == f"hcasim {__version__}, {build()}\n"


def test_a_misspelt_command_is_answered_with_the_nearest(hcasim_: Hcasim) -> None:
    assert "found no command 'shwo'" in hcasim_("shwo").messages
    assert "did you mean 'show'?" in hcasim_("shwo").messages
    assert hcasim_("shwo").code == 2


def test_a_misspelt_option_is_answered_with_the_nearest(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--sizes", "8")
    assert found.code == 2
    assert "--size" in found.messages


def test_what_nobody_expected_is_a_line_and_a_code_of_its_own(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: Any, **more: Any) -> None:
        raise LookupError("\x1b[31mno\nsuch\n")

    monkeypatch.setattr("hcasim.runs.experiment.Experiment.benchmark", fail)
    words = ("bench", "write_lat", "--testbed", "liu2004")
    found = hcasim_(*words)
    assert (found.code, found.output) == (70, "")
    (line,) = found.messages.splitlines()
    assert line.startswith(r"Error: hcasim has failed: LookupError: \x1b[31mno\nsuch\n; please ")
    assert "--debug" in line
    for where in (("--debug", *words), (*words, "--debug")):
        found = hcasim_(*where)
        assert found.code == 70
        assert found.messages.startswith("Traceback (most recent call last):\n")
        assert "in fail\n" in found.messages
        assert "\x1b" not in found.messages


@pytest.mark.parametrize("words", [("--adapter", ""), ("--adapter=",), ("--plot", "")])
def test_an_option_that_was_left_empty_is_refused(hcasim_: Hcasim, words: tuple[str, ...]) -> None:
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", *words)
    option = words[0].removesuffix("=")
    assert found.faults == [f"{option}: found ''; allowed: one that is not empty"]
    assert hcasim_("show", "").faults == ["ID: found ''; allowed: one that is not empty"]


def test_words_of_the_command_line_steer_no_terminal(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--\x1b]0;title\x07")
    assert found.code == 2
    assert r"\x1b]0;title\x07" in found.messages
    assert "\x1b" not in found.messages


def test_what_libraries_warn_of_is_a_line_that_steers_no_terminal(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(*words: Any, **more: Any) -> None:
        warnings.simplefilter("always")
        warnings.warn("odd \x1b[31mlabel\n", stacklevel=1)
        raise CatalogError(["enough"])

    monkeypatch.setattr("hcasim.runs.experiment.Experiment.benchmark", warn)
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004")
    assert found.faults == ["Warning: odd \\x1b[31mlabel\\n", "enough"]


@pytest.mark.parametrize("name", [300 * "n", f"./{300 * 'n'}.toml", "~nobody-of-that-name/x.toml"])
@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("calibrate",),
        ("run",),
        ("bench", "write_lat", "--testbed"),
        ("bench", "write_lat", "--testbed", "liu2004", "--adapter"),
        ("show", "mt25208", "--calibration"),
    ],
)
def test_an_id_that_no_file_can_have_is_refused(
    hcasim_: Hcasim, words: tuple[str, ...], name: str
) -> None:
    assert hcasim_(*words, name).faults
