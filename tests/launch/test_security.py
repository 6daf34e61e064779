"""Nobody but descendants of what a launch has started takes part in it, whoever asks."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hcasim.launch.library import calls
from tests.launch.test_time import START, run
from tests.programs import program

WAITS = r"""
static char secret[] = "untouched";

int main(int count, char **words)
{
	struct timespec pause = {0, 10000000};
	printf("%s %d\n", getenv("HCASIM_CHANNEL"), getpid());
	fflush(stdout);
	while (syscall(SYS_access, words[1], F_OK))
		syscall(SYS_nanosleep, &pause, NULL);
	if (!fork())
		_exit(0);
	wait(NULL);
	puts(secret);
}
"""
"""Tells where it is, waits in real time for a file, and starts a child, which has to connect."""
ATTACKS = r"""
struct question {
	uint32_t what, notes;
	uint64_t spent, words[8];
	char data[4];
};

static void ask(int end, int what, long first, long second)
{
	struct question question = {what, 0, 0, {first, second}, {'a', 0, '0', 0}};
	struct { int error, signal; uint64_t now, words[8]; } answer;

	alarm(20);
	if (send(end, &question, offsetof(struct question, data) + 3, MSG_NOSIGNAL) < 0 ||
	    recv(end, &answer, sizeof(answer), 0) <= 0) {
		puts("no answer");
		exit(0);
	}
	printf("answer %ld\n", (long)answer.words[0]);
}

