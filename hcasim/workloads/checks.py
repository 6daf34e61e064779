"""What options of a benchmark do not allow of each other, and what a machine does not allow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from hcasim.catalog import (
    Adapter,
    DmaDevice,
    EthernetLink,
    Host,
    Machine,
    NodeGroup,
    list_ids,
    load,
    nearest,
    one_of,
)
from hcasim.catalog.algorithms import algorithm_fault
from hcasim.catalog.classes import PRIORITIES
from hcasim.catalog.stack import Stack
from hcasim.ground.units import format_size
from hcasim.verbs.qp import ATOMIC_SIZE
from hcasim.workloads.netpipe import POOL
from hcasim.workloads.options import AXES, Options
from hcasim.workloads.registry import WORKLOADS, twice
from hcasim.workloads.workload import Workload

FEW: Final = 5
"""Values of points that a line names."""
_FOUND: Final = re.compile(r"(\w+: found )([^ ,;]+)(.*)", re.DOTALL)
"""A fault of an option: what begins it, the value, and the rest."""


def check(workload: Workload, machine: Machine | None, given: Mapping[str, Any]) -> list[str]:
    """Return a line for each option that is out of range, unknown or contradicts another.

    What was set is given by name, of an axis a value or all values; the machine if it is known.
    """
    several = {name: one if isinstance(one, tuple) else (one,) for name, one in given.items()}
    allowed = sorted(workload.options)
    faults = [
        _of_a_gpu(workload)
        if name == "memory" and "gpu" in several[name]
        else f"{name}: {workload.name} has no such option; "
        f"it has {', '.join(allowed)}{nearest(name, allowed)}"
        for name, value in given.items()
        # A flag that is not set asks for nothing, but for what a library does unless it is told.
        if name not in allowed
        and not (value is False and name != "locks" and hasattr(workload.defaults, name))
    ]
    for name in (one for one in several if one in workload.options):
        found = map(workload.option(name).fault, several[name])
        faults += [fault.at(name) for fault in found if fault]
    if faults:
        return faults
    points = workload.each_point({**given, **{n: several[n] for n in several if n in AXES}})
    return _told_once(fault for one in points for fault in _point_faults(workload, one, machine))


def _point_faults(workload: Workload, settings: Options, machine: Machine | None) -> Iterator[str]:
    yield from contradictions(workload, settings)
    if machine is not None:
        yield from machine_faults(workload, settings, machine)


def _told_once(faults: Iterable[str]) -> list[str]:
    """Return lines of which those that differ in what was found alone are one, and so many."""
    values: dict[tuple[str, str], dict[str, None]] = {}
    for fault in faults:
        match = _FOUND.match(fault)
        begin, found, rest = match.groups() if match else (fault, "", "")
        values.setdefault((begin, rest), {})[found] = None
    return [name + _listed([*found]) + rest for (name, rest), found in values.items()]


def _listed(found: list[str]) -> str:
    more = len(found) - FEW
    return ", ".join(found[:FEW]) + (f" and {more} more" if more > 0 else "")


def _of_a_gpu(workload: Workload) -> str:
    """Why a workload that does not choose where its buffers are has none on a GPU."""
    if workload.mpi:
        why = "whose library copies between GPU and host in ways that are not modelled"
    elif workload.name.startswith("write_"):
        why = "whose processor polls the end of the message; perftest refuses it, too"
    else:
        why = "which does not choose where its buffers are"
    able = [
        one.name
        for one in WORKLOADS.values()
        if "memory" in one.options and "gpu" in one.option("memory").words
    ]
    return f"memory: found 'gpu' with {workload.name}, {why}; allowed: with {one_of(able)}"


def contradictions(workload: Workload, settings: Options) -> Iterator[str]:
    """Yield a line for each option that another does not allow."""
    size, mode, verb = settings.size, settings.mode, settings.verb
    if "op" in workload.options and size != ATOMIC_SIZE:
        yield f"size: found {size}; allowed: {ATOMIC_SIZE}, the size of an atomic operation"
    ports = f"ports: found {settings.ports} with mode {mode}, which"
    if mode == "single" and settings.ports > 1:
        modes = one_of([one for one in workload.option("mode").words if one != "single"])
        yield f"{ports} uses 1; choose mode {modes}"
    if mode != "single" and settings.ports < 2:
        yield f"{ports} needs 2"
    if settings.invalidate and settings.buffers > 1:
        yield (
            f"buffers: found {settings.buffers} with invalidate, which rotates through one pool; "
            "leave one out"
        )
    if settings.invalidate and size > POOL:
        yield (f"size: found {size} with invalidate; allowed: up to {POOL}, the bytes of the pool")
    if workload.mpi and "nodes" not in workload.options and settings.processes > 2:
        yield (
            f"processes: found {settings.processes} with {workload.name}, which has 2; "
            "allowed: 1 on each of two nodes, or 2 on one"
        )
    if settings.loopback and settings.clients > 1:
        yield f"clients: found {settings.clients} with loopback, which has 1"
    if settings.loopback and settings.server:
        yield "server: found with loopback, whose server is on the client's node; leave one out"
    if verb == "read" and settings.inline:
        yield "inline: found with verb read, whose request carries no message"
    if mode == "striping" and (verb != "write" or workload.replies):
        why = workload.name if workload.replies else f"verb {verb}"
        yield f"mode: found 'striping' with {why}; allowed: single or binding"
    if workload.ladder and verb == "write" and settings.completion == "cq":
        yield (
            "completion: found 'cq' with verb write, which leaves no completion where it arrives; "
            "allowed: memory"
        )
    yield from _idle(workload, settings)
    if {"window", "tx_depth"} <= workload.options:
        yield from _thread_faults(workload, settings)
    if 0 < settings.region < size:
        yield f"region: found {settings.region}; allowed: at least {size}, the message"
    if "window" not in workload.options:
        yield from _list_faults(settings)


def _idle(workload: Workload, settings: Options) -> Iterator[str]:
    """Options that were set and that others leave without effect."""
    usual = workload.defaults
    if settings.access != usual.access and not settings.region:
        yield "access: found without region, of which it says the address that is next; add region"
    if settings.seed != usual.seed and settings.shift:
        yield "seed: found with shift, which draws nothing; leave one out"
    if settings.pause != usual.pause and not settings.burst:
        yield "pause: found without burst, behind which it is; add burst"
    if settings.burst % settings.post_list:
        allowed = f"allowed: multiples of post_list, {settings.post_list}, or 0"
        yield f"burst: found {settings.burst}; {allowed}"
    yield from _beside_a_probe(workload, settings)
    if settings.rounds and settings.cq_mod <= 1:
        yield (
            f"rounds: found with cq_mod {settings.cq_mod}, with which each request is waited for; "
            "allowed: with cq_mod from 2"
        )
    elif settings.rounds and settings.window != usual.window and not workload.replies:
        yield "window: found with rounds, in which cq_mod says what is in flight; leave one out"
    if settings.memory == "gpu" and (settings.inline or settings.inline_size > 0):
        name = "inline" if settings.inline else "inline_size"
        yield f"{name}: found with memory 'gpu', which processors do not read; leave it out"


def _beside_a_probe(workload: Workload, settings: Options) -> Iterator[str]:
    """Options of a background that has none of them."""
    if "background" not in workload.options:
        return
    unused = {"incast": ("load", "flow_sizes"), "open_loop": ("background_size",)}
    for name in unused[settings.background]:
        if getattr(settings, name) != getattr(workload.defaults, name):
            (other,) = unused.keys() - {settings.background}
            yield f"{name}: found with background {settings.background!r}; allowed: with {other}"


def _thread_faults(workload: Workload, settings: Options) -> Iterator[str]:
    """Those of threads that keep a window of requests in flight."""
    depth, every, listed = settings.tx_depth, settings.cq_mod, settings.post_list
    limits = [
        ("window", depth, "the entries of a queue (--tx-depth)"),
        ("cq_mod", depth // 2, "half of those of a queue (--tx-depth)"),
        ("post_list", depth if settings.rounds else settings.window, "the window"),
        ("post_list", every if every > 1 else listed, "the requests for one completion (--cq-mod)"),
    ]
    if workload.replies:
        # A window is as many receives; replies wait for room in the queue, and nothing else.
        left = depth - max(1, every) + 1
        limits = [limits[1], ("post_list", left, "what completions leave of a queue (--tx-depth)")]
    for name, most, why in limits:
        yield from _beyond(settings, name, most, why)


def _beyond(settings: Options, name: str, most: int, why: str) -> Iterator[str]:
    if (found := getattr(settings, name)) > most:
        yield f"{name}: found {found}; allowed: up to {most}, {why}"


def _list_faults(settings: Options) -> Iterator[str]:
    """Those of perftest's force_dependecies (perftest_parameters.c)."""
    count = settings.post_list
    if settings.iters % count:
        yield f"iters: found {settings.iters} with post_list {count}; allowed: multiples of it"
    if settings.tx_depth < count:
        yield f"tx_depth: found {settings.tx_depth} with post_list {count}; allowed: from {count}"
    if count > 1 and settings.cq_mod and count % settings.cq_mod:
        yield f"cq_mod: found {settings.cq_mod} with post_list {count}; allowed: its divisors"


