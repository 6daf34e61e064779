"""The options of a benchmark in one table, which command line, scenarios, traces and plots read."""

# The functions make fields of a dataclass.
# ruff: noqa: RUF009

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hcasim.workloads.option import Option

LARGEST = 2**31
"""Longest message of an RDMA operation, in bytes (InfiniBand Architecture Specification 9.7.2)."""

Mode = Literal["single", "striping", "binding"]
AtomicOp = Literal["fetch_add", "cmp_swap"]
Pattern = Literal["cyclic", "random", "zipf"]
Memory = Literal["host", "gpu", "adapter"]
Notice = Literal["cq", "memory"]
Verb = Literal["write", "send", "read"]
Access = Literal["sequential", "random"]
Caching = Literal["cold", "host-warm", "device-warm"]
Translation = Literal["host", "on", "off"]
Path = Literal["dma", "command"]
Connection = Literal["RC", "UC", "UD", "DC"]
ACKNOWLEDGED = ("RC", "DC")
"""Services whose messages are acknowledged, and sent again."""
Fault = Literal["silent", "not-ready", "key"]
FlowSizes = Literal["websearch", "hadoop", "storage"]
Background = Literal["incast", "open_loop"]
NasClass = Literal["S", "W", "A", "B", "C"]


def _option(usual: Any, text: str, **how: Any) -> Any:
    """A field with its default and how it is written."""
    return field(default=usual, metadata={"option": Option(text, **how)})


def _bytes(usual: int, text: str, low: int = 0, high: int = LARGEST, **how: Any) -> Any:
    return _option(usual, text, low=low, high=high, is_size=True, **how)


