"""The options of a benchmark: understood by it, and free of contradictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from hcasim.catalog import Adapter, DmaDevice, Machine, NodeGroup, format_size, nearest, one_of
from hcasim.catalog.algorithms import algorithm_fault
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
    faults += _port_faults(settings, given)
    faults += _pool_faults(settings)
    faults += _pair_faults(workload, settings)
    faults += _loopback_faults(settings)
    faults += _verb_faults(workload, settings)
    faults += _thread_faults(workload, settings)
    if 0 < settings.region < settings.size:
        size = settings.size
        faults.append(f"region: found {settings.region}; allowed: at least {size}, the message")
    faults += _list_faults(workload, settings)
    if machine is not None:
        devices = (one.adapter for one in machine.groups)
        other = next((one for one in devices if not isinstance(one, Adapter)), None)
        if other is not None and workload.rdma:
            return [*faults, _no_rdma(workload, other.id)]
        try:
            # Some workloads cannot do with any number of nodes.
            for number in several.get("nodes", ()):
                workload.nodes(machine, replace(settings, nodes=number))
            chosen = [machine.place(node)[0] for node in workload.nodes(machine, settings)]
        except ValueError as error:
            return [*faults, str(error)]
        faults += _service_faults(workload, settings, machine.mtu)
        for group in {one.name: one for one in chosen}.values():
            faults += (one for one in _group_faults(workload, settings, group) if one not in faults)
    return faults


def _not_understood(workload: Workload, given: Mapping[str, Any]) -> Iterator[str]:
    allowed = sorted(workload.options)
    for name in given:
        if name not in workload.options and given[name] is not False:
            yield (
                f"{name}: {workload.name} has no such option; "
                f"it has {', '.join(allowed)}{nearest(name, allowed)}"
            )


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
    if "verb" in workload.options and verb not in workload.verbs:
        yield f"verb: found {verb!r} with {workload.name}; allowed: {one_of(workload.verbs)}"
    if verb == "read" and settings.inline:
        yield "inline: found with verb read, whose request carries no message"
    if settings.mode == "striping" and (verb != "write" or workload.replies):
        why = workload.name if workload.replies else f"verb {verb}"
        yield f"mode: found 'striping' with {why}; allowed: single or binding"
    if workload.ladder and verb == "write" and settings.completion == "cq":
        yield (
            "completion: found 'cq' with verb write, which leaves no completion where it arrives; "
            "allowed: memory"
        )


def _thread_faults(workload: Workload, settings: Options) -> Iterator[str]:
    """Those of threads that keep a window of requests in flight."""
    if not {"window", "tx_depth"} <= workload.options:
        return
    depth, every, listed = settings.tx_depth, settings.cq_mod, settings.post_list
    limits = [
        ("window", depth, "the entries of a queue (--tx-depth)"),
        ("cq_mod", depth // 2, "half of those of a queue (--tx-depth)"),
        ("post_list", settings.window, "the window"),
        ("post_list", every if every > 1 else listed, "the requests for one completion (--cq-mod)"),
    ]
    if workload.replies:
        # A window is as many receives; replies wait for room in the queue, and nothing else.
        left = depth - max(1, every) + 1
        limits = [limits[1], ("post_list", left, "what completions leave of a queue (--tx-depth)")]
    for name, most, why in limits:
        found = getattr(settings, name)
        if found > most:
            yield f"{name}: found {found}; allowed: up to {most}, {why}"


def _service_faults(workload: Workload, settings: Options, mtu: int) -> Iterator[str]:
    if settings.connection == "UD" and not workload.name.startswith("send"):
        yield f"connection: found 'UD' with {workload.name}; allowed: RC or UC"
    elif settings.connection == "UC" and settings.verb == "read":
        yield "connection: found 'UC' with verb read, which needs answers; allowed: RC"
    elif settings.connection == "UD" and settings.size > mtu:
        yield f"size: found {settings.size} with connection UD; allowed: up to the MTU, {mtu}"
    if workload.replies and (settings.reply_size or settings.size) > mtu:
        name = "reply_size" if settings.reply_size else "size"
        yield (
            f"{name}: found {settings.reply_size or settings.size}, in a reply by datagram; "
            f"allowed: up to the MTU, {mtu}"
        )


def _list_faults(workload: Workload, settings: Options) -> Iterator[str]:
    """Those of perftest's force_dependecies (perftest_parameters.c)."""
    if "window" in workload.options:
        return
    count = settings.post_list
    if settings.iters % count:
        yield f"iters: found {settings.iters} with post_list {count}; allowed: multiples of it"
    if settings.tx_depth < count:
        yield f"tx_depth: found {settings.tx_depth} with post_list {count}; allowed: from {count}"
    if count > 1 and settings.cq_mod and count % settings.cq_mod:
        yield f"cq_mod: found {settings.cq_mod} with post_list {count}; allowed: its divisors"


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


def _pair_faults(workload: Workload, settings: Options) -> Iterator[str]:
    if workload.mpi and "nodes" not in workload.options and settings.processes > 2:
        yield (
            f"processes: found {settings.processes} with {workload.name}, which has 2; "
            "allowed: 1 on each of two nodes, or 2 on one"
        )


def _loopback_faults(settings: Options) -> Iterator[str]:
    if settings.loopback and settings.clients > 1:
        yield f"clients: found {settings.clients} with loopback, which has 1"
    if settings.loopback and settings.server:
        yield "server: found with loopback, whose server is on the client's node; leave one out"


