"""Points that do something else than to simulate, in whatever process they are run."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from hcasim.catalog import resolve
from hcasim.runs.point import Point
from hcasim.workloads import Options, Result
from hcasim.workloads.registry import Listen


@dataclass(frozen=True)
class Doing(Point):
    """Writes a line with its size and its process, and then does what it is for.

    Parameters:
        log: file for the lines.
        home: the process that asks for it.
        deed: "sleep" for a minute, "fail", or "die" so many times as the number after it says;
            in a process of workers only. Else it takes a moment.
    """

    log: str = ""
    home: int = 0
    deed: str = ""

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        size = self.options.size
        with Path(self.log).open("a") as stream:
            stream.write(f"{size} {os.getpid()}\n")
        if self.home == os.getpid():
            time.sleep(0.3)
            return Result({"size": size})
        if self.deed == "sleep":
            time.sleep(60)
            Path(f"{self.log} slept").touch()
        if self.deed == "fail":
            raise ZeroDivisionError
        kind, _, times = self.deed.partition(" ")
        if kind == "die" and len(told(self.log, size)) <= int(times):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)
        return Result({"size": size})


def doing(log: Path, deeds: dict[int, str]) -> list[Doing]:
    """Return points by size, which ask for what they are for of other processes only."""
    machine = resolve("liu2004")
    return [
        Doing("window_bw", machine, Options(size=size), str(log), os.getpid(), deed)
        for size, deed in deeds.items()
    ]


def told(log: str | Path, size: int | None = None) -> list[int]:
    """Return the processes that have begun points, or those of a size."""
    lines = [line.split() for line in Path(log).read_text().splitlines()]
    return [int(process) for one, process in lines if size in (None, int(one))]


def wait_for_end(group: int) -> None:
    """Wait until no process of a group is left: loky's keeper of semaphores goes last."""
    end = time.monotonic() + 120
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            assert time.monotonic() < end
            time.sleep(0.05)
