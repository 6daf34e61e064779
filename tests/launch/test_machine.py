"""What programs read of the machine is of their node."""

from pathlib import Path

import pytest

from hcasim.launch import launch
from hcasim.runs.machine import find_machine
from tests.launch.test_time import compiled

KERNEL = "/proc/sys/kernel"
FILES = {
    f"{KERNEL}/random/boot_id": [f"0000000{n}-000{n}-4000-8000-00000000000{n}" for n in (1, 2)],
    f"{KERNEL}/hostname": ["node0", "node1"],
    "/etc/hostname": ["node0", "node1"],
    "/etc/machine-id": [f"{n:032}" for n in (1, 2)],
    "/var/lib/dbus/machine-id": [f"{n:032}" for n in (1, 2)],
}

HOSTS = ["007f0101", "007f0201"]


def test_nodes_have_identifiers_of_their_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """However a program opens their files."""
    source = """
        int __open_2(const char *, int), __open64_2(const char *, int);
        int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);
        static void show(int file)
        {
            char text[64] = "";
            read(file, text, 63);
            printf("%s", text);
            close(file);
        }
        int main(int count, char **paths)
        {
            printf("%08x\\n", (unsigned)gethostid());
            for (int i = 1; i < count; i++) {
                char *path = paths[i];
                int all[] = {
                    open(path, O_RDONLY), open64(path, O_RDONLY),
                    __open_2(path, O_RDONLY), __open64_2(path, O_RDONLY),
                    openat(AT_FDCWD, path, O_RDONLY), openat64(AT_FDCWD, path, O_RDONLY),
                    __openat_2(AT_FDCWD, path, O_RDONLY), __openat64_2(AT_FDCWD, path, O_RDONLY),
                    fileno(fopen(path, "r")), fileno(fopen64(path, "r")),
                };
                for (int j = 0; j < 10; j++) show(all[j]);
            }
        }
        """
    command = [compiled(tmp_path, source), *FILES]
    assert launch(find_machine("liu2004", {}, mpi=False), [command, command]).codes == (0, 0)
    shown = [one for both in FILES.values() for one in both] * 10
    said = capfd.readouterr().out.splitlines()
    assert sorted(said) == sorted([*HOSTS, *shown])


def test_drawn_identifiers_are_the_same_in_each_run(capfd: pytest.CaptureFixture[str]) -> None:
    command = ["cat", f"{KERNEL}/random/uuid", f"{KERNEL}/random/uuid"]
    said = []
    for _ in range(2):
        assert launch(find_machine("liu2004", {}, mpi=False), [command] * 2).codes == (0, 0)
        said.append(capfd.readouterr().out)
    assert said[0] == said[1]
    assert len(set(said[0].splitlines())) == 4
