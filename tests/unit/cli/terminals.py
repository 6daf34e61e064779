"""Commands on a terminal, which is a pseudo-terminal here."""

import contextlib
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path


def on_terminal(root: Path, columns: int, *words: str, **environment: str) -> str:
    """Run a command on a terminal of a width and give the text that appears there."""
    raw = sent_to_terminal(root, columns, *words, NO_COLOR="1", **environment)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw)


def sent_to_terminal(root: Path, columns: int, *words: str, **environment: str) -> str:
    """Run a command on a terminal of a width and give all that is sent there."""
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    usual = {"COLUMNS": str(columns), "TERM": "xterm-256color"}
    with terminal() as (theirs, chunks):
        done = subprocess.run(
            [sys.executable, "-m", "hcasim", *words],
            cwd=root,
            env=inherited | usual | environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            check=False,
        )
    sent = b"".join(chunks).decode()
    assert done.returncode == 0, sent
    return sent


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, list[bytes]]]:
    """Give a terminal, and a list that holds at the end what was sent there."""
    ours, theirs = pty.openpty()
    chunks: list[bytes] = []

    def receive() -> None:
        # Linux fails with an error when the last writer has closed the terminal.
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 65536):
                chunks.append(chunk)

    # A terminal that nobody reads lets its writers wait.
    reader = threading.Thread(target=receive, daemon=True)
    reader.start()
    try:
        yield theirs, chunks
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)


@contextlib.contextmanager
def terminal_here() -> Iterator[list[bytes]]:
    """Let this process print to a terminal; give a list that holds at the end what was sent."""
    # The streams are closed first, while the terminal still takes what is left in them.
    with (
        terminal() as (theirs, chunks),
        os.fdopen(os.dup(theirs), "w", encoding="utf-8") as output,
        os.fdopen(os.dup(theirs), "w", encoding="utf-8") as messages,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(messages),
    ):
        yield chunks
