"""Who descends from the programs of a launch, and processes that are held."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from hcasim.launch import descendants as module
from hcasim.launch.channel import Listener
from hcasim.launch.descendants import Descendants

LAST = Path("/proc/sys/kernel/ns_last_pid")


@pytest.fixture
def descendants() -> Iterator[Descendants]:
    one = Descendants()
    yield one
    one.close()


def started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def recycled(pid: int) -> subprocess.Popen[str]:
    """Start a process that gets a number which another has had."""
    for _ in range(1000):
        try:
            LAST.write_text(str(pid - 1))
        except OSError:
            pytest.skip("only root can choose the numbers of processes")
        one = started("cat")
        if one.pid == pid:
            return one
        one.communicate()
    pytest.skip("others take the number again and again")


def test_descendants_are_those_of_programs(descendants: Descendants) -> None:
    parent = started("sh", "-c", "sleep 60 & echo $!; read end; kill $!; wait")
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    other = threading.Event()
    thread = threading.Thread(target=other.wait)
    thread.start()  # which might have started the process
    assert descendants.find(parent.pid) is None
    assert descendants.find(child) is None
    program = descendants.start(parent.pid)
    assert descendants.find(parent.pid) is program
    held = descendants.find(child)
    assert held is not None
    assert descendants.find(child) is held
    for stranger in (0, 1, os.getpid(), os.getppid()):
        assert descendants.find(stranger) is None
    parent.communicate("end\n")
    assert held.ended(10)
    assert descendants.find(child) is None
    other.set()
    thread.join()


@pytest.mark.pure
@pytest.mark.parametrize("looks", [1, 2])
def test_a_line_of_parents_is_read_twice(
    looks: int, descendants: Descendants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile one in it can have ended, and a stranger can have got its number."""
    program, stranger = started("cat"), started("cat")
    descendants.start(program.pid)
    parents = iter([program.pid] * looks)
    monkeypatch.setattr(module, "_parent", lambda pid: next(parents, 0))
    assert (descendants.find(stranger.pid) is not None) == (looks == 2)
    for one in program, stranger:
        one.communicate()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide children of this process that tests before have left, such as idle workers."""
    listed = module._children
    before = listed() or set()
    monkeypatch.setattr(module, "_children", lambda: (listed() or set()) - before)


@pytest.mark.pure
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("others", ["none", "a thread", "a thread before", "a child before"])
def test_orphans_are_children_that_nobody_has_started(
    others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that was there before may have had children, which are orphans when it ends."""
    line = "sh", "-c", "sleep 60 > /dev/null & echo $!; read end"
    before = started(*line) if others == "a child before" else None
    monkeypatch.setattr(module, "active_count", lambda: 1 + (others == "a thread before"))
    descendants = Descendants()
    monkeypatch.setattr(module, "active_count", lambda: 1 + (others == "a thread"))
    orphan = int((before or started(*line)).communicate("end\n")[0])
    found = descendants.find(orphan)
    assert (found is not None) == (others == "none")
    os.kill(orphan, signal.SIGKILL)
    descendants.close()
    with suppress(ChildProcessError):
        os.waitpid(orphan, 0)


def test_only_orphans_are_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for the exit codes of programs and of children that were there before."""
    monkeypatch.setattr(module, "active_count", lambda: 1)
    before = started("false")
    descendants = Descendants()
    program = started("sh", "-c", "exit 3")
    descendants.start(program.pid)
    orphan = Path("/proc", started("sh", "-c", "sleep 0.1 >&- & echo $!").communicate()[0].strip())
    since = monotonic()
    while orphan.exists() and monotonic() < since + 10:
        descendants.reap()
    assert not orphan.exists()
    descendants.close()
    for one, code in (before, 1), (program, 3):
        one.communicate()
        assert one.returncode == code


def test_a_number_that_is_used_again_is_another_process(descendants: Descendants) -> None:
    program = started("true")
    held = descendants.start(program.pid)
    program.communicate()
    program.wait()
    other = recycled(program.pid)
    assert held.ended()
    held.signal(signal.SIGKILL)
    for name in ("mem", "fd/0"):
        with pytest.raises(ProcessLookupError):
            held.open(name, os.O_RDONLY)
    assert held.state(other.pid) == "X"
    assert descendants.find(other.pid) is not held
    assert other.communicate("lives") == ("lives", None)


def test_who_has_connected_is_not_who_has_its_number_now(descendants: Descendants) -> None:
    """A socket outlives the process that connected it, and a program gets the number of that."""
    listener = Listener(descendants)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as kept:
        child = os.fork()
        if not child:
            with suppress(BaseException):
                kept.connect(str(listener.path))
            os._exit(0)
        os.waitpid(child, 0)
        program = recycled(child)
        assert descendants.start(program.pid).pid == child
        came = listener.accept(10)
        assert came is not None
        assert came[1] is None
        came[0].close()
        program.communicate()
    listener.close()
