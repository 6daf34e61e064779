"""The options of a benchmark in one table, which command line, scenarios, traces and plots read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_origin

from hcasim.workloads.option import Option

LARGEST = 2**31
"""Longest message of an RDMA operation, in bytes (InfiniBand Architecture Specification 9.7.2)."""

Mode = Literal["single", "striping", "binding"]
AtomicOp = Literal["fetch_add", "cmp_swap"]
Pattern = Literal["cyclic", "random", "zipf"]
Memory = Literal["host", "adapter"]
Notice = Literal["cq", "memory"]
Verb = Literal["write", "send", "read"]
Access = Literal["sequential", "random"]
Caching = Literal["cold", "host-warm", "device-warm"]
Translation = Literal["host", "on", "off"]
Path = Literal["dma", "command"]
Connection = Literal["RC", "UC", "UD"]
NasClass = Literal["S", "W", "A", "B", "C"]


@dataclass(frozen=True)
class Options:
    """What the author of a benchmark chooses for one measured point; `OPTIONS` describes each."""

    size: Annotated[
        int,
        Option(
            "Bytes of a message: 8, 4K,64K or 4..1M",
            low=0,
            high=LARGEST,
            is_size=True,
            short="-s",
            title="Size",
            varies="8 to 64K",
        ),
    ] = 8
    reply_size: Annotated[
        int,
        Option(
            "Bytes of a reply; 0: as many as a request has",
            low=0,
            high=LARGEST,
            is_size=True,
        ),
    ] = 0
    qps: Annotated[
        int,
        Option(
            "Queue pairs of each process, used in turn: 8, 1,128 or 1..4096",
            short="-q",
            title="QPs",
        ),
    ] = 1
    reuse: Annotated[
        int,
        Option(
            "Percentage of messages from the same buffer; the others rotate through --buffers "
            "more, or, if that is 1, through more than the adapter's caches hold",
            low=0,
            high=100,
            title="Reuse (%)",
            doubling=False,
        ),
    ] = 100
    window: Annotated[
        int,
        Option(
            "Messages sent back to back before the receiver's reply; of rdma_bench: requests of "
            "each process in flight",
            varies="16 to 64",
        ),
    ] = 64
    tx_depth: Annotated[
        int,
        Option(
            "Requests of each queue pair that are in flight, as perftest's -t says",
            short="-t",
            varies="4 to 128",
        ),
    ] = 128
    post_list: Annotated[
        int,
        Option(
            "Requests of a queue pair posted with one doorbell, as perftest's -l says", short="-l"
        ),
    ] = 1
    cq_mod: Annotated[
        int,
        Option(
            "Requests for one completion, as perftest's -Q says; 0: a list of requests, or "
            "100, but 1 above 8K",
            low=0,
            varies="0 to 64",
        ),
    ] = 0
    connection: Annotated[
        Connection, Option("Transport service, as perftest's -c says", short="-c")
    ] = "RC"
    rate_limit: Annotated[
        int,
        Option(
            "Gbit/s at which requests of a queue pair leave, one of InfiniBand's static rates, as "
            "perftest's --rate_limit says; 0: the port's",
            low=0,
        ),
    ] = 0
    ports: Annotated[int, Option("Ports of each adapter in use")] = 1
    mode: Annotated[
        Mode,
        Option(
            "How several ports are used: striping divides each message, binding gives each "
            "process and direction a port of its own"
        ),
    ] = "single"
    threshold: Annotated[
        int,
        Option("Longest message that striping leaves whole", low=0, high=LARGEST, is_size=True),
    ] = 8192
    processes: Annotated[int, Option("Processes on each node: 2 or 1..16", title="Processes")] = 1
    client_processes: Annotated[
        int, Option("Processes on each client, of benchmarks whose server has --processes")
    ] = 1
    clients: Annotated[
        int, Option("Nodes that use one server at the same time: 4 or 1..32", title="Clients")
    ] = 1
    client: Annotated[
        str, Option("The clients' group of nodes, or some of it: compute[0:8]", is_name=True)
    ] = ""
    server: Annotated[
        str, Option("The server's group of nodes, or one: store[3]", is_name=True)
    ] = ""
    loopback: Annotated[
        bool,
        Option("Both processes are on the client's node: what they send stays inside its adapter"),
    ] = False
    nodes: Annotated[
        int,
        Option(
            "Nodes that take part, unless given no more than there are: 8 or 2..64",
            low=2,
            title="Nodes",
            varies="4 or 2",
        ),
    ] = 4
    shift: Annotated[
        int,
        Option("Nodes from each node to the one that it sends to; 0: a drawn permutation", low=0),
    ] = 0
    seed: Annotated[int, Option("Of what is drawn", low=0)] = 1
    dimensions: Annotated[
        int, Option("Of the torus in which nodes are neighbours; 1: a ring", high=6)
    ] = 1
    pattern: Annotated[Pattern, Option("Which queue pair is next", varies="random or cyclic")] = (
        "cyclic"
    )
    region: Annotated[
        int,
        Option(
            "Bytes of the registered region that addresses are chosen from; 0: as many as what is "
            "posted at once has",
            low=0,
            high=2**40,
            is_size=True,
            varies="2M or 0",
        ),
    ] = 0
    access: Annotated[Access, Option("Which address of --region is next")] = "random"
    memory: Annotated[Memory, Option("Where the buffers are")] = "host"
    page_size: Annotated[
        int,
        Option(
            "Page of the registered buffers",
            low=4096,
            high=2**30,
            is_size=True,
            is_power=True,
            varies="2M or 4K",
        ),
    ] = 4096
    buffers: Annotated[int, Option("Registered buffers that messages rotate through")] = 1
    verb: Annotated[Verb, Option("How messages travel", varies="write or send")] = "write"
    completion: Annotated[
        Notice, Option("What NetPIPE's receiver polls: the completion queue or its buffer's end")
    ] = "cq"
    invalidate: Annotated[
        bool,
        Option(
            "Rotate through a pool of 10 MB, as NetPIPE's -I does; perftest's -I is --inline-size",
            short="-I",
        ),
    ] = False
    window_bytes: Annotated[
        int,
        Option(
            "Bytes of memory of which the device uses any place in turn: 8K, 256K,1M or 4K..64M; "
            "0: always the same place",
            low=0,
            high=2**40,
            is_size=True,
            title="Window (B)",
        ),
    ] = 0
    cache: Annotated[
        Caching,
        Option(
            "What the last-level cache holds of that at the start: nothing, or what processors or "
            "the device have written"
        ),
    ] = "cold"
    iommu: Annotated[
        Translation,
        Option("Whether an IOMMU translates addresses of the device; host: as the host says"),
    ] = "host"
    path: Annotated[
        Path, Option("Of a device with a DMA engine: by that, or by commands past it")
    ] = "dma"
    depth: Annotated[int, Option("Entries of each work queue")] = 128
    algorithm: Annotated[
        str,
        Option("Of the collective, instead of what the stack's rules choose", is_name=True),
    ] = ""
    nas_class: Annotated[NasClass, Option("Size of a kernel's problem, as NPB calls it")] = "A"
    op: Annotated[AtomicOp, Option("Atomic operation")] = "fetch_add"
    iters: Annotated[int, Option("Iterations that are timed", short="-n", varies="1 to 10000")] = (
        1000
    )
    warmup: Annotated[int, Option("Iterations before them", low=0, varies="3 to 1000")] = 100
    inline: Annotated[bool, Option("Send payload inside the work request")] = False
    inline_size: Annotated[
        int,
        Option(
            "Longest message inside the work request, as perftest's -I says; "
            "-1: what fits into the adapter's BlueFlame registers, if it has some",
            low=-1,
            high=LARGEST,
            is_size=True,
            varies="-1 to 0",
        ),
    ] = 0
    exact: Annotated[bool, Option("Run every iteration instead of detecting a period")] = False
    explain: Annotated[bool, Option("Also say where the time goes or what binds")] = False


def _table() -> dict[str, Option]:
    return {
        name: replace(
            hint.__metadata__[0],
            name=name,
            words=get_args(hint.__origin__) if get_origin(hint.__origin__) is Literal else (),
            is_flag=hint.__origin__ is bool,
            usual=None if hint.__metadata__[0].varies else getattr(Options, name),
        )
        for name, hint in Options.__annotations__.items()
    }


OPTIONS: Mapping[str, Option] = _table()
"""Each option by its name, in the order of the command line."""
AXES: Mapping[str, Option] = {name: one for name, one in OPTIONS.items() if one.title}
"""Those that may vary along a curve, the usual x axis first."""


def varying(rows: Sequence[Mapping[str, Any]]) -> list[Option]:
    """Return the axes of which rows have several values, in the order of AXES."""
    return [
        axis
        for axis in AXES.values()
        if len({row[axis.name] for row in rows if axis.name in row}) > 1
    ]
