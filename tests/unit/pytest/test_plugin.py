"""A project of somebody else holds its curves against the model."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import loky  # noqa: F401
import pytest

# Runs in this process forget what they imported, which NumPy and loky do not take twice.
import hcasim.pytest.scenarios  # noqa: F401
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.starting import starting_file
from hcasim.runs.point import Point

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[3]
Run = Callable[..., pytest.RunResult]
QUICK = 'hcasim.bench("write_lat", "liu2004", size="8,64")'


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run pytest in a project with these tests, and with warnings as errors."""

    def run(tests: str = "", *arguments: str, ini: str = "") -> pytest.RunResult:
        pytester.makeini(f"[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n{ini}")
        if tests:
            pytester.makepyfile(test_mine=textwrap.dedent(tests))
        # That this process knows the plugin already is nothing that a project sees.
        known = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
        return pytester.runpytest("-p", "hcasim.pytest", *known, *arguments)

    return run


def test_a_curve_that_agrees_passes_and_one_that_does_not_is_shown_beside_the_model(
    run: Run,
) -> None:
    found = run(
        f"""
        def test_agrees(hcasim):
            found = hcasim.agrees({QUICK}, {{8: 3.8, "64": (3.9, 4.0)}}, within="1 %")
            assert len(found.points) == 2

        def test_misses(hcasim):
            found = {QUICK}
            hcasim.agrees(found, {{8: 3.8, 64: 4.5}})
        """
    )
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(
        [
            ">*hcasim.agrees(found, {8: 3.8, 64: 4.5})",
            "E*write_lat on liu2004, mt25208, latency: 1 of 2 points missed (!)",
            "E*Size * published * simulated * error * allowed",
            "E*8     3.8 us  3.8* us   +0.? %        5 %",
            "E*64     4.5 us  3.9* us  -1?.? % !      5 %",
            "test_mine.py:7: Disagreement",
        ]
    )


def test_a_marker_holds_a_curve_before_the_test_begins(run: Run) -> None:
    found = run(
        """
        import pytest

        begun = []

        @pytest.mark.hcasim({"8": 3.8}, "liu2004", "write_lat", within=0.01)
        def test_agrees():
            begun.append("agrees")

        @pytest.mark.hcasim({8: 4800}, "liu2004", "write_lat", unit="ns", qps=2)
        def test_misses():
            begun.append("misses")

        @pytest.mark.hcasim({8: 3.8}, "liu2004", "write_lat")
        @pytest.mark.hcasim({1: 3.8}, "liu2004", "write_lat", size=8, over="qps")
        class TestSeveral:
            def test_agrees(self):
                begun.append("several")

        def test_which_began():
            assert begun == ["agrees", "several"]
        """
    )
    found.assert_outcomes(passed=3, failed=1)
    found.stdout.fnmatch_lines(["write_lat on liu2004, mt25208, latency: 1 of 1 points missed (!)"])
    found.stdout.no_fnmatch_line("*model.py*")


@pytest.fixture
def printed(pytester: pytest.Pytester) -> Path:
    """What perftest would print of two points, and a trace of them beside it."""
    bench = ("bench", "ib_write_lat", "--testbed", "liu2004", "-s", "8,64")
    form = ("--format", "perftest", "-o", "lat.jsonl")
    command = [sys.executable, "-m", "hcasim", *bench, *form]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    file = pytester.path / "ib_write_lat.txt"
    file.write_text(done.stdout)
    return file


def test_what_a_tool_printed_is_repeated_point_by_point(
    run: Run, pytester: pytest.Pytester, printed: Path
) -> None:
    tests = pytester.mkdir("tests")
    printed.rename(tests / "ib_write_lat.txt")
    (tests / "test_it.py").write_text(
        "def test_it(hcasim):\n"
        '    hcasim.holds("ib_write_lat.txt", "liu2004", within="1 %")\n\n'
        "def test_slower(hcasim):\n"
        '    slow = {"adapter.send.latency": "1 us"}\n'
        '    hcasim.holds("ib_write_lat.txt", "liu2004", within="1 %", overrides=slow)\n'
    )
    found = run("", "tests")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(
        ["E*perftest on liu2004, mt25208: 2 of 2 points missed (!)", "E*write_lat 8 *"]
    )


