"""What a machine does not allow of the options of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hcasim.catalog import Adapter, DmaDevice, Machine, NodeGroup, format_size, one_of
from hcasim.catalog.algorithms import algorithm_fault
from hcasim.workloads.options import Options

if TYPE_CHECKING:
    from hcasim.workloads import Workload


def machine_faults(
    workload: Workload, settings: Options, machine: Machine, numbers: Iterable[int]
) -> list[str]:
    """Return a line for each option that the machine does not allow.

    Parameters:
        workload: the benchmark.
        settings: its options, of each axis the largest value.
        machine: what it runs on.
        numbers: of nodes that were given, each of which has to do.
    """
    devices = (one.adapter for one in machine.groups)
    other = next((one for one in devices if not isinstance(one, Adapter)), None)
    if other is not None and workload.rdma:
        return [_no_rdma(workload, other.id)]
    try:
        # Some workloads cannot do with any number of nodes.
        for number in numbers:
            workload.nodes(machine, replace(settings, nodes=number))
        chosen = [machine.place(node)[0] for node in workload.nodes(machine, settings)]
    except ValueError as error:
        return [str(error)]
    faults = [*_service_faults(workload, settings, machine.mtu)]
    for group in {one.name: one for one in chosen}.values():
        faults += (one for one in _group_faults(workload, settings, group) if one not in faults)
    return faults


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
    if isinstance(group.adapter, Adapter):
        yield from _lacking(workload, settings, group, group.adapter)
        yield from _too_many(workload, settings, group, group.adapter)


def _lacking(
    workload: Workload, settings: Options, group: NodeGroup, adapter: Adapter
) -> Iterator[str]:
    """What the workload needs and the node has not."""
    if "op" in workload.options and not adapter.limits.atomics:
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
    if settings.memory == "adapter" and not adapter.local_memory_size:
        yield (
            f"memory: found 'adapter', but {adapter.id} has none in use "
            f"in firmware mode {adapter.firmware_mode}; allowed: host"
        )
    if "nas_class" in workload.options:
        kernel = workload.name.partition("_")[2]
        path = f"host.computing.nas_{kernel}"
        if getattr(group.host.computing, f"nas_{kernel}", None) is None:
            needed = f"needed: --set {path}, such as '500 Mop/s'"
            yield f"{workload.name}: found with {group.host.id}, which has no {path}; {needed}"
    if workload.name == "host_memory":
        for part, section in ((group.stack, "driver"), (adapter, "tables")):
            if getattr(part, section) is None:
                yield (
                    f"{workload.name}: found with {part.id}, which has no section {section}; "
                    "allowed: with one that says what takes host memory"
                )
    if workload.name == "nvmf_read" and adapter.umr is None:
        yield (
            f"{workload.name}: found with {adapter.id}, which has no section umr; "
            "allowed: with one that registers memory by work requests"
        )
    if workload.replies and adapter.protocol.kind == "iwarp":
        yield (
            f"{workload.name}: found with {adapter.id}, which speaks iWARP; "
            "allowed: with InfiniBand or RoCE, which have datagrams"
        )
    if settings.connection != "RC" and adapter.protocol.kind == "iwarp":
        yield f"connection: found {settings.connection!r}; allowed: RC, which alone iWARP has"


def _too_many(
    workload: Workload, settings: Options, group: NodeGroup, adapter: Adapter
) -> Iterator[str]:
    """What goes beyond a limit of the adapter, the host or the stack."""
    limits = adapter.limits
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
    if 2 * settings.window > limits.max_wr:
        twice = ""
        if workload.name == "nvmf_read" and adapter.umr is not None:
            twice = "of two requests each"
        elif workload.replies:
            twice = "with as many receives again posted ahead"
        if twice:
            yield (
                f"window: found {settings.window}, {twice}; "
                f"allowed: up to {limits.max_wr // 2}, as a queue of {adapter.id} holds"
            )
    inline = min(limits.max_inline, group.stack.max_inline)
    if settings.inline and settings.size > inline:
        yield f"inline: found with size {settings.size}; allowed: up to {format_size(inline)}"
    if settings.inline_size > inline:
        yield f"inline_size: found {settings.inline_size}; allowed: up to {format_size(inline)}"
