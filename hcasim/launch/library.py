"""The library that programs are given in front of the system's, compiled at its first use."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from struct import Struct
from typing import Final

from hcasim.ground.errors import CatalogError
from hcasim.launch.folders import fresh_folder, is_own_file, is_private

_FLAGS: Final = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread")
_SOURCES: Final = Path(str(files("hcasim.launch"))) / "native"


def library() -> Path:
    """The compiled library, in the user's cache.

    Raises:
        CatalogError: without a C compiler, or if it does not compile the library.
    """
    sources = sorted(_SOURCES.glob("*.c"))
    told = hashlib.sha256()
    for file in sorted(_SOURCES.iterdir()):
        told.update(file.name.encode() + file.read_bytes())
    kept = _cache() / f"launch-{told.hexdigest()[:16]}.so"
    if not is_own_file(kept):
        # Make splits CC into words, too.
        name, *flags = os.environ.get("CC", "").split() or ["cc"]
        compiler = shutil.which(name)
        if compiler is None:
            raise CatalogError(["launch: found no C compiler; needed: cc, such as gcc, or CC=..."])
        made = kept.with_suffix(f".{os.getpid()}")
        done = subprocess.run(
            [compiler, *flags, *_FLAGS, "-o", made, *sources, "-ldl"],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise CatalogError([f"launch: {compiler} failed:\n{done.stderr.rstrip()}"])
        made.chmod(stat.S_IRWXU)
        made.replace(kept)
    return kept


_PROGRAM: Final = Struct("<4sB27xQ14xHH")
"""Of the header of a program: what all begin with, how wide addresses are, and where entries about
its segments begin, how long each is, and how many there are. Source: manual page elf."""
_ELF, _64_BITS, _INTERPRETER = b"\x7fELF", 2, 3


def unfit(name: str) -> str:
    """Why the library cannot be loaded into a program; "" if nothing speaks against it."""
    found = shutil.which(name)
    if found is None or not os.access(found, os.R_OK):
        return ""
    with Path(found).open("rb") as file:
        status = os.fstat(file.fileno())
        user = status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid()
        if user or (status.st_mode & stat.S_ISGID and status.st_gid != os.getegid()):
            return "it is setuid or setgid"
        begins, wide, first, size, count = _PROGRAM.unpack(
            file.read(_PROGRAM.size).ljust(_PROGRAM.size)
        )
        if begins != _ELF:
            return ""
        if wide != _64_BITS:
            return "it is a program of 32 bits"
        if first + size * count > status.st_size:
            return ""
        file.seek(first)
        kinds = [int.from_bytes(file.read(size)[:4], "little") for _ in range(count)]
    return "" if _INTERPRETER in kinds else "it is linked statically"


_SSH: Final = """\
#!/bin/sh
# Runs a command on another node of a simulation, as ssh does on another machine.
while :; do
	case $1 in
	-[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;
	-*) shift ;;
	*) break ;;
	esac
done
case $1 in
server) HCASIM_NODE=0 ;;
node[0-9]*) HCASIM_NODE=${1#node} ;;
*) echo "hcasim: ssh: $1 is no node; allowed: server, node0, node1, ..." >&2; exit 255 ;;
esac
export HCASIM_NODE
shift
exec sh -c "$*"
"""


def commands() -> Path:
    """The folder of the commands that stand in for the system's: ssh."""
    folder = _cache() / f"commands-{hashlib.sha256(_SSH.encode()).hexdigest()[:16]}"
    kept = folder / "ssh"
    if not is_own_file(kept):
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        made = kept.with_suffix(f".{os.getpid()}")
        made.write_text(_SSH)
        made.chmod(stat.S_IRWXU)
        made.replace(kept)
    return folder


def _cache() -> Path:
    """A private folder that is kept: of the user's cache, or of temporary files; or a fresh one."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "hcasim", "launch")
    for place in (home, Path(tempfile.gettempdir(), f"hcasim-{os.geteuid()}")):
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            kept = place.parent.resolve() / place.name
            kept.mkdir(mode=stat.S_IRWXU, exist_ok=True)
            if is_private(kept) and os.access(kept, os.W_OK):
                return kept
    return _fresh()


@cache
def _fresh() -> Path:
    """A folder that is kept until this process ends."""
    made = fresh_folder()
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def calls() -> tuple[str, ...]:
    """The calls of programs by number, as the library knows them."""
    lines = (_SOURCES / "calls.def").read_text().splitlines()
    return tuple(one[5:-1] for one in lines if one.startswith("CALL("))