def mpi_stacks() -> list[str]:
    """The ids of the stacks with an MPI library."""
    from hcasim.catalog import Stack, list_ids, load

    stacks = (load(one, "stacks").model for one in list_ids("stacks"))
    return [one.id for one in stacks if isinstance(one, Stack) and one.mpi is not None]


def _alike(workload: Workload) -> list[str]:
    """Other workloads that measure the same without atomics."""
    from hcasim.workloads import WORKLOADS

    others = (one for one in WORKLOADS.values() if one.fields == workload.fields)
    return [one.name for one in others if one.name != workload.name and "op" not in one.options]


def _no_rdma(workload: Workload, device: str) -> str:
    from hcasim.workloads import WORKLOADS

    others = one_of([one.name for one in WORKLOADS.values() if not one.rdma])
    return f"{workload.name}: found with {device}, which is no RDMA adapter; allowed: {others}"


def _device_faults(workload: Workload, settings: Options, group: NodeGroup) -> Iterator[str]:
    """Faults of workloads on the bus alone, and of devices that have nothing else."""
    device, host = group.adapter, group.host
    engine = device.dma if isinstance(device, DmaDevice) else None
    if engine is not None and settings.window != workload.defaults.window:
        yield (
            f"window: found with {device.id}, whose software keeps {engine.operations} "
            "operations in flight; allowed: --set adapter.dma.operations"
        )
    if engine is None and settings.path == "command":
        yield f"path: found 'command', but {device.id} has no DMA engine; allowed: dma"
    if engine is not None and not workload.rdma:
        by_command = settings.path == "command"
        limit = engine.command_limit if by_command else engine.operation_limit
        if settings.size > limit:
            yield (
                f"size: found {settings.size} with path {settings.path}; "
                f"allowed: up to {limit}, as {device.id} has it"
            )
    if settings.iommu == "on" and host.iommu is None:
        yield f"iommu: found 'on', but {host.id} has no section iommu; allowed: host or off"
    if 0 < settings.window_bytes < settings.size:
        yield (
            f"window_bytes: found {settings.window_bytes} with size {settings.size}; "
            "allowed: from the size, or 0"
        )


def _group_faults(workload: Workload, settings: Options, group: NodeGroup) -> Iterator[str]:
    yield from _device_faults(workload, settings, group)
    adapter = group.adapter
    if not isinstance(adapter, Adapter):
        return
    limits = adapter.limits
    if "op" in workload.options and not limits.atomics:
        yield (
            f"{workload.name}: found with {adapter.id}, which has no atomic operations; "
            f"allowed: {one_of(_alike(workload))}"
        )
    if settings.algorithm:
        fault = algorithm_fault(workload.name.partition("_")[2], settings.algorithm)
        if fault:
            yield f"algorithm: {fault}"
    if workload.mpi and group.stack.mpi is None:
        yield (
            f"{workload.name}: found with the stack {group.stack.id}, which has no MPI library; "
            f"allowed: --stack with {one_of(mpi_stacks())}"
        )
    if settings.ports > adapter.ports:
        yield f"ports: found {settings.ports}; allowed: up to {adapter.ports}, as {adapter.id} has"
    for name in ("processes", "client_processes"):
        if getattr(settings, name) > group.host.cpus:
            yield (
                f"{name}: found {getattr(settings, name)}; allowed: up to {group.host.cpus}, "
                f"one for each processor of {group.host.id}"
            )
    pairs = workload.queue_pairs(settings)
    if pairs > limits.max_qp:
        yield (
            f"qps: found {settings.qps}, in all {pairs} queue pairs of a node; "
            f"allowed: up to {limits.max_qp}, as {adapter.id} has"
        )
    for name in ("window", "depth", "tx_depth"):
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
    if workload.name == "host_memory":
        for part, section in ((group.stack, "driver"), (adapter, "tables")):
            if getattr(part, section) is None:
                yield (
                    f"{workload.name}: found with {part.id}, which has no section {section}; "
                    "allowed: with one that says what takes host memory"
                )
    if workload.name == "nvmf_read":
        if adapter.umr is None:
            yield (
                f"{workload.name}: found with {adapter.id}, which has no section umr; "
                "allowed: with one that registers memory by work requests"
            )
        elif 2 * settings.window > limits.max_wr:
            yield (
                f"window: found {settings.window}, of two requests each; "
                f"allowed: up to {limits.max_wr // 2}, as a queue of {adapter.id} holds"
            )
    if workload.replies and adapter.protocol.kind == "iwarp":
        yield (
            f"{workload.name}: found with {adapter.id}, which speaks iWARP; "
            "allowed: with InfiniBand or RoCE, which have datagrams"
        )
    if workload.replies and 2 * settings.window > limits.max_wr:
        yield (
            f"window: found {settings.window}, with as many receives again posted ahead; "
            f"allowed: up to {limits.max_wr // 2}, as a queue of {adapter.id} holds"
        )
    inline = min(limits.max_inline, group.stack.max_inline)
    if settings.inline and settings.size > inline:
        yield f"inline: found with size {settings.size}; allowed: up to {format_size(inline)}"
    if settings.inline_size > inline:
        yield f"inline_size: found {settings.inline_size}; allowed: up to {format_size(inline)}"
    if settings.connection != "RC" and adapter.protocol.kind == "iwarp":
        yield f"connection: found {settings.connection!r}; allowed: RC, which alone iWARP has"