int main(int count, char **words)
{
	struct sockaddr_un to = {AF_UNIX};
	int end = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	long pid = atol(words[2]);

	strcpy(to.sun_path, words[1]);
	if (connect(end, (void *)&to, sizeof(to))) {
		puts(strerror(errno));
		return 0;
	}
	ask(end, 0, pid ? pid : getpid(), pid ? pid : getpid());
	for (int i = 3; i + 2 < count; i += 3)
		ask(end, atol(words[i]), atol(words[i + 1]), atol(words[i + 2]));
}
"""
"""Says hello as a process, 0 for itself, and then asks calls with two words each."""
AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
LAUNCH = [sys.executable, "-m", "hcasim", "launch", "--testbed", "liu2004", "--"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose files every user can run."""
    made = Path(tempfile.mkdtemp(dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with a launch, and has to live on."""
    with subprocess.Popen(["sleep", "600"]) as one:
        yield one
        assert one.poll() is None
        one.kill()


def built(folder: Path, name: str, source: str, *more: str) -> str:
    """Compile a program that every user can run."""
    headers = (
        "#include <stddef.h>\n#include <stdint.h>\n#include <sys/syscall.h>\n#include <sys/un.h>\n"
    )
    (folder / f"{name}.c").write_text(START + headers + source)
    command = [program("cc", "gcc"), "-w", "-o", folder / name, folder / f"{name}.c", *more]
    subprocess.run(command, check=True)
    return str(folder / name)


def as_nobody() -> list[str]:
    """The words that run a program as another user, if that can be done."""
    program("setpriv", "util-linux")
    if os.geteuid():
        pytest.skip("only root can run programs as another user")
    return AS_NOBODY


@pytest.mark.parametrize("who", ["another user", "another process of the user"])
def test_a_stranger_gets_no_answer(folder: Path, who: str, victim: subprocess.Popen[bytes]) -> None:
    """It connects, and replays the hello of the program, of an unrelated process and its own."""
    before = as_nobody() if who == "another user" else []
    waits, attacks, go = built(folder, "waits", WAITS), built(folder, "attacks", ATTACKS), "go"
    launched = subprocess.Popen(
        [*LAUNCH, waits, folder / go],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert launched.stdout is not None
    path, pid = launched.stdout.readline().split()
    place = Path(path).parent.lstat()
    assert stat.S_ISDIR(place.st_mode) and stat.S_IMODE(place.st_mode) == 0o700
    attackers = [
        subprocess.Popen([*before, attacks, path, one], stdout=subprocess.PIPE, text=True)
        for one in (pid, str(victim.pid), "0")
    ]
    if not before:  # They are refused when the simulator looks who has come.
        for one in attackers:
            _wait_until_asleep(one.pid)
    (folder / go).touch()
    told = [one.communicate()[0] for one in attackers]
    assert told == (["Permission denied\n"] if before else ["no answer\n"]) * 3
    out, said = launched.communicate()
    assert (launched.returncode, out) == (0, "untouched\n")
    refused = "hcasim: refused a process that descends from none of the programs\n"
    assert said == ("" if before else refused)
    assert not Path(path).parent.exists()


def _wait_until_asleep(pid: int) -> None:
    while Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"S":
        os.sched_yield()


def test_a_program_cannot_name_processes_that_are_not_its_own(
    folder: Path, victim: subprocess.Popen[bytes]
) -> None:
    """It says hello as a victim, or has it born, or sends it a signal: nothing happens to it."""
    attacks, pid = built(folder, "attacks", ATTACKS), str(victim.pid)
    start = [*LAUNCH, "sh", "-c", 'exec env -u LD_PRELOAD "$0" "$HCASIM_CHANNEL" "$@"', attacks]
    done = subprocess.run([*start, pid], capture_output=True, text=True)
    assert done.stdout == "no answer\n"
    assert "it runs in a pid namespace of its own" in done.stderr
    born, kill = (str(calls().index(one)) for one in ("BORN", "KILL"))
    words = ["0", born, pid, "0", kill, pid, str(int(signal.SIGKILL))]
    done = subprocess.run([*start, *words], capture_output=True, text=True)
    assert done.stdout.splitlines()[1:] == ["answer 0", "answer 0"]


def test_a_process_of_another_pid_namespace_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    apart = [program("unshare", "util-linux"), "--pid", "--fork"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("only root can make a pid namespace")
    done = subprocess.run([*LAUNCH, *apart, "true"], capture_output=True, text=True)
    assert done.returncode == 125
    assert "unshare: it runs in a pid namespace of its own; needed: that of" in done.stderr
    # What this /proc calls by a number is another process there.
    done = subprocess.run([*apart, *LAUNCH, "true"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "/proc is of another pid namespace" in done.stderr


DAEMON = """
    int main(void)
    {
        int status;
        if (!fork()) {
            setsid();
            if (!fork()) {
                for (int i = 0; i < 100 && getppid() != atoi(getenv("REAPER")); i++)
                    usleep(1000);
                if (!fork()) {
                    usleep(1000);
                    _exit(3);
                }
                wait(&status);
                printf("%d %d\\n", getppid(), WEXITSTATUS(status));
            }
            exit(0);
        }
        wait(NULL);
    }
    """


def test_a_daemon_stays_a_descendant(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent and its grandparent end, and it goes on and has children."""
    monkeypatch.setenv("REAPER", str(os.getpid()))
    assert run(tmp_path, DAEMON).codes == (0,)
    assert capfd.readouterr().out == f"{os.getpid()} 3\n"


def test_an_orphan_of_a_program_without_the_library_takes_part(folder: Path) -> None:
    """A static program forks twice and ends in the middle; its grandchild loads the library."""
    source = """
        int main(int count, char **words)
        {
            int ends[2];
            char byte;
            pipe(ends);
            if (!fork()) {
                int parent = getpid();
                if (!fork()) {
                    close(ends[0]);
                    while (getppid() == parent)
                        usleep(1000);
                    execvp(words[1], words + 1);
                }
                _exit(0);
            }
            wait(NULL);
            close(ends[1]);
            read(ends[0], &byte, 1);
        }
        """
    static = built(folder, "static", source, "-static")
    words = ["sh", "-c", f"exec {static} uname -n"]
    done = subprocess.run([*LAUNCH, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "node0\n", "")