def test_faults_are_said_where_the_test_asked(run: Run) -> None:
    found = run(
        """
        import pytest

        def test_it(hcasim):
            hcasim.bench("write_lta", "liu2004")

        @pytest.mark.hcasim({8: 3.8}, "liu2005", "write_lat")
        def test_marked():
            pass

        @pytest.mark.hcasim()
        def test_of_nothing():
            pass
        """
    )
    found.assert_outcomes(failed=3)
    found.stdout.fnmatch_lines(
        [
            ">*hcasim.bench*",
            "E*did you mean 'write_lat'[?]",
            "test_mine.py:4: CatalogError",
            "*liu2005*did you mean 'liu2004'[?]",
            "hcasim: missing a required argument: 'published'; allowed: hcasim(published, *",
        ]
    )
    found.stdout.no_fnmatch_line("*self.*")


@pytest.mark.usefixtures("printed")
def test_points_that_cannot_be_simulated_are_told(run: Run) -> None:
    found = run(
        """
        from dataclasses import replace
        import hcasim as hc

        def test_it(hcasim):
            trace = hc.load_trace("lat.jsonl")
            first, second = trace.points
            other = second.model_copy(update={"workload": "post_cost"})
            hcasim.holds(replace(trace, points=(first, other)), "liu2004")
        """
    )
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["E*UserWarning: hcasim: left out 1 point of post_cost*"])


def test_results_are_kept(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HCASIM_CACHE", str(tmp_path / "cache"))
    test = f"def test_it(hcasim):\n    hcasim.agrees({QUICK}, {{8: 3.8}})\n"
    run(test).assert_outcomes(passed=1)
    monkeypatch.setattr(Point, "run", None)
    run(test).assert_outcomes(passed=1)
    run(test.replace("8,64", "16")).assert_outcomes(failed=1)


def test_the_example_of_the_page_passes(run: Run, printed: Path) -> None:
    text = (ROOT / "tests/docs/site/pages/howto/pytest.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(import pytest\n.*?)```", text, re.DOTALL)
    assert printed.name in example
    run(example).assert_outcomes(passed=3)


CLAIM = """
[[claims]]
id = "{id}"
section = "IV"
system = "ours"
statement = "latency of small messages"
quantity = "latency"
kind = "value"
published = {published}
unit = "us"
relation = "="
measure = {{ series = "pcie", select = "smallest" }}
"""
DEVIATION = """
[claims.deviation]
error = 0.5
reason = "it is twice as fast"
mechanism = "nobody knows"
"""


@pytest.fixture
def scenarios(pytester: pytest.Pytester) -> Path:
    """A folder with a scenario of three claims: one met, one missed, one a known deviation."""
    folder = pytester.mkdir("experiments")
    text = starting_file("scenarios", "mine", "liu2004/fig03", folder)
    claims = CLAIM.format(id="MY-1", published=3.8) + CLAIM.format(id="MY-2", published=4.8)
    claims += CLAIM.format(id="MY-3", published=7.6) + DEVIATION
    (folder / "mine.toml").write_text(text + claims)
    (folder / "context.toml").write_text('paper = "own"\ncontext = []\n')
    return folder


INI = "hcasim_scenarios = experiments"


@pytest.mark.usefixtures("scenarios")
def test_each_claim_of_a_scenario_is_a_test(run: Run) -> None:
    found = run("def test_it(): pass", "-rxf", ini=INI)
    found.assert_outcomes(passed=2, failed=1, xfailed=1)
    found.stdout.fnmatch_lines(
        [
            "MY-2: 4.8 us published, 3.80 us simulated",
            "claim *scenario *published  simulated  error*",
            "MY-2 *own/mine *4.8 us*3.80 us*-20.8 %*fitted *fail",
            "XFAIL experiments/mine.toml::MY-3 - *it is twice as fast; nobody knows",
            "FAILED experiments/mine.toml::MY-2 - MY-2: 4.8 us published, 3.80 us simulated",
        ]
    )


@pytest.mark.usefixtures("scenarios")
@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["test_mine.py"], 1),
        (["experiments/mine.toml::MY-1"], 1),
        (["test_mine.py", "experiments"], 4),
        (["."], 4),
        (["-k", "MY-1"], 1),
    ],
)
def test_who_names_tests_gets_these_alone(run: Run, arguments: list[str], count: int) -> None:
    found = run("def test_it(): pass", "--collect-only", "-q", *arguments, ini=INI)
    assert sum("::" in line for line in found.outlines) == count


