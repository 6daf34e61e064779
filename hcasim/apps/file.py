"""Programs that users have written, in files of Python."""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isgeneratorfunction, signature
from pathlib import Path
from traceback import walk_tb
from types import FunctionType, ModuleType
from typing import Any

from hcasim.apps.run import Main
from hcasim.ground.errors import CatalogError, display, nearest, refuse, words_of
from hcasim.ground.opened import read_fault, registering
from hcasim.ground.reading import read_file

MAIN = "main"
_EXAMPLE = "def main(comm): yield from comm.barrier()"


class ProgramError(CatalogError):
    """A program of the user's has raised an exception."""


class Beside:
    """The modules that a program's file imports: no other program sees them, nor whoever runs it.

    Each program that is loaded reads what lies beside it anew. Installed packages are everybody's.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._folder = file, str(file.resolve().parent)
        self._own: dict[str, Any] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the program import inside the block; tell of its exceptions by the line of its file.

        Raises:
            ProgramError: instead of what the program has raised.
        """
        beside = f"{self._folder}/"
        hidden = {
            name: one
            for name, one in [*sys.modules.items()]
            if (place := _place(name, one)).startswith(beside) and not is_installed(place)
        }
        for name in hidden:
            del sys.modules[name]
        others = {*sys.modules}
        sys.modules.update(self._own)
        sys.path.insert(0, self._folder)
        # What was written a moment ago may not be in it, nor told from what was there before.
        sys.path_importer_cache.pop(self._folder, None)
        writes, sys.dont_write_bytecode = not sys.dont_write_bytecode, True
        try:
            with faults_of(self._file):
                yield
        finally:
            sys.dont_write_bytecode = not writes
            with suppress(ValueError):
                sys.path.remove(self._folder)
            self._own = {
                name: one
                for name, one in [*sys.modules.items()]
                if name not in others and (place := _place(name, one)) and not is_installed(place)
            }
            for name in self._own:
                del sys.modules[name]
            sys.modules.update(hidden)
            faults = [read_fault(Path(_place(*one))) for one in self._own.items()]
        refuse(*faults)


def is_installed(file: str) -> bool:
    """Whether a file belongs to Python, to hcasim or to a package that was installed."""
    return file.startswith(_installed())


def import_state() -> str:
    """Return what importing depends on: where is looked, and when packages were installed."""
    folders = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    times = [str(Path(one).stat().st_mtime_ns) for one in sorted(folders) if Path(one).exists()]
    return "\0".join([*(one or str(Path.cwd()) for one in sys.path), *times])


def imported(file: Path) -> list[Path]:
    """Return a file and what it imports from its folder, at once or later, for a command."""
    if not registering():
        return []
    from modulefinder import ModuleFinder

    finder = ModuleFinder([str(file.resolve().parent)], excludes=["hcasim"])
    # What is wrong with a file is said when it is run.
    with suppress(Exception):
        finder.run_script(str(file))
    places = (vars(one)["__file__"] for one in finder.modules.values())
    return [Path(place) for place in places if place]


@cache
def _installed() -> tuple[str, ...]:
    folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    folders.append(str(Path(__file__).parents[1]))
    every = {*folders, *(str(Path(one).resolve()) for one in folders)}
    return tuple(f"{one}/" for one in every)


def _place(name: str, module: object) -> str:
    """Return the file or folder of a module; nothing of those that are in none, and of ours."""
    if name == "__main__" or name.partition(".")[0] == "hcasim":
        return ""
    try:
        named = object.__getattribute__(module, "__dict__")
        found = named.get("__file__") or next(iter(named.get("__path__", ())), "")
    except (AttributeError, TypeError, KeyError):
        return ""
    return found if isinstance(found, str) else ""


def read_module(file: Path) -> tuple[ModuleType, Beside]:
    """Return a file of Python, run once, and the modules that it imports beside it.

    Raises:
        CatalogError: the file cannot be read or run.
    """
    read_file(file)
    # The name is no module's, so that none is hidden from the program.
    spec = spec_from_file_location(f"_hcasim_program_{file.stem}", file)
    if spec is None or spec.loader is None:
        where = display(file)
        raise CatalogError([f"{where}: found no file of Python; allowed: one that ends in .py"])
    module = module_from_spec(spec)
    beside = Beside(file)
    refuse(*map(read_fault, imported(file)))
    with beside.running():
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return module, beside


def load(file: Path, arguments: Sequence[str] = ()) -> tuple[Main, Beside]:
    """Return the function `main` of a file of Python, and the modules that it imports beside it.

    Parameters:
        arguments: text that `main` is given behind its communicator.

    Raises:
        CatalogError: the file cannot be read or run, or has no such function.
    """
    module, beside = read_module(file)
    where = display(file)
    main = getattr(module, MAIN, None)
    if not isinstance(main, FunctionType):
        functions = [name for name, one in vars(module).items() if isinstance(one, FunctionType)]
        found = f"found no function {MAIN!r}"
        raise CatalogError([f"{where}: {found}; needed: {_EXAMPLE}{nearest(MAIN, functions)}"])
    if not isgeneratorfunction(main):
        where += f":{main.__code__.co_firstlineno}"
        needed = "needed: one that has `yield from` before each call that takes time"
        raise CatalogError([f"{where}: found a function {MAIN!r} that is no generator; {needed}"])
    try:
        signature(main).bind(None, *arguments)
    except TypeError as error:
        where += f":{main.__code__.co_firstlineno}"
        given = f"a communicator and {len(arguments)} arguments"
        raise CatalogError([f"{where}: {MAIN} cannot be called with {given}: {error}"]) from None
    return lambda comm: main(comm, *arguments), beside


@contextmanager
def faults_of(file: Path) -> Iterator[None]:
    """Tell of what a program raises inside the block by the line of its file."""
    try:
        yield
    except (CatalogError, MemoryError, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        where = display(file) + f":{error.lineno}" * (error.filename == str(file.absolute()))
        raise ProgramError([f"{where}: {type(error).__name__}: {error.msg}"]) from error
    except SystemExit as error:
        code: object = error.code
        told = repr(code) if isinstance(code, str | int | None) else type(code).__name__
        raise ProgramError([f"{_line(file, error)}: it has ended itself ({told})"]) from error
    except BaseException as error:
        raise ProgramError([f"{_line(file, error)}: {words_of(error)}"]) from error


def _line(file: Path, error: BaseException) -> str:
    """The file, with the last of its lines that an exception has passed through."""
    chain: BaseException | None = error
    while chain is not None:
        frames = walk_tb(chain.__traceback__)
        name = str(file.absolute())
        if lines := [line for frame, line in frames if frame.f_code.co_filename == name]:
            return f"{display(file)}:{lines[-1]}"
        chain = chain.__cause__
    return display(file)
