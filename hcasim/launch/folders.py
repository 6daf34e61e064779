"""Folders and files of the user's own, which nobody else can have put there or exchange."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import shutil
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from hcasim.ground.errors import CatalogError

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_UNMAPPED: Final = 65534
"""All users without a number in a user namespace. Source: manual page user_namespaces."""
_TEMPORARY: Final = "/tmp"
_PREFIX: Final = "hcasim-"


def is_private(folder: Path) -> bool:
    """Whether a folder is real, the user's and closed to others, who cannot exchange it either.

    Its path can stand in LD_PRELOAD and PATH.
    """
    try:
        own = folder.lstat()
        above = [one.stat() for one in folder.parents]
    except OSError:
        return False
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.geteuid() or own.st_mode & _OTHERS:
        return False
    # In a user namespace root may have another number, or none: then only / and /tmp are known.
    root = above[-1].st_uid
    trusted = {0, own.st_uid} | ({root} - {_UNMAPPED})
    return (
        not set(" :$") & set(os.fspath(folder))
        and {one.st_uid for one in above[:-2]} <= trusted
        and {one.st_uid for one in above[-2:]} <= trusted | {root}
        and not any(map(_is_open, above))
    )


def _is_open(folder: os.stat_result) -> bool:
    """Whether others than its owner may exchange what is in a folder."""
    mode = folder.st_mode
    if mode & stat.S_ISVTX or not mode & (stat.S_IWOTH | stat.S_IWGRP):
        return False
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(folder.st_gid)
    except KeyError:
        return True
    alone = user.pw_gid == group.gr_gid and user.pw_name == group.gr_name
    return bool(mode & stat.S_IWOTH) or not alone or not {*group.gr_mem} <= {user.pw_name}


def is_own_file(file: Path) -> bool:
    """Whether a file is real, the user's, and closed to others."""
    with suppress(OSError):
        found = file.lstat()
        mode = found.st_mode
        return stat.S_ISREG(mode) and found.st_uid == os.geteuid() and not mode & _OTHERS
    return False


def fresh_folder(longest: int = 4096) -> Path:
    """Make a private folder for temporary files, whose path has at most so many bytes."""
    places = dict.fromkeys((tempfile.gettempdir(), _TEMPORARY))
    for place in places:
        with suppress(OSError):
            made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place)).resolve()
            if is_private(made) and len(os.fsencode(made)) <= longest:
                return made
            made.rmdir()
    needed = "TMPDIR, a short path without blanks, colons and $, in which others rename nothing"
    raise CatalogError([f"launch: no private folder in {' and '.join(places)}; needed: {needed}"])


def remove_left(name: str) -> None:
    """Remove the user's folders in /tmp with a socket of a name whose process was killed."""
    for folder in Path(_TEMPORARY).glob(f"{_PREFIX}*"):
        # The system tells a socket of another kind whether there is one.
        found = 0
        # A path that is too long raises an error.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            found = is_private(folder) and other.connect_ex(os.fspath(folder / name))
        if found == errno.ECONNREFUSED:
            shutil.rmtree(folder, ignore_errors=True)
