"""The options of a benchmark: understood by it, and free of contradictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from hcasim.catalog import Machine, nearest, one_of
from hcasim.runs.contradictions import contradictions
from hcasim.runs.machine_faults import machine_faults
from hcasim.workloads.options import AXES, OPTIONS, Options

if TYPE_CHECKING:
    from hcasim.workloads import Workload

ATOMIC_SIZE = 8


def find_workload(name: object) -> Workload | None:
    """Return a workload by its name, or None."""
    from hcasim.workloads import WORKLOADS

    return WORKLOADS.get(name) if isinstance(name, str) else None


def unknown_workload(name: object) -> str:
    """Say that a workload is unknown and which are known."""
    from hcasim.workloads import WORKLOADS

    return f"workload: found {name!r}; allowed: {one_of(list(WORKLOADS))}{nearest(name, WORKLOADS)}"


def build_options(workload: Workload, given: Mapping[str, Any]) -> Options:
    """Complete settings with the defaults of a workload.

    The warm-up, unless it is given, lasts until every queue pair and buffer has been used once.

    Parameters:
        workload: the benchmark.
        given: settings that were made, one value each; they must have no faults.
    """
    settings = dict(given)
    if settings.get("mode") in ("striping", "binding"):
        settings.setdefault("ports", 2)
    if workload.ladder and settings.get("verb") == "write":
        settings.setdefault("completion", "memory")
    options = replace(workload.defaults, **settings)
    if "warmup" in settings or not options.warmup:
        return options
    return replace(options, warmup=max(options.warmup, workload.round(options)))


def changed(workload: Workload, options: Options) -> dict[str, Any]:
    """Return the settings with which `build_options` makes options again; exact and explain, which
    change no result, are not among them."""
    usual = vars(workload.defaults)
    found = {
        name: value
        for name, value in vars(options).items()
        if name in workload.options - {"exact", "explain", "warmup"} and value != usual[name]
    }
    if "warmup" in workload.options and options.warmup != build_options(workload, found).warmup:
        found["warmup"] = options.warmup
    return found


def read_options(
    workload: Workload | None, given: Mapping[str, Any], faults: list[str]
) -> dict[str, Any]:
    """Read options that may be text, as far as they are given and can be read.

    Parameters:
        workload: the benchmark, or None if that is not known.
        given: values by name; those that are None are left out.
        faults: gets a line for each text that cannot be read.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        option = OPTIONS.get(name)
        if workload is not None and option is not None:
            option = workload.option(name)
        try:
            if value is not None:
                found[name] = option.read(value) if option else value
        except ValueError as error:
            faults += [f"{name}: {line}" for line in str(error).splitlines()]
    return found


def as_many_as_there_are(
    workload: Workload, machine: Machine, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Add to what was set the number of nodes, if it was not and the usual one is more than fit.

    Parameters:
        workload: the benchmark.
        machine: what it runs on.
        given: what was set, by name; of an axis a value or all values.
    """
    usual, least = workload.defaults.nodes, OPTIONS["nodes"].low
    if "nodes" not in workload.options or "nodes" in given or usual <= machine.nodes:
        return dict(given)
    processes = given.get("processes", workload.defaults.processes)
    each = max(processes) if isinstance(processes, tuple) else processes
    most = max(least, machine.nodes)
    for number in range(most, least, -1):
        # Some workloads cannot do with any number of nodes.
        with suppress(ValueError):
            workload.nodes(machine, replace(workload.defaults, nodes=number, processes=each))
            return {**given, "nodes": (number,)}
    return {**given, "nodes": (least,)}


def each_point(workload: Workload, given: Mapping[str, Any]) -> list[Options]:
    """Return the options of each point: each value of an axis with each other's.

    Parameters:
        workload: the benchmark.
        given: what was set; of an axis all values. It must have no faults.
    """
    swept = {name: given[name] for name in AXES if name in given}
    points = (dict(zip(swept, values, strict=True)) for values in product(*swept.values()))
    return [build_options(workload, {**given, **point}) for point in points]


def find_faults(workload: Workload, machine: Machine | None, given: Mapping[str, Any]) -> list[str]:
    """Return a line for each option that is out of range, unknown or contradicts another.

    Parameters:
        workload: the benchmark.
        machine: what it runs on, or None if that is not known.
        given: what was set, by name; of an axis a value or all values.
    """
    several = {name: one if isinstance(one, tuple) else (one,) for name, one in given.items()}
    faults = [*_not_understood(workload, given)]
    for name in (one for one in several if one in workload.options):
        found = filter(None, map(workload.option(name).fault, several[name]))
        faults += [f"{name}: {fault}" for fault in found]
    sizes = several.get("size", ())
    if not faults and "op" in workload.options and set(sizes) - {ATOMIC_SIZE}:
        found = next(size for size in sizes if size != ATOMIC_SIZE)
        faults.append(
            f"size: found {found}; allowed: {ATOMIC_SIZE}, the size of an atomic operation"
        )
    if faults:
        return faults
    largest = {name: max(values) for name, values in several.items() if values}
    settings = build_options(workload, largest)
    faults += contradictions(workload, settings, given)
    if machine is not None:
        faults += machine_faults(workload, settings, machine, several.get("nodes", ()))
    return faults


def _not_understood(workload: Workload, given: Mapping[str, Any]) -> Iterator[str]:
    allowed = sorted(workload.options)
    for name in given:
        # A flag that is not set asks for nothing.
        unset = given[name] is False and hasattr(workload.defaults, name)
        if name not in workload.options and not unset:
            yield (
                f"{name}: {workload.name} has no such option; "
                f"it has {', '.join(allowed)}{nearest(name, allowed)}"
            )
