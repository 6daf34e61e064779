"""Words that name something complete, and a missing one is answered with what there is."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.catalog import list_ids, resolve
from hcasim.workloads import WORKLOADS
from hcasim.workloads.options import OPTIONS
from tests.unit.cli.conftest import Hcasim

Complete = Callable[..., list[str]]
LIU = ("--testbed", "liu2004")


@pytest.fixture
def complete(hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Ask as bash does what the last word may become."""

    def words(*written: str) -> list[str]:
        monkeypatch.setenv("_HCASIM_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("hcasim", *written)))
        monkeypatch.setenv("COMP_CWORD", str(len(written)))
        found = hcasim_()
        assert (found.code, found.messages) == (0, "")
        return [line.replace("plain,", "") for line in found.output.splitlines() if line]

    return words


def test_commands_ids_and_workloads_complete(complete: Complete) -> None:
    assert complete("be") == ["bench"]
    assert complete("bench", "read_") == ["read_lat", "read_bw", "read_bibw"]
    assert complete("bench", "write_lat", "--testbed", "li") == ["liu2004"]
    assert complete("bench", "write_lat", *LIU, "--adapter", "mt23") == ["mt23108"]
    assert complete("show", "opteron-") == ["opteron-8131"]
    assert complete("run", "liu2004/fig0") == [f"liu2004/fig0{number}" for number in range(2, 10)]
    assert complete("reproduce", "rash")[0] == "rashti2007"
    assert complete("calibrate", "li") == ["liu2004"]
    assert complete("calibrate", "x.jsonl", "--testbed", "li") == ["liu2004"]


def test_paths_of_parameters_complete_for_the_machine_that_is_named(complete: Complete) -> None:
    asked = ("--set", "adapter.bus.mm")
    assert complete("bench", "write_lat", *LIU, "--adapter", "mt23108", *asked) == [
        "adapter.bus.mmrbc="
    ]
    assert complete("bench", "write_lat", *LIU, *asked) == []
    assert complete("run", "liu2004/fig03", "--set", "host.memory.b") == ["host.memory.bandwidth="]
    free = ("calibrate", "x.jsonl", *LIU, "--free")
    assert complete(*free, "link.cable") == ["link.cable_length"]


def test_a_path_is_left_to_the_shell(complete: Complete) -> None:
    for words in (("bench", "write_lat", "--testbed"), ("run",), ("reproduce",), ("show",)):
        assert complete(*words, "./my") == ["file,./my"]


def test_what_cannot_be_known_completes_to_nothing(
    complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert complete("blurb", "x") == []
    assert complete("bench", "write_lat", "--testbed", "nothing", "--set", "a") == []
    monkeypatch.setenv("HCASIM_PATH", "/there/is/none")
    assert complete("show", "mt") == ["file,mt"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_and_no_other(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("_HCASIM_COMPLETE", f"{shell}_source")
    assert f"_HCASIM_COMPLETE={shell}_complete" in hcasim_().output
    monkeypatch.setenv("_HCASIM_COMPLETE", f"{shell}_nothing")
    refused = hcasim_()
    assert (refused.code, f"found '{shell}_nothing'; allowed:" in refused.messages) == (2, True)


def test_a_missing_testbed_is_answered_with_those_there_are(hcasim_: Hcasim) -> None:
    for words in (("bench", "write_lat"), ("calibrate", "x.jsonl")):
        found = hcasim_(*words)
        assert found.code == 2
        assert "--testbed" in found.messages
        assert all(name in found.messages for name in list_ids("testbeds"))


@pytest.mark.usefixtures("invented")
def test_programs_and_letters_of_perftest_are_understood(hcasim_: Hcasim) -> None:
    letters = ("-s", "4K,8K", "-q", "2", "-t", "16", "-n", "320")
    own = ("--size", "4K,8K", "--qps", "2", "--tx-depth", "16", "--iters", "320")
    theirs = hcasim_("bench", "ib_write_bw", *LIU, *letters, "--format", "perftest")
    assert theirs.code == 0
    assert theirs.output == hcasim_("bench", "write_bw", *LIU, *own, "--format", "perftest").output
    assert "TX depth        : 16" in theirs.output


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("-I", "64"), "perftest's -I is --inline"),
        (("-m", "0:4M"), "perftest's -m is --mtu; OSU's -m MIN:MAX is --size MIN..MAX"),
        (("-a",), "perftest's -a is --size 2..8M"),
        (("-b",), "perftest's -b is a benchmark of its own: write_bibw, "),
        (("-d", "mlx5_0"), "perftest's -d is --adapter"),
        (("--duration=10",), "perftest's --duration is --iters"),
        (("-Q", "4"), "perftest's -Q is --cq-mod"),
        (("-o", "4"), "perftest's -o is --set adapter.requester.outstanding=N; -o is --output"),
    ],
)
def test_letters_that_collide_say_so(hcasim_: Hcasim, words: tuple[str, ...], line: str) -> None:
    found = hcasim_("bench", "ib_write_lat", *LIU, "-s", "8", *words)
    assert found.code == 2
    assert line in found.messages
    assert line not in hcasim_("bench", "ib_write_lat", *LIU, "-s", "0").messages


def test_help_says_the_default_of_each_number(hcasim_: Hcasim) -> None:
    text = re.sub(r"\s+", " ", hcasim_("bench", "--help").output)
    assert "process in flight (default: 16 to 64, by workload)" in text
    assert "or its buffer's end (cq or memory; default: cq)" in text
    assert "leaves whole (default: 8K)" in text
    assert "Iterations that are timed (default: 1 to 10000, by workload)" in text


def test_an_option_has_one_default_unless_workloads_differ() -> None:
    for name, option in OPTIONS.items():
        knowing = [one for one in WORKLOADS.values() if name in one.options]
        defaults = sorted({getattr(one.defaults, name) for one in knowing})
        if option.usual is not None:
            assert defaults == [option.usual], name
            continue
        ends = [option.label(one) if option.is_size else str(one) for one in defaults]
        assert len(ends) > 1
        assert option.varies in (f"{ends[0]} to {ends[-1]}", f"{ends[1]} or {ends[0]}"), name


def test_a_workload_shows_its_defaults(hcasim_: Hcasim) -> None:
    heading = hcasim_("show", "connectx2").output.splitlines()[0]
    assert heading.endswith(" (stack ofed, of MPI programs mvapich2)")
    output = hcasim_("show", "write_bw").output
    assert re.search(r"^--iters +5000 +Iterations", output, re.MULTILINE)
    assert "--window" not in output
    assert "the tool's own sizes: --size 0..4M\n" in hcasim_("show", "osu_latency").output
    for name in WORKLOADS:
        assert hcasim_("show", name).code == 0
    assert hcasim_("show", "write_bw", "--grep", "x").code == 2


def test_show_finds_a_word_in_paths_values_and_sources(hcasim_: Hcasim, tmp_path: Path) -> None:
    for word in ("LANES", "fitted", "illumos"):
        lines = hcasim_("show", "liu2004", "--grep", word).output.splitlines()[2:]
        assert 0 < len(lines) < len(resolve("liu2004").parameters)
        assert all(word.lower() in line.lower() for line in lines)
    (fault,) = hcasim_("show", "liu2004", "--grep", "nothing of it").faults
    assert fault == "--grep: found no 'nothing of it' in liu2004"


def test_show_takes_what_says_which_machine_bench_runs(hcasim_: Hcasim) -> None:
    words = ("--mtu", "2K", "--stack", "linux-verbs", "--set", "adapter.bus.lanes=4")
    shown = hcasim_("show", "pair", *words, "--json").json
    values = {one["path"]: one["value"] for one in shown["parameters"]}
    assert (values["mtu"], values["adapter.bus.lanes"], shown["stack"]) == (2048, 4, "linux-verbs")
    for found, option in (("mt25208", "--mtu"), ("write_bw", "--set"), ("write_bw", "--no-switch")):
        value = {"--mtu": ["2K"], "--set": ["adapter.bus.lanes=4"]}.get(option, [])
        assert f"{option} is for" in hcasim_("show", found, option, *value).messages
    none = "switch: found no id, and pair-roce has none; allowed: an id, or a file"
    for command in (("show", "pair-roce"), ("bench", "write_lat", "--testbed", "pair-roce")):
        assert hcasim_(*command, "--switch").faults == [none]
