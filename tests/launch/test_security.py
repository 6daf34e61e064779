"""Nobody but descendants of what a launch has started takes part in it, whoever asks."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from pwd import getpwnam
from threading import Thread

import pytest

from hcasim.launch import Launched, channel, descendants, launch
from hcasim.launch.library import calls, library
from hcasim.runs.machine import find_machine
from tests.launch.test_time import START, run
from tests.programs import program

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
SERVES = r"""
int main(int count, char **words)
{
	struct sockaddr_in own = {AF_INET, htons(7)};
	int end = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);
	char byte = 'x', other = 'x';

	bind(end, (void *)&own, sizeof(own));
	bind(datagrams, (void *)&own, sizeof(own));
	listen(end, 5);
	while (access(words[1], F_OK))
		;
	if (!fork()) {
		int client = socket(AF_INET, SOCK_STREAM, 0);

		own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		connect(client, (void *)&own, sizeof(own));
		sendto(datagrams, "y", 1, 0, (void *)&own, sizeof(own));
		return write(client, "y", 1) != 1;
	}
	read(accept(end, NULL, NULL), &byte, 1);
	recv(datagrams, &other, 1, 0);
	printf("%c%c\n", byte, other);
}
"""
SENDS = """
import socket, sys
for name in sys.argv[1:]:
    name = name.replace("@", chr(0))
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        one = socket.socket(socket.AF_UNIX, kind)
        try:
            one.connect(name)
            one.send(b"z")
            print("sent")
        except OSError as error:
            print(error.strerror)
"""
AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


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


def built(folder: Path, source: str) -> str:
    """Compile a program that every user can run."""
    file = folder / f"{len(list(folder.iterdir()))}.c"
    headers = "".join(f"#include <{one}.h>\n" for one in ("stddef", "stdint", "sys/un"))
    file.write_text(START + headers + source)
    subprocess.run([program("cc", "gcc"), "-w", "-o", file.with_suffix(""), file], check=True)
    return str(file.with_suffix(""))


def as_nobody() -> list[str]:
    """The words that run a program as another user, if that can be done."""
    program("setpriv", "util-linux")
    if os.geteuid():
        pytest.skip("only root can run programs as another user")
    return AS_NOBODY


def launched(*words: str, meanwhile: Callable[[], None] = lambda: None) -> Launched:
    """Run a program on a node, and do something at the same time."""
    thread = Thread(target=meanwhile)
    thread.start()
    done = launch(find_machine("liu2004", {}, mpi=False), [words])
    thread.join()
    return done


def attack(commands: list[list[str]], told: list[str], go: Path) -> None:
    """Run attackers until they wait or have ended, let a program go on, and see what they say."""
    attackers = [subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for one in commands]
    for one in attackers:
        while Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "SZ":
            os.sched_yield()
    go.touch()
    told += [one.communicate()[0] for one in attackers]


@pytest.mark.parametrize("who", ["another user", "another process of the user"])
def test_a_stranger_gets_no_answer(
    folder: Path, who: str, victim: subprocess.Popen[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """It connects, and replays the hello of the program, of an unrelated process and its own."""
    before = as_nobody() if who == "another user" else []
    attacks, told, paths, go = built(folder, ATTACKS), list[str](), list[Path](), folder / "go"

    def meanwhile() -> None:
        while not (folder / "told").exists():
            os.sched_yield()
        path, pid = (folder / "told").read_text().split()
        paths.append(Path(path))
        pids = pid, str(victim.pid), "0"
        attack([[*before, attacks, path, one] for one in pids], told, go)

    waits = 'cd "$0"; echo $HCASIM_CHANNEL $$ > part; mv part told; while [ ! -e go ]; do :; done'
    waits = f"{waits}; (true); echo untouched"
    assert launched("sh", "-c", waits, str(folder), meanwhile=meanwhile).codes == (0,)
    assert told == (["Permission denied\n"] if before else ["no answer\n"]) * 3
    said = capfd.readouterr()
    assert said.out == "untouched\n"
    refused = "hcasim: refused a process that descends from none of the programs\n"
    assert said.err == ("" if before else refused)
    assert not paths[0].parent.exists()


def test_a_descendant_of_another_user_gets_no_answer(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor if the channel is open to it."""
    line = "chmod 755 ${HCASIM_CHANNEL%/*}; chmod 777 $HCASIM_CHANNEL; env -u LD_PRELOAD"
    attacks = " ".join([*as_nobody(), built(folder, ATTACKS)])
    launched("sh", "-c", f"{line} {attacks} $HCASIM_CHANNEL 0")
    assert capfd.readouterr().out == "no answer\n"


