"""Whatever words a command gets, it ends as commands do: never with a traceback."""

import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hcasim.cli import main
from hcasim.cli.main import COMMANDS, app
from tests.limits import promptly
from tests.unit.cli.terminals import terminal_here

USUAL = {
    "list": [],
    "show": ["mt25208"],
    "run": ["liu2004/fig05", "-j", "1", "--no-cache"],
    "reproduce": ["liu2004/fig05", "-j", "1", "--no-cache"],
    "app": ["program.py", "--testbed", "liu2004", "-n", "2"],
    "bench": ["write_lat", "--testbed", "liu2004", "-j", "1"],
    "sweep": ["write_lat", "--testbed", "liu2004", "-j", "1", "--no-cache"],
    "compare": ["liu2004", "sur2005", "write_lat", "-j", "1", "--no-cache"],
    "why": ["liu2004", "liu2004", "write_lat", "-j", "1", "--no-cache"],
    "sensitivity": [
        *("bw_rd", "--testbed", "pcie-bench-haswell", "--size", "64"),
        *("--only", "host.memory.read_latency", "-j", "1", "--no-cache"),
    ],
    "import": ["trace.jsonl"],
    "check": ["trace.jsonl", "--testbed", "liu2004", "-j", "1", "--no-cache"],
    "calibrate": ["trace.jsonl", "--testbed", "liu2004", "--budget", "3s", "-j", "1"],
    "new": ["adapter", "mine", "--based-on", "mt25208"],
}
"""Words with which each command does something; what is hostile is added."""
PLAIN = r"""
- -- = a= =b * %s%n $(id) {0} \ ' " µ [/x] $x$
0 -1 -0 +1 1.5 1e999 nan inf 0x10 1_0 ٣ ² true 9223372036854775808
8, ,8 8,8 8.. ..8 9..8 1..9G 4K 4k 4KiB 1T 0.5K 5s 0s 1e-300s 1e300s 99% a:b a[0:
loop.json loop.toml none/x.json file/x.csv folder folder/ trace.jsonl ./trace.jsonl file ./file
x.json x.csv x.jsonl x.out x.svg x.html x.toml X.PNG .json . / /dev/null /proc/self/mem
/proc/x.json liu2004 liu2004/ liu2004/fig03 mt25208 ../models write_bw json
x.y=1 adapter.bus=pcix
"""
TEXTS = (
    *("", " ", "\n", " 8 ", "8 64", "\x1b[31m", "\x1b]0;t\x07", "\x9b", "\u202e", "\udcff"),
    *("9" * 30, "9" * 5000, "=" * 50, "n" * 300, f"{'n' * 300}.json", "[link=x]y[/link]"),
    *("adapter.send.latency=1e30 s", "adapter.send.latency=-1 ns"),
    *("adapter.send.latency=1 ns..2 ns", "adapter.bus.lanes=4", "adapter.bus.lanes=9e9"),
    *PLAIN.split(),
)
REPEATED = 3
STEERED = re.compile("[\x1b\x07\x9b\u202e\udcff]")
OURS = r"\x1b\[(?:[0123]?m|\?25[hl]|1A|2K)"
"""Bold, dim, italic and plain; a cursor that is hidden, moves up and clears its line; no colour."""


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command, usually with what it needs, and some of its options with any words."""
    name = draw(st.sampled_from([*COMMANDS]))
    command = app.get_command(click.Context(app), name)
    assert command is not None
    words = [name, *USUAL.get(name, [])]
    if name in ("app", "bench", "calibrate", "import", "new") and draw(st.integers(0, 9)) == 0:
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
    Path("program.py").write_text("def main(comm, *words):\n    yield from comm.barrier()\n")
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


@given(words=lines(), on_terminal=st.booleans())
@example(words=["bench", *USUAL["bench"], "--inline-size", "9" * 5000], on_terminal=False)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_words_end_in_a_traceback(
    odd_folder: Path, invented: Any, ended: list[int], words: list[str], on_terminal: bool
) -> None:
    code, said, printed = (on_a_terminal if on_terminal else on_pipes)(words)
    # 1 is that of invented results which do not meet what was published.
    assert code in ((0, 1, 2) if words[0] == "reproduce" else (0, 2)), f"{words}: {said}"
    assert "Traceback" not in said
    assert "Error: " in said or code != 2
    assert not STEERED.search(printed)
    assert not [file for file in odd_folder.rglob("*") if file.name.startswith(".hcasim")]
    ended.append(code)


def on_pipes(words: list[str]) -> tuple[object, str, str]:
    """Run a command; give its exit code, its messages, and all that it printed."""
    output, messages = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(messages):
        code = exit_code(words)
    return code, messages.getvalue(), output.getvalue() + messages.getvalue()


def on_a_terminal(words: list[str]) -> tuple[object, str, str]:
    """Run a command on a terminal; the same, without what our own tables and bars tell it."""
    with terminal_here() as chunks:
        code = exit_code(words)
    printed = re.sub(OURS, "", b"".join(chunks).decode())
    return code, printed, printed


def exit_code(words: list[str]) -> object:
    """Run a command to its end, promptly."""
    with promptly(), pytest.raises(SystemExit) as caught:
        main(words)
    return caught.value.code
