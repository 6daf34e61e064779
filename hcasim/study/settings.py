"""The settings of a benchmark: understood by it, and free of contradictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hcasim.catalog import Machine, format_size, nearest, one_of
from hcasim.study.sizes import LARGEST

if TYPE_CHECKING:
    from hcasim.workloads import Options, Workload

MODES = ("single", "striping", "binding")
OPERATIONS = ("fetch_add", "cmp_swap")
ATOMIC_SIZE = 8


def find_workload(name: str) -> Workload | None:
    """Return a workload by its name, or None."""
    from hcasim.workloads import WORKLOADS

    return WORKLOADS.get(name)


def unknown_workload(name: str) -> str:
    """Say that a workload is unknown and which are known."""
    from hcasim.workloads import WORKLOADS

    return f"workload: found {name!r}; allowed: {one_of(list(WORKLOADS))}{nearest(name, WORKLOADS)}"


def build_options(workload: Workload, size: int, given: Mapping[str, Any]) -> Options:
    """Complete settings with the defaults of a workload.

    Parameters:
        workload: the benchmark.
        size: message size in bytes.
        given: settings that were made; they must have no faults.
    """
    settings = dict(given)
    if settings.get("mode") in ("striping", "binding"):
        settings.setdefault("ports", 2)
    return replace(workload.defaults, size=size, **settings)


def find_faults(
    workload: Workload, machine: Machine | None, sizes: tuple[int, ...], given: Mapping[str, Any]
) -> list[str]:
    """Return a line for each setting that is out of range, unknown or contradicts another.

    Parameters:
        workload: the benchmark.
        machine: what it runs on, or None if that is not known.
        sizes: message sizes in bytes.
        given: settings that were made, by the name of the option.
    """
    faults = [*_not_understood(workload, given), *_size_faults(workload, sizes)]
    faults += _range_faults(given)
    if faults:
        return faults
    settings = build_options(workload, sizes[0], given)
    faults += _port_faults(settings, given)
    if machine is not None:
        faults += _machine_faults(settings, sizes, machine)
    return faults


def _not_understood(workload: Workload, given: Mapping[str, Any]) -> Iterator[str]:
    allowed = sorted(workload.options)
    for name in given:
        if name not in workload.options:
            yield (
                f"{name}: {workload.name} has no such option; "
                f"it has {', '.join(allowed)}{nearest(name, allowed)}"
            )


def _size_faults(workload: Workload, sizes: tuple[int, ...]) -> Iterator[str]:
    for size in sizes:
        if not 1 <= size <= LARGEST:
            yield f"size: found {size}; allowed: 1 B to {format_size(LARGEST)}"
        elif workload.name == "atomic_lat" and size != ATOMIC_SIZE:
            yield f"size: found {size}; allowed: {ATOMIC_SIZE}, the size of an atomic operation"


def _range_faults(given: Mapping[str, Any]) -> Iterator[str]:
    for name in ("qps", "window", "ports", "processes", "iters"):
        if name in given and given[name] < 1:
            yield f"{name}: found {given[name]}; allowed: 1 or more"
    if given.get("warmup", 0) < 0:
        yield f"warmup: found {given['warmup']}; allowed: 0 or more"
    for name, words in (("mode", MODES), ("op", OPERATIONS)):
        if name in given and given[name] not in words:
            found = str(given[name])
            yield f"{name}: found {found!r}; allowed: {one_of(words)}{nearest(found, words)}"


def _port_faults(settings: Options, given: Mapping[str, Any]) -> Iterator[str]:
    if settings.mode == "single" and settings.ports > 1:
        yield (
            f"ports: found {settings.ports} with mode single, which uses 1; "
            "choose mode striping or binding"
        )
    if settings.mode != "single" and settings.ports < 2:
        yield f"ports: found {given['ports']} with mode {settings.mode}, which needs 2"


def _machine_faults(settings: Options, sizes: tuple[int, ...], machine: Machine) -> Iterator[str]:
    adapter, limits = machine.adapter, machine.adapter.limits
    if settings.ports > adapter.ports:
        yield f"ports: found {settings.ports}; allowed: up to {adapter.ports}, as {adapter.id} has"
    if settings.processes > machine.host.cpus:
        yield (
            f"processes: found {settings.processes}; allowed: up to {machine.host.cpus}, "
            f"one for each processor of {machine.host.id}"
        )
    pairs = settings.qps * settings.processes * settings.ports
    if pairs > limits.max_qp:
        yield (
            f"qps: found {settings.qps}, in all {pairs} queue pairs; "
            f"allowed: up to {limits.max_qp}, as {adapter.id} has"
        )
    if settings.window > limits.max_wr:
        yield (
            f"window: found {settings.window}; "
            f"allowed: up to {limits.max_wr}, as a queue of {adapter.id} holds"
        )
    inline = min(limits.max_inline, machine.stack.max_inline)
    if settings.inline and max(sizes) > inline:
        yield f"inline: found with size {max(sizes)}; allowed: up to {format_size(inline)}"
