"""Programs that some tests need beside Python, and that not every computer has."""

import os
import shutil
import subprocess
from typing import NoReturn

import pytest

REQUIRED = "HCASIM_PROGRAMS"
"""The environment variable that is "required" where the tests that need them have to run."""


def give_up(reason: str) -> NoReturn:
    """Skip a test, except where it has to run."""
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{REQUIRED}=required: {reason}")
    pytest.skip(reason)


def program(name: str, package: str) -> str:
    """Return where a program is, or give up.

    Parameters:
        name: of the program.
        package: of Debian that has it.
    """
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    path = shutil.which(name, path=places)
    if path is None:
        give_up(f"{name} is missing; on Debian: apt install {package}")
    return path


def header(name: str, package: str) -> None:
    """Give up if the C compiler does not find a header."""
    line = f"#include <{name}>".encode()
    command = [program("cc", "gcc"), "-E", "-"]
    if subprocess.run(command, input=line, capture_output=True).returncode:
        give_up(f"{name} is missing; on Debian: apt install {package}")
