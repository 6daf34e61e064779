"""Workloads of users: functions in files of their own, or in packages that they have installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from inspect import getsourcefile, isgeneratorfunction
from numbers import Real
from pathlib import Path
from typing import Any, Final

from hcasim.apps.file import faults_of, read_module
from hcasim.ground.errors import (
    CatalogError,
    call_fault,
    display,
    nearest,
    one_of,
    refuse,
    table_fault,
    text_fault,
)
from hcasim.ground.opened import note_read
from hcasim.workloads.options import OPTIONS, Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes
from hcasim.workloads.run import Run
from hcasim.workloads.workload import Workload

GROUP: Final = "hcasim.workloads"
"""Entry points of packages that have workloads."""
_ALWAYS: Final = ("exact", "explain")
_OF_A_FILE: Final = re.compile(r"(.+\.py):(\w*)")
_EXAMPLE: Final = '@hc.workload("latency_us") above `def NAME(run):`'

Measure = Callable[[Run], Mapping[str, float]]
"""Runs programs, and returns what was measured by field."""


def workload(
    *fields: str,
    options: str = "size iters",
    title: str = "",
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Measure], Workload]:
    """Make a workload of a function that is given a `Run`: `@hc.workload("latency_us")`.

    It can be named wherever a benchmark can: as FILE.py:NAME, or by the name of an entry point in
    the group `hcasim.workloads` of an installed package.

    Parameters:
        fields: numbers that the function returns by name; the last word of each is its unit.
        options: names of those of `hcasim bench` that mean something to it; with `nodes` so many
            take part, else a client and a server, or with `clients` several.
        title: one line for a list; the first of the function's docstring without it.
        defaults: values of these options, unless the user says otherwise.

    Raises:
        CatalogError: options or fields that there cannot be, or a function that is a generator.
    """
    refuse(
        text_fault("options", options),
        text_fault("title", title),
        table_fault("defaults", defaults, "{'iters': 100}"),
    )
    given, names = dict(defaults or {}), options.split()
    faults = [] if fields else ["fields: found none; needed: such as 'latency_us'"]
    for where, words in (("options", names), ("defaults", given)):
        allowed = [*OPTIONS] if where == "options" else names
        faults += [
            f"{where}: found {one!r}; allowed: {one_of(allowed)}{nearest(one, allowed)}"
            for one in words
            if one not in allowed
        ]

    def made(function: Measure) -> Workload:
        refuse(call_fault("workload", function))
        name = "workload"
        with suppress(Exception):
            name = str(getattr(function, "__name__", name))
        if isgeneratorfunction(function):
            needed = "needed: one that hands its programs to run.together(...)"
            faults.append(f"found a generator; {needed}")
        refuse(*(f"{name}: {fault}" for fault in faults))
        text = title or (function.__doc__ or "").strip().partition("\n")[0].removesuffix(".")
        return Workload(
            name,
            text,
            fields,
            frozenset((*names, *_ALWAYS)),
            _measured(function, fields),
            replace(Options(iters=100, warmup=10), **given),
            nodes=first_nodes if "nodes" in names else clients_and_server,
        )

    return made


def _measured(function: Measure, fields: tuple[str, ...]) -> Callable[[Run], Result]:
    def measure(run: Run) -> Result:
        found: object = function(run)
        needed = f"needed: numbers by name, {one_of([repr(one) for one in fields])}"
        if not isinstance(found, Mapping):
            raise CatalogError([f"{run.name}: has returned {found!r}; {needed}"])
        values = {str(one): value for one, value in found.items()}
        missing = [repr(one) for one in fields if not isinstance(values.get(one), Real)]
        if missing:
            raise CatalogError([f"{run.name}: has returned no {one_of(missing)}; {needed}"])
        try:
            row = {one: float(values[one]) for one in fields}
        except OverflowError:
            said = "has returned numbers beyond those of 64 bits"
            raise CatalogError([f"{run.name}: {said}; {needed}"]) from None
        return run.result(row, sized=run.sized)

    return measure


@cache
def installed() -> Mapping[str, EntryPoint]:
    """The workloads of packages that have been installed, by name."""
    return {one.name: one for one in entry_points(group=GROUP)}


def find(name: str) -> Workload | None:
    """Return a workload of a user's by its name, or None if that names none.

    A file is read again when it has been changed.

    Raises:
        CatalogError: it names a file or a package that has no such workload.
    """
    if match := _OF_A_FILE.fullmatch(name):
        return _of_file(name, Path(match[1]), match[2])
    if name not in installed():
        return None
    entry = installed()[name]
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise CatalogError([f"{name}: {entry.value} cannot be imported: {error}"]) from error
    if not isinstance(found, Workload):
        raise CatalogError([f"{name}: {entry.value} is no workload; needed: {_EXAMPLE}"])
    assert callable(found.program)
    file = Path(getsourcefile(found.program) or entry.value)
    note_read(file)
    return _running(name, found, lambda: faults_of(file))


def place_of(name: str) -> str:
    """Return a name that names the same from any folder; the same if it is not that of a file."""
    match = _OF_A_FILE.fullmatch(name)
    return f"{Path(match[1]).absolute()}:{match[2]}" if match else name


def _of_file(name: str, file: Path, wanted: str) -> Workload:
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        changed = 0
    every, running = _read(file.absolute(), changed)
    if wanted not in every:
        found = f"found no workload {wanted!r}" if wanted else "found no name of a workload"
        has = f"it has {one_of([*every])}" if every else f"needed: {_EXAMPLE}"
        raise CatalogError([f"{display(file)}: {found}; {has}{nearest(wanted, every)}"])
    return _running(name, every[wanted], running)


@lru_cache(maxsize=16)
def _read(
    file: Path, changed: int
) -> tuple[dict[str, Workload], Callable[[], AbstractContextManager[None]]]:
    module, beside = read_module(file)
    every = {name: one for name, one in vars(module).items() if isinstance(one, Workload)}
    return every, beside.running


def _running(
    name: str, found: Workload, inside: Callable[[], AbstractContextManager[None]]
) -> Workload:
    program = found.program
    assert callable(program)

    def measure(run: Run) -> Result:
        with inside():
            return program(run)

    return replace(found, name=name, program=measure)