def machine_faults(workload: Workload, settings: Options, machine: Machine) -> list[str]:
    """Return a line for each option that a machine does not allow."""
    devices = (one.adapter for one in machine.groups)
    other = next((one for one in devices if not isinstance(one, Adapter)), None)
    if other is not None and workload.rdma:
        others = one_of([one.name for one in WORKLOADS.values() if not one.rdma])
        found = f"{workload.name}: found with {other.id}, which is no RDMA adapter"
        return [f"{found}; allowed: {others}"]
    try:
        chosen = [machine.place(node)[0] for node in workload.nodes(machine, settings)]
    except ValueError as error:
        return [str(error)]
    faults = [*_service_faults(workload, settings, machine.mtu)]
    if settings.sl >= PRIORITIES and isinstance(machine.link, EthernetLink):
        found = f"sl: found {settings.sl} over Ethernet, where it is the priority of frames"
        faults.append(f"{found}; allowed: 0 to {PRIORITIES - 1}")
    for group in {one.name: one for one in chosen}.values():
        faults += (one for one in _group_faults(workload, settings, group) if one not in faults)
    return faults


def _service_faults(workload: Workload, settings: Options, mtu: int) -> Iterator[str]:
    if settings.connection == "UC" and settings.verb == "read":
        yield "connection: found 'UC' with verb read, which needs answers; allowed: RC or DC"
    elif settings.connection == "UD" and "verb" in workload.options and settings.verb != "send":
        yield f"connection: found 'UD' with verb {settings.verb}; allowed: with verb send"
    elif settings.connection == "UD" and settings.size > mtu:
        yield f"size: found {settings.size} with connection UD; allowed: up to the MTU, {mtu}"
    if settings.sl and settings.connection not in ("RC", "UC"):
        found = f"sl: found {settings.sl} with connection {settings.connection}"
        yield f"{found}; allowed: with RC or UC"
    name = "reply_size" if settings.reply_size else "size"
    if workload.replies and (found := getattr(settings, name)) > mtu:
        yield f"{name}: found {found}, in a reply by datagram; allowed: up to the MTU, {mtu}"


