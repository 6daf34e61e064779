"""The settings of a benchmark: understood by it, and free of contradictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hcasim.catalog import Machine, format_size, nearest, one_of
from hcasim.runs.axis import AXES
from hcasim.runs.sizes import LARGEST

if TYPE_CHECKING:
    from hcasim.workloads import Options, Workload

WORDS = {
    "mode": ("single", "striping", "binding"),
    "op": ("fetch_add", "cmp_swap"),
    "pattern": ("cyclic", "random", "zipf"),
    "memory": ("host", "adapter"),
    "completion": ("cq", "memory"),
    "verb": ("write", "send", "read"),
}
"""The options that are a word, and the words."""

ATOMIC_SIZE = 8
SMALLEST_PAGE, LARGEST_PAGE = 4096, 2**30


def find_workload(name: str) -> Workload | None:
    """Return a workload by its name, or None."""
    from hcasim.workloads import WORKLOADS

    return WORKLOADS.get(name)


def unknown_workload(name: str) -> str:
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


def find_faults(
    workload: Workload,
    machine: Machine | None,
    swept: Mapping[str, tuple[int, ...]],
    given: Mapping[str, Any],
) -> list[str]:
    """Return a line for each setting that is out of range, unknown or contradicts another.

    Parameters:
        workload: the benchmark.
        machine: what it runs on, or None if that is not known.
        swept: the values of each of size, qps and reuse that was given.
        given: further settings that were made, by the name of the option.
    """
    faults = [*_not_understood(workload, [*swept, *given])]
    faults += _swept_faults(workload, swept)
    faults += _range_faults({name: given[name] for name in given if name in workload.options})
    if faults:
        return faults
    largest = {name: max(values) for name, values in swept.items() if values}
    settings = build_options(workload, {**largest, **given})
    faults += _port_faults(settings, given)
    faults += _pool_faults(settings)
    faults += _verb_faults(workload, settings)
    if machine is not None:
        faults += _machine_faults(workload, settings, machine)
    return faults


def _not_understood(workload: Workload, given: Iterable[str]) -> Iterator[str]:
    allowed = sorted(workload.options)
    for name in given:
        if name not in workload.options:
            yield (
                f"{name}: {workload.name} has no such option; "
                f"it has {', '.join(allowed)}{nearest(name, allowed)}"
            )


def _swept_faults(workload: Workload, swept: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    for size in swept.get("size", ()):
        if not 1 <= size <= LARGEST:
            yield f"size: found {size}; allowed: 1 B to {format_size(LARGEST)}"
        elif workload.name == "atomic_lat" and size != ATOMIC_SIZE:
            yield f"size: found {size}; allowed: {ATOMIC_SIZE}, the size of an atomic operation"
    for count in swept.get("qps", ()):
        if count < 1:
            yield f"qps: found {count}; allowed: 1 or more"
    reuse = AXES["reuse"]
    for percent in swept.get("reuse", ()):
        if not reuse.low <= percent <= reuse.high:
            yield f"reuse: found {percent}; allowed: {reuse.low} to {reuse.high}"


def _range_faults(given: Mapping[str, Any]) -> Iterator[str]:
    for name in ("window", "ports", "processes", "iters", "buffers", "depth"):
        if name in given and given[name] < 1:
            yield f"{name}: found {given[name]}; allowed: 1 or more"
    if given.get("warmup", 0) < 0:
        yield f"warmup: found {given['warmup']}; allowed: 0 or more"
    page = given.get("page_size", SMALLEST_PAGE)
    if not SMALLEST_PAGE <= page <= LARGEST_PAGE or page & (page - 1):
        pages = f"{format_size(SMALLEST_PAGE)} to {format_size(LARGEST_PAGE)}"
        yield f"page_size: found {page}; allowed: powers of two from {pages}"
    for name, words in WORDS.items():
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


def _verb_faults(workload: Workload, settings: Options) -> Iterator[str]:
    verb = settings.verb
    if verb == "read" and workload.name != "window_bw":
        yield f"verb: found 'read' with {workload.name}; allowed: write or send"
    if verb == "read" and settings.inline:
        yield "inline: found with verb read, whose request carries no message"
    if verb != "write" and settings.mode == "striping":
        yield f"mode: found 'striping' with verb {verb}; allowed: single or binding"
    if workload.ladder and verb == "write" and settings.completion == "cq":
        yield (
            "completion: found 'cq' with verb write, which leaves no completion where it arrives; "
            "allowed: memory"
        )


def _pool_faults(settings: Options) -> Iterator[str]:
    from hcasim.workloads.pool import POOL

    if settings.invalidate and settings.buffers > 1:
        yield (
            f"buffers: found {settings.buffers} with invalidate, which rotates through one pool; "
            "leave one out"
        )
    if settings.invalidate and settings.size > POOL:
        yield (
            f"size: found {settings.size} with invalidate; "
            f"allowed: up to {POOL}, the bytes of the pool"
        )


def _alike(workload: Workload) -> list[str]:
    """Other workloads that measure the same."""
    from hcasim.workloads import WORKLOADS

    others = (one for one in WORKLOADS.values() if one.fields == workload.fields)
    return [one.name for one in others if one.name != workload.name]


def _machine_faults(workload: Workload, settings: Options, machine: Machine) -> Iterator[str]:
    adapter, limits = machine.adapter, machine.adapter.limits
    if workload.name == "atomic_lat" and not limits.atomics:
        yield (
            f"{workload.name}: found with {adapter.id}, which has no atomic operations; "
            f"allowed: {one_of(_alike(workload))}"
        )
    if settings.ports > adapter.ports:
        yield f"ports: found {settings.ports}; allowed: up to {adapter.ports}, as {adapter.id} has"
    if settings.processes > machine.host.cpus:
        yield (
            f"processes: found {settings.processes}; allowed: up to {machine.host.cpus}, "
            f"one for each processor of {machine.host.id}"
        )
    pairs = workload.queue_pairs(settings)
    if pairs > limits.max_qp:
        yield (
            f"qps: found {settings.qps}, in all {pairs} queue pairs of a node; "
            f"allowed: up to {limits.max_qp}, as {adapter.id} has"
        )
    for name in ("window", "depth"):
        if getattr(settings, name) > limits.max_wr:
            yield (
                f"{name}: found {getattr(settings, name)}; "
                f"allowed: up to {limits.max_wr}, as a queue of {adapter.id} holds"
            )
    if settings.memory == "adapter" and not adapter.local_memory_size:
        yield (
            f"memory: found 'adapter', but {adapter.id} has none in use "
            f"in firmware mode {adapter.firmware_mode}; allowed: host"
        )
    inline = min(limits.max_inline, machine.stack.max_inline)
    if settings.inline and settings.size > inline:
        yield f"inline: found with size {settings.size}; allowed: up to {format_size(inline)}"
