"""What the author of a benchmark chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hcasim.verbs import WROpcode

Mode = Literal["single", "striping", "binding"]
AtomicOp = Literal["fetch_add", "cmp_swap"]
Pattern = Literal["cyclic", "random", "zipf"]
Memory = Literal["host", "adapter"]
Notice = Literal["cq", "memory"]
Verb = Literal["write", "send", "read"]

OPCODES: dict[Verb, WROpcode] = {
    "write": WROpcode.RDMA_WRITE,
    "send": WROpcode.SEND,
    "read": WROpcode.RDMA_READ,
}


@dataclass(frozen=True)
class Options:
    """Options of one measured point.

    Attributes:
        size: bytes of a message.
        qps: queue pairs that each process uses in turn.
        window: messages sent back to back before the receiver's reply.
        ports: ports of each adapter in use.
        mode: how several ports are used: ``striping`` divides each message, ``binding`` gives
            each process and direction a port of its own.
        processes: processes on each node.
        iters: iterations that are averaged.
        warmup: iterations before them that are not.
        inline: whether small messages travel inside the work queue entry.
        exact: run every iteration instead of stopping when the model has become periodic.
        op: the atomic operation.
        threshold: longest message in bytes that striping leaves whole.
        explain: also report where the time goes.
        reuse: percentage of the messages that come from the same buffer; the others rotate through
            ``buffers`` further ones, or, if that is 1, through more than the adapter's caches hold.
        page_size: bytes of a page of the registered buffers.
        pattern: which queue pair is next.
        memory: where the buffers are.
        buffers: registered buffers that messages rotate through.
        depth: entries of each work queue.
        completion: what a receiver polls: the completion queue, or the last byte of its buffer.
        invalidate: rotate through a large pool of memory, as NetPIPE's -I does.
        verb: how messages travel: RDMA write, send and receive, or RDMA read.
    """

    size: int = 8
    qps: int = 1
    window: int = 64
    ports: int = 1
    mode: Mode = "single"
    processes: int = 1
    iters: int = 1000
    warmup: int = 100
    inline: bool = False
    exact: bool = False
    op: AtomicOp = "fetch_add"
    threshold: int = 8192
    explain: bool = False
    reuse: int = 100
    page_size: int = 4096
    pattern: Pattern = "cyclic"
    memory: Memory = "host"
    buffers: int = 1
    depth: int = 128
    completion: Notice = "cq"
    invalidate: bool = False
    verb: Verb = "write"