def test_a_folder_on_the_command_line_counts_as_one_of_the_configuration(
    run: Run, scenarios: Path
) -> None:
    arguments = ["test_mine.py", "--hcasim-scenarios", "experiments", "-k", "MY-1 or it"]
    run("def test_it(): pass", *arguments).assert_outcomes(passed=2, deselected=2)
    # Nobody has asked for these.
    run("def test_it(): pass").assert_outcomes(passed=1)
    found = run("", "--hcasim-scenarios", "experimens")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["*experimens: found no such file, folder or id of scenarios"])


@pytest.mark.parametrize("name", ["liu2004/fig03", "sur2005"])
def test_scenarios_of_ours_are_found_by_their_ids(run: Run, name: str) -> None:
    wanted = [one for one in list_scenarios() if one.startswith(name)]
    claims = sum(len(load_scenario(one).claims) for one in wanted)
    for ini, arguments in (("", ["--hcasim-scenarios", name]), (f"hcasim_scenarios = {name}", [])):
        found = run("", "--collect-only", "-q", *arguments, ini=ini)
        assert sum("::" in line for line in found.outlines) == claims


@pytest.mark.check
def test_a_deviation_that_is_none_any_more_fails_where_the_project_is_strict(
    run: Run, scenarios: Path
) -> None:
    file = scenarios / "mine.toml"
    file.write_text(file.read_text().replace("published = 7.6", "published = 3.8"))
    run("", "-k", "MY-3", ini=INI).assert_outcomes(passed=1, deselected=2)
    strict = f"{INI}\nxfail_strict = true"
    found = run("", "-k", "MY-3", ini=strict)
    found.assert_outcomes(failed=1, deselected=2)
    found.stdout.fnmatch_lines(["*meets the claim although a deviation is documented*"])


def test_a_file_with_faults_is_an_error_that_names_them(run: Run, scenarios: Path) -> None:
    file = scenarios / "mine.toml"
    text = file.read_text().replace('\nquantity = "latency"', '\nquantity = "latencies"', 1)
    file.write_text(text.replace('\nkind = "value"', '\nkind = "valeu"', 1))
    found = run("", ini=INI)
    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines(
        [
            "experiments/mine.toml: claims[[]1].quantity: found 'latencies'*",
            "experiments/mine.toml: claims[[]1].kind: found 'valeu'*",
        ]
    )
    found.stdout.no_fnmatch_line("*Traceback*")


def test_nothing_of_hcasim_is_imported_before_it_is_asked_for(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it():
            loaded = [one for one in sys.modules if one.startswith("hcasim.")]
            assert loaded == ["hcasim.pytest"]
            assert not {"numpy", "pydantic", "simpy"} & set(sys.modules)

        def test_help(pytestconfig):
            assert "hcasim_scenarios" in pytestconfig._parser._inidict
        """
    )
    # Other plugins import what they like.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    found = pytester.runpytest_subprocess("-p", "hcasim.pytest", "-W", "error", "--strict-markers")
    found.assert_outcomes(passed=2)
