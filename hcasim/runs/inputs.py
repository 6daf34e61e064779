"""What a point has read beside its options, so that its result counts only while that is the same.

A build system's list of dependencies, found by watching: files that were opened, by what they hold;
folders that were listed, by the names in them; and variables of the environment. A run that did
what cannot be watched or done again has no such list, and its result is not kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hcasim.apps.file import is_installed
from hcasim.ground.process import file_read, is_written, tell_read, watched

FILE: Final = "file"
FOLDER: Final = "folder"
VARIABLE: Final = "variable"
EVERY: Final = "variables"
CURRENT: Final = "current"
_NONE: Final = "none"
_UNKNOWN: Final = (
    *("socket.", "subprocess.", "sqlite3.", "pty."),
    *("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system"),
    *("os.chdir", "os.fchdir", "_thread.start"),
    # What a program does to files would not be done again.
    *("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"),
)
"""Beginnings of the names of events after which nobody knows what a run was made of."""
_IMPORTING: Final = "<frozen importlib._bootstrap_external>"
_LISTED: Final = ("os.listdir", "os.scandir")
_LOADED: Final = {"import": 1, "ctypes.dlopen": 0}
"""Events that load a compiled library, and what of them is its file."""


class Inputs:
    """Watches what this thread reads.

    Attributes:
        known: whether all that was read is known.
    """

    def __init__(self) -> None:
        self.known = True
        self._thread = threading.get_ident()
        self._files: dict[str, tuple[int, ...]] = {}
        self._folders: set[str] = set()
        self._variables: dict[str, str] = {}
        self._set: set[str] = set()
        self._relative = False

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        """Note what an event reads."""
        if threading.get_ident() != self._thread:
            return
        if event.startswith(_UNKNOWN) or (is_written(event, given) and given[0] != os.devnull):
            self.known = False
        elif name := file_read(event, given):
            name = self._whole(name)
            if name not in self._files and name != os.devnull and not is_installed(name):
                self._files[name] = _signature(name)
        elif event in _LISTED:
            # Python looks for modules in folders, whatever else is in them.
            if sys._getframe(2).f_code.co_filename != _IMPORTING and not isinstance(given[0], int):
                self._folders.add(self._whole(os.fsdecode(given[0] or ".")))
        elif event in _LOADED and (library := given[_LOADED[event]]):
            # It may read whatever it likes.
            library = os.fsdecode(library)
            self.known &= "/" not in library or is_installed(library)

    def take(self, name: str, value: str | None) -> None:
        """Note that a variable of the environment was read; all of them without a name."""
        if threading.get_ident() == self._thread and name not in self._set:
            self._variables.setdefault(name, _of_text(value))

    def leave(self, name: str) -> None:
        """Note that a variable was set: what it is from then on follows from the rest."""
        if threading.get_ident() == self._thread and name not in self._variables:
            self._set.add(name)

    def digests(self) -> dict[str, str] | None:
        """Return a digest of each thing that was read; None if there may be more."""
        found: dict[str, str] = {}
        for name, before in self._files.items():
            # It may have changed since it was opened.
            if _signature(name) != before:
                return None
            found[f"{FILE} {name}"] = _now(FILE, name)
        found |= {f"{FOLDER} {name}": _now(FOLDER, name) for name in sorted(self._folders)}
        found |= {
            f"{VARIABLE} {name}" if name else f"{EVERY} ": digest
            for name, digest in self._variables.items()
        }
        if self._relative:
            found[f"{CURRENT} "] = _now(CURRENT, "")
        return found if self.known and "" not in found.values() else None

    def _whole(self, name: str) -> str:
        self._relative |= not name.startswith("/")
        return str(Path(name).absolute())


def unchanged(inputs: Mapping[str, str], now: dict[str, str]) -> bool:
    """Whether all that a point has read is as it was.

    Parameters:
        inputs: what it has read, as `Inputs.digests` gave it.
        now: digests of what has been looked at already; others are added.
    """
    for what, digest in inputs.items():
        if what not in now:
            now[what] = _now(*what.split(" ", 1))
        if now[what] != digest:
            return False
    return True


_watching: list[Inputs] = []


class _Watched(os._Environ[str]):
    """The environment, whose readers are noted."""

    def __getitem__(self, key: str) -> str:
        value = None
        try:
            value = super().__getitem__(key)
        finally:
            for one in _watching:
                one.take(key, value)
        return value

    def __setitem__(self, key: str, value: str) -> None:
        for one in _watching:
            one.leave(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        for one in _watching:
            one.leave(key)
        super().__delitem__(key)

    def __iter__(self) -> Iterator[str]:
        names = [*super().__iter__()]
        every = _every({name: super(_Watched, self).__getitem__(name) for name in names})
        for one in _watching:
            one.take("", every)
        return iter(names)


@contextmanager
def watching_inputs() -> Iterator[Inputs]:
    """Watch what this thread reads inside the block."""
    inputs = Inputs()
    plain = os.environ.__class__
    os.environ.__class__ = _Watched
    _watching.append(inputs)
    try:
        with watched(inputs):
            yield inputs
    finally:
        _watching.remove(inputs)
        os.environ.__class__ = plain


def tell_inputs(inputs: Mapping[str, str]) -> None:
    """Tell whoever watches this process what a point has read, wherever that was."""
    for what in inputs:
        if what.startswith(f"{FILE} "):
            tell_read(what[len(FILE) + 1 :])


def _now(kind: str, name: str) -> str:
    """Return the digest of a thing as it is; empty if it is not one that stays."""
    if kind == VARIABLE:
        return _of_text(os.environ.get(name))
    if kind == EVERY:
        return _of_text(_every(os.environ))
    try:
        if kind == CURRENT:
            return _of_text(str(Path.cwd()))
        if kind == FOLDER:
            return _of_text("\0".join(sorted(os.listdir(name))))  # noqa: PTH208
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return ""
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except IsADirectoryError:
        return ""
    except OSError:
        return _NONE


def _every(environment: Mapping[str, str]) -> str:
    return "\0".join(f"{name}={value}" for name, value in sorted(environment.items()))


def _of_text(text: str | None) -> str:
    if text is None:
        return _NONE
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def _signature(name: str) -> tuple[int, ...]:
    """What changes when somebody else writes to a file."""
    try:
        status = Path(name).stat()
    except (OSError, ValueError):
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
