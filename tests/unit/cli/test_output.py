"""What a terminal shows, and data for programs."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hcasim.cli.output import to_csv


def test_csv_has_every_column_that_some_row_has() -> None:
    assert to_csv([{"a": 1}, {"a": 2, "b": "x,y"}]) == 'a,b\n1,\n2,"x,y"\n'


@pytest.mark.parametrize("columns", [80, 160])
def test_a_terminal_gets_a_drawn_table_that_fits(root: Path, columns: int) -> None:
    output = on_terminal(root, columns, "show", "mt25208")
    lines = output.replace("\r", "").splitlines()
    assert any("───" in line for line in lines)
    assert max(map(len, lines)) <= columns
    assert any("adapter.bus.dllp_tlps_per_update" in line for line in lines)


def test_a_terminal_sees_progress_that_leaves_no_trace_in_the_data(root: Path) -> None:
    output = on_terminal(root, 80, "bench", "write_lat", "--testbed", "liu2004", "--size", "8")
    assert "Simulating" in output


def on_terminal(root: Path, columns: int, *words: str) -> str:
    """Run a command on a terminal of a width and give what appears there."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "hcasim", *words],
        cwd=root,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as child:
        os.close(theirs)
        chunks = []
        try:
            while chunk := os.read(ours, 65536):
                chunks.append(chunk)
        except OSError:
            # Linux says so when the last writer has closed the terminal.
            pass
        os.close(ours)
    assert child.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(chunks).decode())
