"""Workers on this machine."""

import subprocess
import sys
from pathlib import Path

# In a process of its own: once something has started Python's tracker, it is never started again.
SCRIPT = """
import signal
from hcasim.runs.processes import Processes

if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    processes = Processes(2, 2)
    processes.begin()
    blocked = processes._pool.executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
    print(signal.SIGINT in blocked.result())
    processes.end()
"""


def test_workers_never_see_what_the_thread_that_starts_them_has_blocked(
    root: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    child = subprocess.run(
        [sys.executable, script], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert (child.stdout, child.stderr) == ("True\n", "")
