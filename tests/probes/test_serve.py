"""What the server grants to those who connect to it; no adapter is needed."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LIMIT_S = 60
"""Of each test; nothing should come near."""


def ignore_hangups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def heed_hangups() -> None:
    """As a terminal's programs do, also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def serving(
    probes: Path, *words: str, before: Callable[[], None] | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server and its TCP port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(probes), "serve", "--listen", "127.0.0.1", "--port", str(port), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=before) as server:
        try:
            assert server.stderr is not None
            assert server.stderr.readline() == f"listening on port {port}\n"
            yield server, port
        finally:
            server.kill()


def ask(port: int, line: str) -> str:
    """What the server answers until it ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
        client.sendall(line.encode())
        with client.makefile() as answer:
            return answer.read()


@pytest.mark.check
def test_a_client_that_says_nothing_is_left_within_seconds(checked_probes: Path) -> None:
    with serving(checked_probes) as (_, port):
        for line in ("", "hcasim-pro"):
            found = re.fullmatch(
                r"failed deadline of (\d+) s: the client is silent\n", ask(port, line)
            )
            assert found
            assert int(found[1]) <= 5


@pytest.mark.parametrize(
    ("words", "allowed_s"), [((), 300), (("--deadline", "20"), 20), (("--deadline", "0.5"), 0.5)]
)
def test_a_client_that_asks_for_too_long_a_deadline_is_refused(
    checked_probes: Path, words: tuple[str, ...], allowed_s: float
) -> None:
    with serving(checked_probes, *words) as (_, port):
        for more_ms in (1, 86400000, 2**63 - 1 - int(allowed_s * 1000)):
            asked_ms = int(allowed_s * 1000) + more_ms
            answer = ask(port, f"hcasim-probes 1 manager {asked_ms} write_lat\n")
            assert answer.startswith(f"failed deadline: found {asked_ms / 1e3:.9g} s;")
            assert answer.endswith(f"; allowed: at most {allowed_s:g} s, by --deadline\n")
        answer = ask(port, f"hcasim-probes 1 manager {allowed_s * 1000:.0f} write_lat\n")
        assert "deadline" not in answer


def test_a_client_may_ask_for_one_point_only(checked_probes: Path) -> None:
    with serving(checked_probes) as (_, port):
        answer = ask(port, "hcasim-probes 1 manager 1000 write_lat size=8,16\n")
        assert answer == "failed points: found too many; allowed: at most 1 in all\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_server(probes: Path, number: int) -> None:
    with serving(probes, before=heed_hangups) as (server, _):
        server.send_signal(number)
        assert server.wait(LIMIT_S) == 0


def test_a_hangup_does_not_end_a_server_under_nohup(probes: Path) -> None:
    with serving(probes, before=ignore_hangups) as (server, port):
        server.send_signal(signal.SIGHUP)
        assert ask(port, "hello\n").startswith("failed heard 'hello'")
        server.send_signal(signal.SIGTERM)
        assert server.wait(LIMIT_S) == 0


def test_a_server_whose_socket_cannot_be_set_up_says_why(
    probes: Path, always_blocking: Path
) -> None:
    done = subprocess.run(
        [probes, "serve", "--listen", "127.0.0.1"],
        env=os.environ | {"LD_PRELOAD": str(always_blocking)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert (done.returncode, done.stderr) == (2, "port 18590: No locks available\n")
