"""Folders of sockets are the user's own, and what is in them serves as ports do."""

from pathlib import Path

import pytest

from tests.launch.test_time import run


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