def test_a_program_says_nothing_to_a_simulator_of_another_user(tmp_path: Path) -> None:
    as_nobody()
    path, nobody = tmp_path / "channel", getpwnam("nobody").pw_uid
    environment = {"LD_PRELOAD": str(library()), "HCASIM_CHANNEL": str(path), "HCASIM_NODE": "0"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        os.seteuid(nobody)  # whose it is for those who connect
        listener.listen()
        os.seteuid(0)
        done = subprocess.run(["/bin/true"], env=environment, capture_output=True, timeout=10)
    assert done.stderr == b"hcasim: no connection to the simulator: Permission denied\n"


def test_sockets_of_programs_are_closed_to_another_user(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It sends first to what a program listens at, and is not heard."""
    sends, told, go = [*as_nobody(), sys.executable, "-c", SENDS], list[str](), folder / "go"

    def meanwhile() -> None:
        names: list[str] = []
        while len(names) < 2:
            lines = Path("/proc/net/unix").read_text().splitlines()
            last = [one.split()[-1] for one in lines]
            names = [one for one in last if "hcasim" in one and one.endswith(("/7", ".7"))]
        attack([[*sends, *names]], told, go)

    assert launched(built(folder, SERVES), str(go), meanwhile=meanwhile).codes == (0,)
    assert told == ["Permission denied\n" * 4]
    assert capfd.readouterr().out == "yy\n"


def test_a_program_cannot_name_processes_that_are_not_its_own(
    folder: Path, victim: subprocess.Popen[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """It says hello as a victim, or has it born, or sends it a signal: nothing happens to it."""
    attacks, pid = built(folder, ATTACKS), str(victim.pid)
    start = "sh", "-c", 'exec env -u LD_PRELOAD "$0" "$HCASIM_CHANNEL" "$@"', attacks
    launched(*start, pid)
    said = capfd.readouterr()
    assert said.out == "no answer\n"
    assert "it runs in a pid namespace of its own" in said.err
    born, kill = (str(calls().index(one)) for one in ("BORN", "KILL"))
    launched(*start, "0", born, pid, "0", kill, pid, str(int(signal.SIGKILL)))
    assert capfd.readouterr().out.splitlines()[1:] == ["answer 0", "answer 0"]
    launched(*start, "0", str(len(calls())), "0", "0")
    said = capfd.readouterr()
    assert said.out.splitlines()[1:] == ["no answer"]
    assert "on node0 says what is no call of the library: it takes part no more" in said.err


def test_a_process_of_another_pid_namespace_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    apart = [program("unshare", "util-linux"), "--pid", "--fork"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("only root can make a pid namespace")
    assert launched(*apart, "true").codes == (125,)
    said = capfd.readouterr().err
    assert (
        said
        == "hcasim: unshare: it runs in a pid namespace of its own; needed: that of the launch\n"
    )
    # What this /proc calls by a number is another process there.
    source = "from hcasim.launch.descendants import Descendants; Descendants()"
    done = subprocess.run([*apart, sys.executable, "-c", source], capture_output=True, text=True)
    assert "launch: /proc is of another pid namespace" in done.stderr


SAYS = """
import os, socket, sys
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
end.connect(os.environ["HCASIM_CHANNEL"])
if len(sys.argv) > 1:
    end.send(int(sys.argv[1]).to_bytes(int(sys.argv[2]), sys.byteorder))
print(end.recv(4))
"""
"""Says the number of a call, in so many bytes; without words it says nothing."""


@pytest.mark.pure
@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ((), "says nothing for 1 s of real time"),
        (("0", "4"), "says what is no call of the library"),
        (("1000", "80"), "says what is no call of the library"),
        (("1", "80"), "says no hello"),
    ],
)
def test_a_descendant_that_says_no_hello_is_refused(
    said: tuple[str, ...],
    fault: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel, "PATIENCE_S", 1.0)
    line = 'env -u LD_PRELOAD "$@" & wait; echo $?'
    assert launched("sh", "-c", line, "sh", sys.executable, "-c", SAYS, *said).codes == (0,)
    assert capfd.readouterr() == ("b''\n0\n", f"hcasim: refused a process that {fault}\n")


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


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide children of this process that tests before have left, such as idle workers."""
    listed = descendants._children
    before = listed() or set()
    monkeypatch.setattr(descendants, "_children", lambda: (listed() or set()) - before)


@pytest.mark.usefixtures("alone")
def test_a_daemon_stays_a_descendant(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent and its grandparent end, and it goes on and has children."""
    monkeypatch.setenv("REAPER", str(os.getpid()))
    assert run(tmp_path, DAEMON).codes == (0,)
    assert capfd.readouterr().out == f"{os.getpid()} 3\n"


LOOKS = (
    "import os, time\nwhile os.path.exists('/proc/' + open('pid').read().strip()): time.sleep(1)"
)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("last", ["", "; exec sleep 0.3"])
def test_programs_see_that_an_orphan_has_ended(
    tmp_path: Path, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent ends before it, and is not known; or after it, and has not waited for it."""
    monkeypatch.setattr(descendants, "active_count", lambda: 1)
    monkeypatch.chdir(tmp_path)
    apart = "" if last else "env -u LD_PRELOAD "
    line = f'{apart}sh -c \'sleep 0.1 & echo $! > pid{last}\'; exec "$0" -c "$1"'
    program = ["sh", "-c", line, sys.executable, LOOKS]
    assert not launch(find_machine("liu2004", {}, mpi=False), [program], until_ps=10**17).ended
