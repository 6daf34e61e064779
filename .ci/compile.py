"""A step of the wheel's build: with HCASIM_COMPILE=1 it compiles the rooms of the simulator."""

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOMS = ("engine", "host", "bus", "fabric", "hca", "verbs", "cluster", "mpi", "launch")
"""Folders of hcasim/ whose every module is compiled."""
BELOW = ("traces", "catalog", "pages", "ground")
"""Folders whose types the compiled modules rely on."""
COMPILER = ["mypy[mypyc]>=2.4", "setuptools>=65"]
KEPT = "HCASIM_COMPILED"
"""The variable of the environment that names a folder where what was compiled is kept."""
MOST = 4
"""States of the sources of which that is kept."""
PRODUCT = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static int raise_later(void *error) {
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)error), (PyObject *)error);
    Py_DECREF((PyObject *)error);
    return -1;
}

/* Python answers signals inside long products. mypyc takes an answer that raises for a lack of
   memory and ends the process; here the next code that is not compiled raises the exception. */
static PyObject *product(PyObject *left, PyObject *right) {
    PyObject *found, *type, *error, *trace;
    while ((found = PyNumber_Multiply(left, right)) == NULL) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError))
            return NULL;
        PyErr_Fetch(&type, &error, &trace);
        PyErr_NormalizeException(&type, &error, &trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        if (Py_AddPendingCall(raise_later, error))
            Py_DECREF(error);
    }
    return found;
}
#define PyNumber_Multiply product
"""
"""Precedes the part of mypyc's runtime that computes with whole numbers."""


class Compile(BuildHookInterface):
    """Adds compiled modules to the wheel, beside their sources.

    The wheel holds what Python alone needs as well: an extension module goes before the source.
    """

    def dependencies(self) -> list[str]:
        """What compiling needs; types of the libraries are a part of it."""
        return [*COMPILER, *self.metadata.core.dependencies] if _asked() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, if it is asked for."""
        if not _asked():
            return
        if version == "editable":
            self.app.abort(
                "An editable install cannot be compiled: unset HCASIM_COMPILE,"
                " or install without --editable."
            )
        if (missing := _missing()) is not None:
            self.app.abort(f"HCASIM_COMPILE=1 needs {missing}. Without it, hcasim is pure Python.")
        self._made = tempfile.TemporaryDirectory(prefix="hcasim-compile-")
        modules = Path(self._made.name) / "modules"
        named = os.environ.get(KEPT)
        kept = Path(named, _digest(Path(self.root))) if named else None
        if kept is not None and kept.is_dir():
            kept.touch()
            modules = kept
        else:
            self._compile(modules.parent)
            if kept is not None:
                _keep(modules, kept)
        for file in modules.rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
            build_data["force_include"][str(file)] = str(file.relative_to(modules))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _compile(self, folder: Path) -> None:
        """Compile in a process of its own, which says more than an exception here would."""
        done = subprocess.run(
            [sys.executable, Path(__file__).resolve(), folder],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            self.app.abort(f"{done.stdout}\nhcasim could not be compiled.")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what has been made on the way."""
        if _asked():
            self._made.cleanup()


def _asked() -> bool:
    return os.environ.get("HCASIM_COMPILE") == "1"


def _digest(root: Path) -> str:
    """A hexadecimal digest of all that compiled modules are made of, and with."""
    with_what = [version(name) for name in ("mypy", "setuptools", "simpy")]
    compiler = os.environ.get("CC"), sysconfig.get_config_var("CC")
    found = hashlib.sha256(repr((sys.version, with_what, compiler)).encode())
    files = [file for room in (*ROOMS, *BELOW) for file in (root / "hcasim" / room).rglob("*.py")]
    for file in (root / "hcasim" / "__init__.py", root / ".ci" / "compile.py", *sorted(files)):
        data = file.read_bytes()
        found.update(f"{file.relative_to(root)} {len(data)}\n".encode() + data)
    return found.hexdigest()


def _keep(modules: Path, place: Path) -> None:
    """Keep compiled modules, and remove those that were not used for longest."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as beside:
        # Under its name it is whole.
        whole = shutil.copytree(modules, Path(beside) / place.name)
        with contextlib.suppress(OSError):
            whole.rename(place)
    states = [one for one in place.parent.iterdir() if len(one.name) == len(place.name)]
    for old in sorted(states, key=lambda one: one.stat().st_mtime)[:-MOST]:
        shutil.rmtree(old, ignore_errors=True)


def _missing() -> str | None:
    """What compiling needs and is not there, in words."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return f"a C compiler, and there is no {compiler}; on Debian or Ubuntu: apt install gcc"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python; on Debian or Ubuntu: apt install python3-dev"
    return None


def compile_rooms(folder: Path) -> None:
    """Compile the rooms of the package in the working directory, into ``folder``/modules."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    class SideBySide(build_ext):
        """Compiles the files of an extension module at the same time."""

        def build_extension(self, ext: Any) -> None:
            def compiled(source: str) -> list[str]:
                found: list[str] = self.compiler.compile(
                    [source],
                    output_dir=self.build_temp,
                    include_dirs=ext.include_dirs,
                    # Another compiler may have more to remark.
                    extra_postargs=[*ext.extra_compile_args, "-Wno-error"],
                )
                return found

            with ThreadPoolExecutor(os.cpu_count()) as pool:
                for objects in pool.map(compiled, ext.sources):
                    ext.extra_objects += objects
            ext.sources = []
            super().build_extension(ext)

    sources = [file for room in ROOMS for file in sorted(Path("hcasim", room).rglob("*.py"))]
    modules = mypycify(
        ["--cache-dir", str(folder / "types"), *map(str, sources)],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        target_dir=str(folder / "C"),
        # What all modules share is hcasim__mypyc, beside the package: inside it, mypyc would give
        # the rooms wrong paths.
        group_name="hcasim",
    )
    numbers = folder / "C" / "int_ops.c"
    own = numbers.read_text()
    assert "PyNumber_Multiply(" in own, "mypyc's runtime computes products in another way"
    numbers.write_text(PRODUCT + own)
    build = SideBySide(Distribution({"ext_modules": modules}))
    build.build_lib = str(folder / "modules")
    build.build_temp = str(folder / "objects")
    build.ensure_finalized()
    build.run()


if __name__ == "__main__":
    compile_rooms(Path(sys.argv[1]))