def _group_faults(workload: Workload, settings: Options, group: NodeGroup) -> Iterator[str]:
    yield from _device_faults(workload, settings, group)
    if isinstance(group.adapter, Adapter):
        yield from _lacking(workload, settings, group, group.adapter)
        yield from _too_many(workload, settings, group, group.adapter)


def _has_iommu(host: object) -> bool:
    return isinstance(host, Host) and host.iommu is not None


def _device_faults(workload: Workload, settings: Options, group: NodeGroup) -> Iterator[str]:
    """Faults of workloads on the bus alone, and of devices that have nothing else."""
    device, host = group.adapter, group.host
    if not workload.rdma and device.bus.kind == "direct":
        yield (
            f"{workload.name}: found with {device.id}, whose way to memory takes no time; "
            "allowed: adapters on a bus"
        )
    if isinstance(device, DmaDevice):
        engine = device.dma
        if settings.window != workload.defaults.window:
            yield (
                f"window: found with {device.id}, whose software keeps {engine.operations} "
                "operations in flight; allowed: --set adapter.dma.operations"
            )
        by_command = settings.path == "command"
        limit = engine.command_limit if by_command else engine.operation_limit
        if settings.size > limit and not workload.rdma:
            yield (
                f"size: found {settings.size} with path {settings.path}; "
                f"allowed: up to {limit}, as {device.id} has it"
            )
    elif settings.path == "command":
        yield f"path: found 'command', but {device.id} has no DMA engine; allowed: dma"
    if settings.iommu == "on" and host.iommu is None:
        having = [one for one in list_ids("hosts") if _has_iommu(load(one, "hosts").model)]
        allowed = f"host or off; on with --host {one_of(having)}"
        yield f"iommu: found 'on', but {host.id} has no section iommu; allowed: {allowed}"
    if settings.cache != "cold" and not host.cache.ddio:
        yield (
            f"cache: found {settings.cache!r}, but devices do not use the cache of {host.id}; "
            "allowed: cold"
        )
    if 0 < settings.window_bytes < settings.size:
        yield (
            f"window_bytes: found {settings.window_bytes} with size {settings.size}; "
            "allowed: from the size, or 0"
        )


