"""Whatever words a command gets, it ends as commands do: never with a traceback."""

import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hcasim.cli import main
from hcasim.cli.app import COMMANDS, app

USUAL = {
    "list": [],
    "show": ["mt25208"],
    "run": ["liu2004/fig05", "-j", "1", "--no-cache"],
    "reproduce": ["liu2004/fig05", "-j", "1", "--no-cache"],
    "bench": ["write_lat", "--testbed", "liu2004", "-j", "1"],
    "import": ["trace.jsonl"],
    "calibrate": ["trace.jsonl", "--testbed", "liu2004", "--budget", "3", "-j", "1"],
    "new": ["adapter", "mine", "--based-on", "mt25208"],
}
"""Words with which each command does something; what is hostile is added."""
TEXTS = (
    *("", " ", "-", "--", "=", "a=", "=b", "*", "%s%n", "$(id)", "{0}", "\\", "'", '"', "\n"),
    *(
        "\x1b[31m",
        "\x1b]0;t\x07",
        "\x9b",
        "\u202e",
        "\udcff",
        "µ",
        "[/x]",
        "[link=x]y[/link]",
        "$x$",
    ),
    *("0", "-1", "-0", "+1", "1.5", "1e999", "nan", "inf", "0x10", "1_0", "٣", "²", " 8 ", "true"),
    *(
        "9223372036854775808",
        "9" * 30,
        "9" * 5000,
        "8,",
        ",8",
        "8,8",
        "8..",
        "..8",
        "9..8",
        "1..9G",
    ),
    *(
        "4K",
        "4k",
        "4KiB",
        "1T",
        "0.5K",
        "8 64",
        "5s",
        "0s",
        "1e-300s",
        "1e300s",
        "99%",
        "a:b",
        "a[0:",
    ),
    *(
        "n" * 300,
        f"{'n' * 300}.json",
        "loop.json",
        "loop.toml",
        "none/x.json",
        "file/x.csv",
        "folder",
    ),
    *(
        "x.json",
        "x.csv",
        "x.jsonl",
        "x.out",
        "x.svg",
        "x.html",
        "x.toml",
        "X.PNG",
        ".json",
        "/dev/null",
    ),
    *("trace.jsonl", "./trace.jsonl", "file", "folder/", "/proc/self/mem", "/proc/x.json", "."),
    *(
        "liu2004",
        "mt25208",
        "./file",
        "liu2004/fig03",
        "liu2004/",
        "/",
        "../models",
        "write_bw",
        "json",
    ),
    *("adapter.bus.lanes=4", "adapter.bus.lanes=9e9", "adapter.send.latency=1e30 s", "x.y=1", "."),
    *(
        "adapter.send.latency=-1 ns",
        "adapter.bus=pcix",
        "adapter.send.latency=1 ns..2 ns",
        "=" * 50,
    ),
)
REPEATED = 3


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command, usually with what it needs, and some of its options with any words."""
    name = draw(st.sampled_from([*COMMANDS]))
    command = app.get_command(click.Context(app), name)
    assert command is not None
    words = [name, *USUAL.get(name, [])]
    if name in ("bench", "calibrate", "import", "new") and draw(st.integers(0, 9)) == 0:
        del words[draw(st.integers(1, len(words) - 1)) :]
    for _ in range(draw(st.integers(1, REPEATED))):
        option = draw(st.sampled_from(command.params))
        text = draw(st.sampled_from(TEXTS))
        if isinstance(option, click.Option):
            words.append(draw(st.sampled_from([*option.opts, *option.secondary_opts])))
            words += [] if option.is_flag else [text]
        else:
            words.append(text)
    return words


@pytest.fixture
def odd_folder(in_empty_folder: Path, exact: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trace, a file, a folder and links that lead in a circle."""
    trace = (exact / "write_lat.jsonl").read_bytes()
    Path("trace.jsonl").write_bytes(trace)
    Path("file").write_text("\x1b[31m")
    Path("folder").mkdir()
    for name in ("loop.json", "loop.toml"):
        Path(name).symlink_to(name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(trace)))
    return in_empty_folder


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The exit codes of the commands so far."""
    codes: list[int] = []
    yield codes
    print(f"{len(codes)} command lines, of which {codes.count(0)} did something")


@given(words=lines())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_words_end_in_a_traceback(
    odd_folder: Path, invented: Any, ended: list[int], words: list[str]
) -> None:
    output, messages = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(messages), pytest.raises(SystemExit) as caught:
        main(words)
    code = caught.value.code
    said = messages.getvalue()
    # 1 is that of invented results which do not meet what was published.
    assert code in ((0, 1, 2) if words[0] == "reproduce" else (0, 2)), f"{words}: {said}"
    assert "Traceback" not in said
    assert "Error: " in said or code != 2
    assert not set(output.getvalue() + said) & set("\x1b\x07\x9b\u202e\udcff")
    assert not [file for file in odd_folder.rglob("*") if file.name.startswith(".hcasim")]
    ended.append(code)
