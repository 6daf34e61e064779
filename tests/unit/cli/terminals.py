"""Commands on a terminal, which is a pseudo-terminal here."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path


def on_terminal(root: Path, columns: int, *words: str, **environment: str) -> str:
    """Run a command on a terminal of a width and give the text that appears there."""
    raw = sent_to_terminal(root, columns, *words, NO_COLOR="1", **environment)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw)


def sent_to_terminal(root: Path, columns: int, *words: str, **environment: str) -> str:
    """Run a command on a terminal of a width and give all that is sent there."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    usual = {"COLUMNS": str(columns), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "hcasim", *words],
        cwd=root,
        env=inherited | usual | environment,
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
    sent = b"".join(chunks).decode()
    assert child.returncode == 0, sent
    return sent
