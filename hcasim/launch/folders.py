"""Folders and files of the user's own, which nobody else can have put there or exchange."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from hcasim.ground.errors import CatalogError

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


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
    trusted = {0, own.st_uid, above[-1].st_uid}  # In a user namespace root may have another number.
    return not set(" :$") & set(os.fspath(folder)) and all(
        one.st_mode & stat.S_ISVTX or (one.st_uid in trusted and not one.st_mode & stat.S_IWOTH)
        for one in above
    )


def is_own_file(file: Path) -> bool:
    """Whether a file is real, the user's, and closed to others."""
    with suppress(OSError):
        found = file.lstat()
        mode = found.st_mode
        return stat.S_ISREG(mode) and found.st_uid == os.geteuid() and not mode & _OTHERS
    return False


def fresh_folder(longest: int = 4096) -> Path:
    """Make a private folder for temporary files, whose path has at most so many bytes."""
    places = dict.fromkeys((tempfile.gettempdir(), "/tmp"))
    for place in places:
        with suppress(OSError):
            made = Path(tempfile.mkdtemp(prefix="hcasim-", dir=place)).resolve()
            if is_private(made) and len(os.fsencode(made)) <= longest:
                return made
            made.rmdir()
    needed = "TMPDIR, a short path without blanks, colons and $, in which others rename nothing"
    raise CatalogError([f"launch: no private folder in {' and '.join(places)}; needed: {needed}"])