@dataclass(frozen=True)
class Options:
    """What the author of a benchmark chooses for one measured point; `OPTIONS` describes each."""

    size: int = _bytes(
        8, "Bytes of a message: 8, 4K,64K or 4..1M", short="-s", title="Size", varies="8 to 1M"
    )
    reply_size: int = _bytes(0, "Bytes of a reply; 0: as many as a request has")
    qps: int = _option(
        1,
        "Queue pairs of each process, used in turn: 8, 1,128 or 1..4096",
        short="-q",
        title="QPs",
    )
    reuse: int = _option(
        100,
        "Percentage of messages from the same buffer; the others rotate through --buffers "
        "more, or, if that is 1, through more than the adapter's caches hold",
        low=0,
        high=100,
        title="Reuse (%)",
        doubling=False,
    )
    window: int = _option(
        64,
        "Messages sent back to back before the receiver's reply; of rdma_bench: requests of "
        "each process in flight",
        varies="16 to 64",
    )
    tx_depth: int = _option(
        128,
        "Requests of each queue pair that are in flight, as perftest's -t says",
        short="-t",
        varies="4 to 128",
    )
    rx_depth: int = _option(
        512,
        "Receives of each queue pair that are posted ahead, as perftest's -r says",
        short="-r",
    )
    post_list: int = _option(
        1, "Requests of a queue pair posted with one doorbell, as perftest's -l says", short="-l"
    )
    cq_mod: int = _option(
        0,
        "Requests for one completion, as perftest's -Q says; 0: a list of requests, or "
        "100, but 1 above 8K",
        low=0,
        varies="0 to 64",
    )
    work: int = _option(
        0,
        "Cycles of the processor that the program itself takes for each request, on stacks "
        "whose work is in cycles",
        low=0,
        high=10**7,
        varies="0 to 150",
    )
    locks: bool = _option(
        False,
        "The library takes locks, as without MLX5_SINGLE_THREADED=1, on stacks whose work is in "
        "cycles",
    )
    rounds: bool = _option(
        False,
        "Of reads and atomics too, completions alone tell what is done, and --window is not used: "
        "one or two times --cq-mod requests of each queue pair are in flight",
    )
    counter: bool = _option(
        False,
        "Threads of a server take a number for each list of replies from a counter that they "
        "share, as rdma_bench's sequencer does",
    )
    connection: Connection = _option("RC", "Transport service, as perftest's -c says", short="-c")
    rate_limit: int = _option(
        0,
        "Gbit/s at which requests of a queue pair leave, one of InfiniBand's static rates, as "
        "perftest's --rate_limit says; 0: the port's",
        low=0,
    )
    sl: int = _option(
        0, "Service level of a connection's packets, as perftest's -S says", low=0, high=15
    )
    fault: Fault = _option(
        "silent",
        "What is wrong with the peer: it does not answer, has no receive for a send, or refuses "
        "the key of a write",
    )
    silent_for: int = _option(
        0,
        "Milliseconds until the peer answers, or has a receive; 0: for ever",
        low=0,
        high=10**6,
        title="Silent for (ms)",
    )
    timeout: int = _option(
        14,
        "Local ACK timeout, as ibv_modify_qp takes it: 4.096 us times 2 to the power of it; "
        "0: none",
        low=0,
        high=31,
        title="Timeout",
        doubling=False,
    )
    retry_cnt: int = _option(
        7,
        "Times that a request is sent again without an answer, as ibv_modify_qp takes it",
        low=0,
        high=7,
        title="Retries",
        doubling=False,
    )
    rnr_retry: int = _option(
        7,
        "Times that a send is sent again to a receiver that is not ready; 7: for ever",
        low=0,
        high=7,
    )
    min_rnr_timer: int = _option(
        12,
        "Code of the pause that a receiver asks for that is not ready, as ibv_modify_qp takes it; "
        "12: 0.64 ms",
        low=0,
        high=31,
        title="RNR timer",
        doubling=False,
    )
    ports: int = _option(1, "Ports of each adapter in use")
    mode: Mode = _option(
        "single",
        "How several ports are used: striping divides each message, binding gives each "
        "process and direction a port of its own; of rc_swarm each thread",
    )
    threshold: int = _bytes(8192, "Longest message that striping leaves whole")
    processes: int = _option(1, "Processes on each node: 2 or 1..16", title="Processes")
    client_processes: int = _option(
        1, "Processes on each client, of benchmarks whose server has --processes"
    )
    clients: int = _option(
        1, "Nodes that use one server at the same time: 4 or 1..32", title="Clients"
    )
    client: str = _option(
        "", "The clients' group of nodes, or some of it: compute[0:8]", is_name=True
    )
    server: str = _option("", "The server's group of nodes, or one: store[3]", is_name=True)
    loopback: bool = _option(
        False,
        "Both processes are on the client's node: what they send stays inside its adapter",
    )
    nodes: int = _option(
        4,
        "Nodes that take part, unless given no more than there are: 8 or 2..64",
        low=2,
        title="Nodes",
        varies="4 or 2",
    )
    shift: int = _option(
        0, "Nodes from each node to the one that it sends to; 0: a drawn permutation", low=0
    )
    senders: int = _option(0, "Nodes that send, the first ones; 0: all", low=0)
    stagger: int = _option(
        0, "Microseconds from the start of a flow to that of the next", low=0, high=10**6
    )
    burst: int = _option(
        0,
        "Messages of each queue pair in a burst, with a pause behind it; 0: without pauses",
        low=0,
    )
    pause: int = _option(100, "Microseconds from the end of a burst to the next", high=10**6)
    rings: int = _option(2, "Jobs that train, to whose rings nodes are dealt in turn", high=1024)
    compute: int = _option(
        100, "Microseconds that an iteration computes before it reduces", low=0, high=10**6
    )
    background: Background = _option(
        "incast",
        "What loads the network beside a probe: streams of the other nodes to the one that is "
        "probed, or flows of drawn sizes between drawn nodes",
    )
    background_size: int = _bytes(65536, "Bytes of a message of those streams", low=1)
    load: int = _option(
        30, "Data that nodes are given to send, as a percentage of what a link carries", high=100
    )
    flow_sizes: FlowSizes = _option("hadoop", "Distribution from which sizes of flows are drawn")
    seed: int = _option(1, "Of what is drawn", low=0)
    dimensions: int = _option(
        1, "Dimensions of the torus in which nodes are neighbours; 1: a ring", high=6
    )
    pattern: Pattern = _option("cyclic", "Which queue pair is next", varies="random or cyclic")
    region: int = _bytes(
        0,
        "Bytes of the registered region that addresses are chosen from; 0: as many as what is "
        "posted at once has",
        high=2**40,
        varies="2M or 0",
    )
    access: Access = _option("random", "Which address of --region is next")
    memory: Memory = _option("host", "Where the buffers are")
    page_size: int = _bytes(
        4096,
        "Page of the registered buffers",
        low=4096,
        high=2**30,
        is_power=True,
        varies="2M or 4K",
    )
    buffers: int = _option(1, "Registered buffers that messages rotate through")
    verb: Verb = _option("write", "How messages travel", varies="write or send")
    completion: Notice = _option(
        "cq", "What NetPIPE's receiver polls: the completion queue or its buffer's end"
    )
    invalidate: bool = _option(
        False,
        "Rotate through a pool of 10 MB, as NetPIPE's -I does; perftest's -I is --inline-size",
        short="-I",
    )
    window_bytes: int = _bytes(
        0,
        "Bytes of memory of which the device uses any place in turn: 8K, 256K,1M or 4K..64M; "
        "0: always the same place",
        high=2**40,
        title="Window (B)",
    )
    cache: Caching = _option(
        "cold",
        "What the last-level cache holds of that at the start: nothing, or what processors or "
        "the device have written",
    )
    iommu: Translation = _option(
        "host", "Whether an IOMMU translates addresses of the device; host: as the host says"
    )
    path: Path = _option(
        "dma", "Way through a device with a DMA engine: by that, or by commands past it"
    )
    depth: int = _option(128, "Entries of each work queue")
    algorithm: str = _option(
        "", "Algorithm of the collective, instead of the stack's choice", is_name=True
    )
    nas_class: NasClass = _option("A", "Size of a kernel's problem, as NPB calls it")
    op: AtomicOp = _option("fetch_add", "Atomic operation")
    iters: int = _option(1000, "Iterations that are timed", short="-n", varies="1 to 10000")
    warmup: int = _option(100, "Iterations before them", low=0, varies="3 to 1000")
    inline: bool = _option(False, "Send payload inside the work request")
    inline_size: int = _bytes(
        0,
        "Longest message inside the work request, as perftest's -I says; "
        "-1: what fits into the adapter's BlueFlame registers, if it has some",
        low=-1,
        varies="-1 to 0",
    )
    exact: bool = _option(False, "Run every iteration instead of detecting a period")
    explain: bool = _option(False, "Also say where the time goes or what binds")


def _described(name: str, usual: Any, hint: Any, option: Option) -> Option:
    """An option with what its field says of it."""
    return replace(
        option,
        name=name,
        words=get_args(hint) if get_origin(hint) is Literal else (),
        is_flag=hint is bool,
        usual=None if option.varies else usual,
    )


_HINTS = get_type_hints(Options)
OPTIONS: Mapping[str, Option] = {
    one.name: _described(one.name, one.default, _HINTS[one.name], one.metadata["option"])
    for one in fields(Options)
}
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
