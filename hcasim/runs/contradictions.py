"""What options of a benchmark say against each other, whatever it runs on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hcasim.catalog import one_of
from hcasim.workloads.options import Options

if TYPE_CHECKING:
    from hcasim.workloads import Workload


def contradictions(
    workload: Workload, settings: Options, given: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a line for each option that another does not allow.

    Parameters:
        workload: the benchmark.
        settings: its options, of each axis the largest value.
        given: what was set, by name.
    """
    yield from _port_faults(settings, given)
    yield from _pool_faults(settings)
    yield from _pair_faults(workload, settings)
    yield from _loopback_faults(settings)
    yield from _verb_faults(workload, settings)
    yield from _thread_faults(workload, settings)
    if 0 < settings.region < settings.size:
        size = settings.size
        yield f"region: found {settings.region}; allowed: at least {size}, the message"
    yield from _list_faults(workload, settings)


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
