"""Folders of the user's own, in which nobody else can put or exchange files."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from hcasim.ground.errors import CatalogError


def is_private(folder: Path) -> bool:
    """Whether a folder is real, the user's and closed to others, who cannot exchange it either."""
    try:
        own = folder.lstat()
        above = [one.stat() for one in folder.parents]
    except OSError:
        return False
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.geteuid():
        return False
    trusted = {0, own.st_uid, above[-1].st_uid}  # In a user namespace root may have another number.
    return not own.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and all(
        one.st_mode & stat.S_ISVTX or (one.st_uid in trusted and not one.st_mode & stat.S_IWOTH)
        for one in above
    )


def is_own_file(file: Path) -> bool:
    """Whether a file is real, the user's, and not writable by others."""
    try:
        found = file.lstat()
    except OSError:
        return False
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not others


def is_listable(path: Path) -> bool:
    """Whether a path can stand in a list of paths, as in LD_PRELOAD and PATH."""
    return not set(" :$") & set(os.fspath(path))


def fresh_folder(longest: int = 4096) -> Path:
    """Make a private folder for temporary files, whose path can stand in lists.

    Parameters:
        longest: bytes that the path may have.

    Raises:
        CatalogError: there is no place for one.
    """
    places = dict.fromkeys((tempfile.gettempdir(), "/tmp"))
    for place in places:
        with suppress(OSError):
            made = Path(tempfile.mkdtemp(prefix="hcasim-", dir=place)).resolve()
            if is_private(made) and is_listable(made) and len(os.fsencode(made)) <= longest:
                return made
            made.rmdir()
    found = f"launch: {' and '.join(places)} can have no private folder"
    needed = "TMPDIR, a short path without blanks, colons and $, in which others rename nothing"
    raise CatalogError([f"{found}; needed: {needed}"])
