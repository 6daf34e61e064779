"""Programs that fail, hang or get in the way are named, ended, and leave nothing behind."""

import ctypes
import os
import stat
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit, setrlimit
from time import monotonic
from types import ModuleType

import pytest

from hcasim.ground.errors import CatalogError
from hcasim.launch import channel, launch, launching, session
from hcasim.runs.machine import find_machine
from tests.launch.test_time import compiled, run
from tests.programs import header


def test_who_waits_is_told_for_what(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = """
        static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
        static sem_t none;
        static int ends[2];
        static void *lock(void *start)
        {
            pthread_mutex_lock(&two);
            usleep(2);
            pthread_mutex_lock(&one);
        }
        static void *get(void *start) { char byte; read(ends[0], &byte, 1); }
        static void *look(void *start)
        {
            struct pollfd both[2] = {{ends[0], POLLIN}, {ends[1], POLLERR}};
            poll(both, 2, -1);
        }
        static void *serve(void *start)
        {
            struct sockaddr_in own = {AF_INET, htons(18515)};
            int end = socket(AF_INET, SOCK_STREAM, 0);
            bind(end, (void *)&own, sizeof(own));
            listen(end, 1);
            accept(end, NULL, NULL);
        }
        static void *take(void *start) { sem_wait(&none); }
        static void *await(void *thread) { pthread_join(*(pthread_t *)thread, NULL); }
        int main(void)
        {
            void *(*all[])(void *) = {lock, get, look, serve, take};
            pthread_t thread, first;
            pipe(ends);
            pthread_mutex_lock(&one);
            for (int i = 0; i < 5; i++)
                pthread_create(i ? &thread : &first, NULL, all[i], NULL);
            pthread_create(&thread, NULL, await, &first);
            usleep(1);
            pthread_mutex_lock(&two);
        }
        """
    assert run(tmp_path, source).ended
    [said] = capfd.readouterr().err.splitlines()
    parts = said.removeprefix("hcasim: nothing can go on: ").split("; ")
    told = sorted(one.removeprefix("a on node0, thread ") for one in parts)
    places = [one.split(" at ")[-1].split(",")[0] for one in told]
    assert told == [
        f"1 waits for the lock at {places[0]}, which thread 2 has",
        f"2 waits for the lock at {places[1]}, which thread 1 has",
        "3 waits to read descriptor 3",
        "4 waits for descriptor 3, 4",
        "5 waits to read descriptor 5, which is node0:18515",
        f"6 waits for the semaphore at {places[5]}",
        "7 waits for thread 2 to end",
    ]


def test_who_dies_is_named_beside_who_waits_for_it(tmp_path: Path) -> None:
    source = """
        int main(int count, char **words)
        {
            if (count > 1)
                *(volatile int *)0 = 1;
            if (!fork())
                raise(SIGKILL);
            pause();
        }
        """
    made = compiled(tmp_path, source)
    command = [sys.executable, "-m", "hcasim", "launch", "--testbed", "liu2004", "--"]
    done = subprocess.run(
        [*command, made, "x", ":", "sh", "-c", f"{made} y; exit 7", ":", made],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 124
    assert done.stderr.splitlines()[-3:] == [
        "hcasim: nothing can go on: a on node2 waits for a signal",
        f"{made} ended with signal 11",
        "sh ended with exit code 7",
    ]
    assert not _processes(made)


def _processes(made: str) -> list[str]:
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(one.read_text())
        except OSError:
            continue
    return [one for one in found if one.startswith(made)]


def test_descriptors_that_are_closed_and_covered(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        #include <sys/syscall.h>
        int main(int count, char **words)
        {
            for (int i = 3; i < 2000; i++) close(i);
            for (int i = 3; i < 2000; i++) dup2(1, i);
            for (int flags = 0; flags < 8; flags += 2) close_range(3, ~0u, flags);
            closefrom(3);
            usleep(1000);
            printf("%.0f us\\n", us());
            fflush(stdout);
            if (count > 1) {
                syscall(SYS_close_range, 3, ~0u, 0);
                usleep(1000);
            }
        }
        """
    assert run(tmp_path, source, "x").codes == (0, 125)
    said = capfd.readouterr()
    assert said.out == "1000 us\n1000 us\n"
    assert said.err == "hcasim: a has closed descriptor 1024, which led to the simulator\n"


def test_descriptors_of_connections_are_far_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        #include <sys/resource.h>
        static void *check(void *start)
        {
            for (int i = 1; i <= 3; i++)
                printf("%d ", close(1024 * i));
        }
        int main(void)
        {
            struct rlimit most = {4096, 4096};
            pthread_t thread;
            setrlimit(RLIMIT_NOFILE, &most);
            for (int i = 1025; i < 2048; i++) dup2(1, i);
            pthread_create(&thread, NULL, check, NULL);
            pthread_join(thread, NULL);
            printf("%.0f us\\n", us());
        }
        """
    assert run(tmp_path, source).codes == (0,)
    assert capfd.readouterr().out == "-1 -1 -1 0 us\n"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("env HCASIM_NODE=-1 true", "true: HCASIM_NODE: found '-1'"),
        ("env HCASIM_NODE= true", "true: HCASIM_NODE: found ''"),
        ("ssh node99 true", "sh: HCASIM_NODE: found '99'"),
        ("ssh node1x true", "sh: HCASIM_NODE: found '1x'"),
    ],
)
def test_a_node_that_there_is_not_is_refused(
    command: str, found: str, capfd: pytest.CaptureFixture[str]
) -> None:
    machine = find_machine("liu2004", {}, mpi=False)
    assert launch(machine, [["sh", "-c", f"{command}; echo $?; ssh node1 uname -n"]]).codes == (0,)
    said = capfd.readouterr()
    assert said.out == "125\nnode1\n"
    assert said.err == f"hcasim: {found}; allowed: 0 to 1\n"


def test_a_name_may_be_no_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = compiled(tmp_path, "int main(void) { pause(); }")
    named = os.fsdecode(os.fsencode(tmp_path) + b"/p\xff")
    Path(made).rename(named)
    assert launch(find_machine("liu2004", {}, mpi=False), [[named]]).ended
    said = "hcasim: nothing can go on: p\\xff on node0 waits for a signal\n"
    assert capfd.readouterr().err == said


def test_a_child_has_its_own_of_what_its_parent_has(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        #include <infiniband/verbs.h>
        static char bytes[64];
        static int works(struct ibv_context *device)
        {
            struct ibv_pd *domain = device ? ibv_alloc_pd(device) : NULL;
            return domain && ibv_reg_mr(domain, bytes, 64, 0);
        }
        int main(void)
        {
            struct ibv_device **devices = ibv_get_device_list(NULL);
            struct ibv_context *opened = ibv_open_device(devices[0]);
            int status;
            if (!fork()) {
                printf("child %d\\n", works(ibv_open_device(devices[0])));
                fflush(stdout);
                *(volatile int *)0 = 1;
            }
            wait(&status);
            printf("signal %d, parent %d\\n", WTERMSIG(status), works(opened));
        }
        """
    header("infiniband/verbs.h", "libibverbs-dev")
    made = compiled(tmp_path, source, "-libverbs")
    assert launch(find_machine("liu2004", {}, mpi=False), [[made]]).codes == (0,)
    assert capfd.readouterr().out == "child 1\nsignal 11, parent 1\n"


@pytest.mark.pure
def test_who_makes_no_call_is_named_and_ended(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (channel, session):
        monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    made = compiled(tmp_path, "int main(void) { for (volatile long i = 0;; i++) ; }")
    found = launch(find_machine("liu2004", {}, mpi=False), [[made]], until_ps=1)
    assert found.ended
    said = capfd.readouterr().err.splitlines()
    assert said[0] == "hcasim: a on node0 makes no call for 0.2 s of real time: it computes"
    assert said[1] == "hcasim: a on node0 computes, and is ended after 0.2 s of real time"


def test_programs_that_load_no_library_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = compiled(tmp_path, "int main(void) { }", "-static")
    with pytest.raises(CatalogError, match="it is linked statically; needed"):
        launch(find_machine("liu2004", {}, mpi=False), [[made]])
    Path(made).chmod(0o755 | stat.S_ISUID)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(CatalogError, match="it is setuid or setgid"):
        launch(find_machine("liu2004", {}, mpi=False), [[made]])


def test_a_program_that_is_cut_short_is_no_program(tmp_path: Path) -> None:
    made = tmp_path / "short"
    made.write_bytes(b"\x7fELF\x02")
    made.chmod(0o755)
    with pytest.raises(CatalogError, match="Exec format error"):
        launch(find_machine("liu2004", {}, mpi=False), [[str(made)]])


def test_the_first_thread_may_end_before_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        static void *last(void *start) { puts("last"); }
        static void *go_on(void *start)
        {
            pthread_t thread;
            usleep(1000);
            printf("%d\\n", pthread_create(&thread, NULL, last, NULL));
            pthread_join(thread, NULL);
        }
        int main(void)
        {
            pthread_t thread;
            pthread_create(&thread, NULL, go_on, NULL);
            pthread_exit(NULL);
        }
        """
    assert run(tmp_path, source, until_ps=10**12).codes == (0,)
    assert capfd.readouterr().out.split() == ["0", "last"]


def test_a_child_without_handlers_or_environment_takes_part(tmp_path: Path) -> None:
    source = """
        int main(void)
        {
            int status;
            pid_t child;

            clearenv();
            child = _Fork();
            if (!child) {
                sleep(1);
                _exit(4);
            }
            waitpid(child, &status, 0);
            return WEXITSTATUS(status);
        }
        """
    assert run(tmp_path, source).codes == (4,)


@pytest.mark.parametrize("raised", [True, False])
def test_descriptors_are_enough_or_it_is_said(
    raised: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of a launch is raised, if the system allows that, and programs keep theirs."""
    most = len([*Path("/proc/self/fd").iterdir()]) + 40
    if not raised:
        monkeypatch.setattr(launching, "setrlimit", lambda *_: None)
    before = getrlimit(RLIMIT_NOFILE)
    setrlimit(RLIMIT_NOFILE, (most, before[1]))
    children = "n=0; while [ $((n += 1)) -lt 15 ]; do sleep 1 & done; wait; ulimit -n"
    try:
        with nullcontext() if raised else pytest.raises(CatalogError, match="ulimit -Hn"):
            launch(find_machine("liu2004", {}, mpi=False), [["sh", "-c", children]])
    finally:
        setrlimit(RLIMIT_NOFILE, before)
    assert capfd.readouterr() == (f"{most}\n" if raised else "", "")


@pytest.mark.pure
@pytest.mark.parametrize(("module", "name"), [(session, "monotonic"), (channel, "fresh_folder")])
def test_an_interrupted_launch_leaves_nothing_behind(
    module: ModuleType,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It is interrupted before it begins, or while its only program takes no part."""

    def interrupt(*_: int) -> float:
        if name == "monotonic" and not (tmp_path / "begun").exists():
            return monotonic()
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupt)
    source = f"import time; open({str(tmp_path / 'begun')!r}, 'w'); time.sleep(3); print('late')"
    apart = ["env", "-u", "LD_PRELOAD", sys.executable, "-c", source]
    with pytest.raises(KeyboardInterrupt):
        launch(find_machine("liu2004", {}, mpi=False), [apart])
    reaper = ctypes.c_int()
    ctypes.CDLL(None).prctl(37, ctypes.byref(reaper))  # PR_GET_CHILD_SUBREAPER
    assert (reaper.value, capfd.readouterr().out) == (0, "")
