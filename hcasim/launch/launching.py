"""A launch: programs on the nodes of a machine, in simulated time."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from resource import RLIMIT_NOFILE, getrlimit, setrlimit
from signal import SIGKILL
from typing import Any, Final

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator, Stuck
from hcasim.ground.errors import CatalogError
from hcasim.launch import calls  # noqa: F401 - its functions answer the calls
from hcasim.launch.computing import Computing
from hcasim.launch.library import commands, library, unfit
from hcasim.launch.session import Session, Thread


@dataclass(frozen=True)
class Launched:
    """What came of the programs.

    Attributes:
        codes: their exit codes, in order; of a signal its negative number.
        seconds: simulated time until the last one ended.
        usage: what was busy from the first request to the last completion, to 1 % of the time, as
            shares, and what binds; empty unless it was asked for.
        ended: whether they had to be ended, because nothing could go on or time was up.
    """

    machine: Machine
    programs: tuple[tuple[str, ...], ...]
    codes: tuple[int, ...]
    seconds: float
    usage: Mapping[str, Any]
    ended: bool


_BY_NAME: Final = Computing()
_NO_RANDOM_ADDRESSES: Final = 0x0040000
_DEATH_SIGNAL: Final = 1


def _as_child(descriptors: tuple[int, int]) -> None:
    """Let a program have its memory at the same addresses in each run, its own limits of
    descriptors, and end with us."""
    setrlimit(RLIMIT_NOFILE, descriptors)
    system = ctypes.CDLL(None)
    system.personality(_NO_RANDOM_ADDRESSES)
    system.prctl(_DEATH_SIGNAL, SIGKILL)


@contextlib.contextmanager
def _one_processor() -> Iterator[None]:
    """Stay on one processor with all that is started: one of them runs at a time, so that handing
    over does not have to wake another processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {ctypes.CDLL(None).sched_getcpu()} & before or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _all_descriptors() -> Iterator[tuple[int, int]]:
    """Use as many descriptors as the system allows; gives the limits before."""
    before = getrlimit(RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # The system may allow less than its limit says.
        setrlimit(RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield before
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        most = f"launch: found more processes than {getrlimit(RLIMIT_NOFILE)[0]} descriptors hold"
        raise CatalogError([f"{most}; needed: some 4 for each (ulimit -Hn)"]) from None
    finally:
        setrlimit(RLIMIT_NOFILE, before)


def _start(
    session: Session,
    children: list[subprocess.Popen[bytes]],
    command: Sequence[str],
    node: int,
    size: int,
    descriptors: tuple[int, int],
) -> None:
    """Start a program on a node; it runs when the simulator does."""
    environment = dict(os.environ)
    before = environment.get("LD_PRELOAD")
    environment["LD_PRELOAD"] = f"{library()}{':' + before if before else ''}"
    environment["PATH"] = f"{commands()}:{environment.get('PATH', os.defpath)}"
    environment["HCASIM_CHANNEL"] = str(session.listener.path)
    environment["HCASIM_NODE"] = str(node)
    environment["HCASIM_RANK"] = str(len(children))
    environment["HCASIM_SIZE"] = str(size)
    environment["HCASIM_OUTSIDE"] = _outside()
    try:
        as_child = partial(_as_child, descriptors)
        child = subprocess.Popen(command, env=environment, preexec_fn=as_child)
    except OSError as error:
        raise CatalogError([f"{command[0]}: {error.strerror}"]) from None
    children.append(child)
    held = session.descendants.start(child.pid)
    session.programs.append(held)
    if why := session.meet(held):
        raise CatalogError([f"{command[0]}: it {why}"])


def _outside() -> str:
    """What the programs' standard files are, which others than programs read and write."""
    found = []
    for descriptor in range(3):
        with contextlib.suppress(OSError):
            status = os.fstat(descriptor)
            found.append(f"{status.st_dev}:{status.st_ino}")
    return f",{','.join(found)},"


def launch(
    machine: Machine,
    programs: Sequence[Sequence[str]],
    listen: Callable[[Simulator], None] | None = None,
    until_ps: int = 0,
    explain: bool = False,
    places: Sequence[int] = (),
    computing: Computing = _BY_NAME,
    servers: Collection[int] = (),
) -> Launched:
    """Run programs on nodes of a machine until all have ended.

    Parameters:
        programs: words of each, as a shell would give them.
        listen: is given the simulator before anything happens.
        until_ps: simulated time at which programs that go on are ended; 0 is never.
        explain: also tell what was busy.
        places: the node of each; one after the other if there are none.
        computing: what they take for what they compute.
        servers: places of programs that are sent SIGTERM when all others have ended; a server that
            ran until then has the code 0.

    Raises:
        CatalogError: a program cannot be started, or does not load the library.
    """
    unfits = ((one[0], unfit(one[0])) for one in programs)
    if faults := [
        f"{name}: {why}; needed: one that loads libraries" for name, why in unfits if why
    ]:
        raise CatalogError(faults)
    sim = Simulator(exact=True)
    if listen is not None:
        listen(sim)
    places = places or range(len(programs))
    cluster = Cluster(sim, machine, max(1, *places) + 1)
    session = Session(sim, cluster, explain, computing, until_ps)
    children: list[subprocess.Popen[bytes]] = []
    with _all_descriptors() as descriptors:
        try:
            with _one_processor():
                for command, node in zip(programs, places, strict=True):
                    _start(session, children, command, node, len(programs), descriptors)
                session.servers = {session.programs[place] for place in servers}
                fault = _run(session)
            if fault:
                session.say(fault)
        except BaseException:
            for child in children:
                child.kill()
            raise
        finally:
            session.close()
            codes = [child.wait() for child in children]
    done = tuple(map(tuple, programs))
    codes = [
        0 if one in session.dismissed else code
        for one, code in zip(session.programs, codes, strict=True)
    ]
    return Launched(machine, done, tuple(codes), session.ended_ps / 1e12, session.used, bool(fault))


_WAITS: Final = {
    "POLL_CQ": "polls a completion queue",
    "SLEEP": "sleeps",
    "SPIN": "reads memory in a loop",
    "NOTHING": "looks again and again, and finds nothing",
    "": "computes",
}
"""What a thread does in a call."""


def _doing(thread: Thread) -> str:
    """What a thread does, and what it waits for."""
    if thread.doing != "PARK":
        return f"{thread} {_WAITS.get(thread.doing, thread.doing)}"
    number, waits = thread.process.number, thread.waits.decode(errors="replace")
    waits = re.sub(r"(?<=thread )\d+", lambda found: str(number(int(found[0]))), waits)
    return f"{thread} waits {waits}".rstrip()


def _go_on(sim: Simulator, until_ps: int | None) -> str:
    """Run until a time; return why nothing can go on though retries are to come, if that is so."""
    try:
        sim.run(until_ps)
    except Stuck as error:
        return str(error)
    return ""


def _run(session: Session) -> str:
    """Run until all programs have ended; return why they have not, or nothing."""
    sim, until_ps = session.sim, session.until_ps
    stuck = _go_on(sim, until_ps or None)
    while (stuck or sim.over) and sum(one.resume() for one in session.threads):
        stuck = _go_on(sim, max(until_ps, sim.now) if until_ps else None)
    if session.fault or session.dismissed or not session.threads:
        return session.fault
    where = "; ".join(map(_doing, session.threads))
    if stuck:
        return f"{stuck}; {where}"
    if not sim.over:
        return f"the programs have not ended at {until_ps / 1e12:g} s: {where}"
    return f"nothing can go on: {where}"
