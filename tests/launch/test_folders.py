"""Folders of sockets are the user's own, and what is in them serves as ports do."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hcasim.launch.channel import Listener
from hcasim.launch.descendants import Descendants
from hcasim.launch.folders import is_private
from tests.launch.test_time import run


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder as launches make them."""
    made = Path(tempfile.mkdtemp(prefix="hcasim-", dir="/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_of_users_without_a_number_only_the_system_is_trusted(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, stat = os.stat_result, Path.stat

    def unmapped(path: Path, **_: Any) -> os.stat_result:
        found = stat(path)
        return real((*found[:4], 65534, *found[5:10]))

    (private / "below").mkdir(mode=0o700)
    assert is_private(private / "below")
    monkeypatch.setattr(Path, "lstat", lambda path: os.lstat(path))
    monkeypatch.setattr(Path, "stat", unmapped)
    assert is_private(private)
    assert not is_private(private / "below")


@pytest.mark.parametrize("how", ["lives", "left", "no socket"])
def test_what_a_killed_launch_has_left_is_removed(private: Path, how: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        if how != "no socket":
            one.bind(str(private / "channel"))
            one.listen()
        if how == "left":
            one.close()
        descendants = Descendants()
        listener = Listener(descendants)
        listener.close()
        descendants.close()
        assert private.exists() == (how != "left")
        assert not listener.path.parent.exists()
        if how == "lives":
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.accept()


def test_a_port_is_free_again_when_its_socket_is_closed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        static void on(int type)
        {
            struct sockaddr_in own = {AF_INET, htons(7)};
            int first = socket(AF_INET, type, 0), next = socket(AF_INET, type, 0);

            printf("%d", bind(first, (void *)&own, sizeof(own)));
            printf(" %d", bind(next, (void *)&own, sizeof(own)) < 0 && errno == EADDRINUSE);
            clearenv();
            close(first);
            own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            if (type == SOCK_STREAM)
                printf(" %d", connect(next, (void *)&own, sizeof(own)) < 0 ? errno : 0);
            else
                printf(" %d", (int)sendto(next, "x", 1, 0, (void *)&own, sizeof(own)));
            own.sin_addr.s_addr = htonl(INADDR_ANY);
            first = socket(AF_INET, type, 0);
            printf(" %d\\n", bind(first, (void *)&own, sizeof(own)));
        }
        int main(void)
        {
            on(SOCK_STREAM);
            on(SOCK_DGRAM);
        }
    """
    run(tmp_path, source)
    assert capfd.readouterr().out == "0 1 111 0\n0 1 1 0\n"
