"""A launch: programs on the nodes of a machine, in simulated time."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.ground.errors import CatalogError
from hcasim.launch import calls  # noqa: F401 - its functions answer the calls
from hcasim.launch.channel import Listener, Question
from hcasim.launch.keys import Keys
from hcasim.launch.library import library
from hcasim.launch.process import Process
from hcasim.launch.thread import Thread
from hcasim.verbs import Context
from hcasim.workloads.explain import Utilisation

_FIRST_PORT: Final = 32768
_LOOK_S: Final = 0.05
_PATIENCE_S: Final = 10.0
"""Real time in which a program that was started has to say that it is there."""


@dataclass(frozen=True)
class Launched:
    """What came of the programs.

    Attributes:
        codes: their exit codes, in order; of a signal its negative number.
        seconds: simulated time until the last one ended.
        usage: what was busy from the first request on until a queue pair was destroyed, as shares,
            and what binds.
    """

    machine: Machine
    programs: tuple[tuple[str, ...], ...]
    codes: tuple[int, ...]
    seconds: float
    usage: Mapping[str, Any]


class Session:
    """Programs that run on a cluster, one thread at a time."""

    def __init__(self, sim: Simulator, cluster: Cluster) -> None:
        self.sim = sim
        self.cluster = cluster
        self.threads: list[Thread] = []
        self.network = int.from_bytes(os.urandom(7), "little")
        self.keys = Keys()
        self.touches = 0
        self.ended_ps = 0
        self.usage = Utilisation(sim)
        self.used: dict[str, Any] = {}
        self._traffic = False
        self._listener = Listener()
        self._ports = [_FIRST_PORT] * len(cluster.nodes)
        self._said: set[str] = set()

    def start(self, command: Sequence[str], place: int) -> subprocess.Popen[bytes]:
        """Start a program on a node; it runs when the simulator does."""
        environment = dict(os.environ)
        before = environment.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = f"{library()}{':' + before if before else ''}"
        environment["HCASIM_CHANNEL"] = self._listener.name
        environment["HCASIM_PROGRAM"] = str(place)
        environment["HCASIM_OUTSIDE"] = _outside()
        try:
            child = subprocess.Popen(command, env=environment, preexec_fn=_same_addresses)
        except OSError as error:
            raise CatalogError([f"{command[0]}: {error.strerror}"]) from None
        if not self.meet(child.pid):
            fault = "it has not loaded the library; is it linked statically, or setuid?"
            raise CatalogError([f"{command[0]}: {fault}"])
        return child

    def meet(self, pid: int) -> bool:
        """Take the thread that connects next, of a process; False if none does."""
        channel = None
        since = monotonic()
        while channel is None and monotonic() < since + _PATIENCE_S and _lives(pid):
            channel = self._listener.accept(_LOOK_S)
        question = None if channel is None else channel.question()
        if channel is None or question is None:
            return False
        pid, tid, place = question.words[:3]
        process = next((one.process for one in self.threads if one.process.pid == pid), None)
        if process is None:
            node = self.cluster.nodes[place]
            context = Context(self.sim, node, self._free_core(place))
            process = Process(self, pid, node, context, question.data.decode())
        thread = Thread(process, channel, process.context, tid)
        process.threads.append(thread)
        self.threads.append(thread)
        self.sim.process(self._run(thread, question))
        return True

    def _free_core(self, place: int) -> int:
        """The first processor of a node that no process has; of more processes some share one."""
        taken = {one.process.context.core for one in self.threads}
        cores = self.cluster.nodes[place].cores
        free = (number for number in range(len(cores)) if cores[number] not in taken)
        return next(free, len(taken) % len(cores))

    def next_port(self, place: int) -> int:
        """A port of a node that nobody has asked for."""
        self._ports[place] += 1
        return self._ports[place]

    def _run(self, thread: Thread, question: Question) -> Generator[Event, object, None]:
        yield self.sim.timeout(0)
        yield from thread.run(question)
        self.threads.remove(thread)
        self.ended_ps = self.sim.now
        process = thread.process
        if process.changing and not process.threads and not self.meet(process.pid):
            self.say(
                f"a program that {process.name} runs has not loaded the library; it takes no time"
            )
            process.ended()
            self.touched()

    def posts(self) -> None:
        """Traffic begins with the first request, from which on it is measured what is busy."""
        if not self._traffic:
            self._traffic = True
            self.usage.mark()

    def measure(self) -> None:
        """Traffic is over when the first queue pair is destroyed, or with the programs."""
        if self._traffic and not self.used:
            self.used = self.usage.report()

    def touched(self) -> None:
        """Wake all who wait for something that others do."""
        self.touches += 1
        for one in self.threads:
            one.wake()

    def say(self, text: str) -> None:
        """Say something on standard error, once."""
        if text not in self._said:
            self._said.add(text)
            sys.stderr.write(f"hcasim: {text}\n")

    def close(self) -> None:
        self._listener.close()


_NO_RANDOM_ADDRESSES: Final = 0x0040000


def _same_addresses() -> None:
    """Let a program have its memory at the same addresses in each run, where that is allowed."""
    ctypes.CDLL(None).personality(_NO_RANDOM_ADDRESSES)


def _outside() -> str:
    """What the programs' standard files are, which others than programs read and write."""
    found = []
    for descriptor in range(3):
        with contextlib.suppress(OSError):
            status = os.fstat(descriptor)
            found.append(f"{status.st_dev}:{status.st_ino}")
    return f",{','.join(found)},"


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def launch(
    machine: Machine,
    programs: Sequence[Sequence[str]],
    listen: Callable[[Simulator], None] | None = None,
) -> Launched:
    """Run programs on the first nodes of a machine, in order, until all have ended."""
    sim = Simulator(exact=True)
    if listen is not None:
        listen(sim)
    cluster = Cluster(sim, machine, max(2, len(programs)))
    session = Session(sim, cluster)
    children: list[subprocess.Popen[bytes]] = []
    try:
        for place, command in enumerate(programs):
            children.append(session.start(command, place))
        sim.run()
        while sum(one.resume() for one in session.threads):
            sim.run()
        if session.threads:
            waiting = [f"{one.process.name} waits in {one.doing}" for one in session.threads]
            session.say(f"nothing can go on: {'; '.join(waiting)}")
    finally:
        for child in children:
            if session.threads:
                child.kill()
        codes = tuple(child.wait() for child in children)
        session.close()
    session.measure()
    done = tuple(map(tuple, programs))
    return Launched(machine, done, codes, session.ended_ps / 1e12, session.used)