def mpi_stacks() -> list[str]:
    """The ids of the stacks with an MPI library."""
    stacks = (load(one, "stacks").model for one in list_ids("stacks"))
    return [one.id for one in stacks if isinstance(one, Stack) and one.mpi is not None]


def _lacking(
    workload: Workload, settings: Options, group: NodeGroup, adapter: Adapter
) -> Iterator[str]:
    """What the workload needs and the node has not."""
    iwarp, with_ = adapter.protocol.kind == "iwarp", f"{workload.name}: found with {adapter.id}"
    if "op" in workload.options and not adapter.limits.atomics:
        # Others that measure the same without atomics.
        alike = [
            one.name
            for one in WORKLOADS.values()
            if one.fields == workload.fields and "op" not in one.options
        ]
        yield f"{with_}, which has no atomic operations; allowed: {one_of(alike)}"
    if settings.algorithm:
        fault = algorithm_fault(workload.name.partition("_")[2], settings.algorithm)
        if fault:
            yield f"algorithm: {fault}"
    if workload.mpi and group.stack.mpi is None:
        yield (
            f"{workload.name}: found with the stack {group.stack.id}, which has no MPI library; "
            f"allowed: --stack with {one_of(mpi_stacks())}"
        )
    if settings.memory == "adapter" and not adapter.local_memory_size:
        mode = adapter.firmware_mode
        unused = f" in use in firmware mode {mode}" if mode else ""
        yield f"memory: found 'adapter', but {adapter.id} has none{unused}; allowed: host"
    if group.stack.cycles is None:
        for name in ("work", "locks", "counter"):
            if getattr(settings, name) != getattr(workload.defaults, name):
                yield (
                    f"{name}: found with the stack {group.stack.id}, whose times hold the "
                    "program's work; allowed: with stacks whose work is in cycles"
                )
    if settings.memory == "gpu" and group.host.gpu is None:
        yield f"memory: found 'gpu', but {group.host.id} has no GPU; allowed: host"
    yield from workload.node_faults(group, settings)
    if workload.replies and iwarp:
        allowed = "with InfiniBand or RoCE, which have datagrams"
        yield f"{with_}, which speaks iWARP; allowed: {allowed}"
    if settings.connection != "RC" and iwarp:
        yield f"connection: found {settings.connection!r}; allowed: RC, which alone iWARP has"
    elif settings.connection == "DC" and not adapter.limits.dc:
        others = one_of([one for one in workload.option("connection").words if one != "DC"])
        found = f"connection: found 'DC' with {adapter.id}, which does not offer it"
        yield f"{found}; allowed: {others}"


def _too_many(
    workload: Workload, settings: Options, group: NodeGroup, adapter: Adapter
) -> Iterator[str]:
    """What goes beyond a limit of the adapter, the host or the stack."""
    limits, cpus = adapter.limits, group.host.cpus
    yield from _beyond(settings, "ports", adapter.ports, f"as {adapter.id} has")
    for name in ("processes", "client_processes"):
        yield from _beyond(settings, name, cpus, f"one for each processor of {group.host.id}")
    # Of the dynamically connected transport each end has an initiator and a target.
    pairs = workload.queue_pairs(settings) * (2 if settings.connection == "DC" else 1)
    if pairs > limits.max_qp:
        yield (
            f"qps: found {settings.qps}, in all {pairs} queue pairs of a node; "
            f"allowed: up to {limits.max_qp}, as {adapter.id} has"
        )
    ahead = ["rx_depth"] if "rx_depth" in workload.options else []
    for name in ("window", "depth", "tx_depth", *ahead):
        yield from _beyond(settings, name, limits.max_wr, f"as a queue of {adapter.id} holds")
    if workload.replies:
        yield from twice(settings.window, "with as many receives again posted ahead", adapter)
    inline = min(limits.max_inline, group.stack.max_inline)
    if settings.inline and settings.size > inline:
        yield f"inline: found with size {settings.size}; allowed: up to {format_size(inline)}"
    if settings.inline_size > inline:
        yield f"inline_size: found {settings.inline_size}; allowed: up to {format_size(inline)}"
