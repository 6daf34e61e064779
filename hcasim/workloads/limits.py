"""Which resource limits a stream, and which parameters say how much of it there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from hcasim.catalog import Machine
from hcasim.ground.units import TIME

SATURATED: Final = 0.97
"""Share of the time from which on a resource is busy all the time, whatever waits for it."""
LIMITS: Final = 0.8
"""Share of the time from which on a resource limits; below it nothing is saturated."""
CLOSE: Final = 0.9
"""Share of the busiest one from which on others are about as busy."""
IN_FLIGHT: Final = "device.operations"
"""What a device without queues has under way at once."""
SERIAL: Final = ("*.send_queue", "*.arrivals")
"""Names of what deals with requests or packets one after the other, with what they wait for."""
READS: Final = "*.reads_in_flight"
WINDOWS: Final = (
    ("*.requests", "*.responses", "*.prefetch", "*.window"),
    ("*.wqe_fetch", "*.receive_wqe_fetch", READS),
    ("*.send_queues", IN_FLIGHT),
)
"""Names of what limits how much is under way at once, from the link backwards: each also waits for
what is behind it."""

OVERRUN: Final = "*.receive_buffer"
"""Names of buffers that pause what comes: what empties them limits rather than what fills them."""
DISCARDS: Final = "*.discards"
"""Likewise of buffers that discard it: what fills them is busy in vain."""
WASTED: Final = 0.01
"""Share of the time from which on what is discarded tells."""

_PARAMETERS: Final = """
*.cpu*: stack.cycles.lock,post_send,post_wr,blueflame,post_recv,poll_entry
    stack.post_send,post_recv,poll_cq,poll_memory stack.mpi.cycles.send,recv,packet
    host.core.frequency,fence,line host.cache.hit_bandwidth,miss_bandwidth
*.gpu.reads: host.gpu.read_bandwidth
*.gpu.writes: host.gpu.write_bandwidth
dma.reads: adapter.dma.read_interval,read_bandwidth
dma.writes: adapter.dma.write_interval
*.hca.memory: adapter.memory.bandwidth
*.memory*: host.memory.bandwidth
*.interconnect*: host.interconnect.bandwidth
*.upstream: adapter.bus.generation,lanes,packet_gap
*.downstream: adapter.bus.generation,lanes host.root_port.completion
*.bus.bus: adapter.bus.clock,width_bits
*.read_tags: adapter.bus.read_tags
*.outstanding_splits: adapter.bus.outstanding_splits
*.bridge_reads: adapter.bus.bridge.reads
*.pcix_bridge.buffer: host.pcix_bridge.buffer
*.io_bridge.buffer: host.io_bridge.buffer
*.bridge.buffer: adapter.bus.bridge.buffer
*.nonposted: host.root_port.nonposted_header_credits
*.posted: host.root_port.posted_header_credits host.memory.write_latency
*.posted_data: host.root_port.posted_data_credits host.memory.write_latency
*.root_port.reads: host.root_port.outstanding_reads host.memory.read_latency
*.root_port.lines: host.root_port.outstanding_lines
    host.memory.read_latency,write_latency
*.ordered_writes: host.root_port.ordered_writes
*.iommu_walks: host.iommu.walks host.memory.read_latency
*.requests.rest: adapter.send.wqe_service,flow_control link
*.responses.rest: adapter.send.packet_service,flow_control link
*.send_engine: adapter.send.wqe_service adapter.send.services.read,write,send,atomic
    adapter.send.packet_service
*.responder: adapter.responder.latency adapter.send.packet_service
*.receive_pipeline: adapter.receive.packet_service
    adapter.responder.services.read,write,send,atomic adapter.responder.read_interval
    adapter.ack.service adapter.wqe.cache.service
*.arrivals: adapter.receive_queue.latency,ahead
*.completion_engine: adapter.completion.service
*.atomic_unit: adapter.responder.atomics.service
*.atomic_unit.atomics: adapter.responder.atomics.outstanding
*.atomic_unit.locks: adapter.responder.atomics.lock
*.icm: adapter.icm.outstanding
*.sqpc: adapter.sqpc.entries,outstanding
*.rqpc: adapter.rqpc.entries,outstanding
*.cqc: adapter.cqc.entries,outstanding
*.rdb: adapter.rdb.entries,outstanding
*.mpt: adapter.mpt.entries,outstanding
*.mtt: adapter.mtt.entries,outstanding
*.registrations: adapter.umr.service
*.retry_timer: link.loss,corruption
*.link.credits: adapter.receive.buffer
*.receive_buffer: adapter.receive.buffer
*.discards: adapter.receive.buffer
*.link.vl*.credits: adapter.receive.buffer
*.congestion_table: switch.congestion_control.ccti_timer,marking_rate
*.paused: switch.memory.alpha,size
*.rate_control: switch.memory.marking.kmin,kmax,pmax
    adapter.roce_cc.dcqcn.rpg_ai_rate,rpg_hai_rate,rpg_time_reset
*.requests.window: adapter.send.window host.memory.read_latency
*.responses.window: adapter.send.window host.memory.read_latency
*.requests.prefetch: adapter.send.prefetch
*.responses.prefetch: adapter.send.prefetch
*.requests: adapter.send.port_buffer
*.responses: adapter.send.port_buffer
*.receive_wqe_fetch: adapter.receive_queue.ahead
*.wqe_fetch: adapter.wqe.ahead,fetch
*.send_queue: adapter.wqe.ahead,fetch adapter.send.wqe_service
    adapter.send.services.read,write,send,atomic adapter.send.packet_service
    adapter.requester.outstanding adapter.responder.outstanding
*.reads_in_flight: adapter.requester.outstanding adapter.responder.outstanding
*.link: link adapter.send.flow_control
*.loopback: link
*.port*: link
"""
"""Of a resource, by its name: paths of parameters, or of sections whose rates are meant. Of several
in one section only the last name differs."""
_LINK: Final = ("link.gigabits", "link.width", "link.speed")


def _table() -> list[tuple[str, list[str]]]:
    """The resources and their parameters, in the order in which they are looked up."""
    found: list[tuple[str, list[str]]] = []
    for word in _PARAMETERS.split():
        if word.endswith(":"):
            found.append((word[:-1], []))
            continue
        section, dot, names = word.rpartition(".")
        found[-1][1].extend(section + dot + name for name in names.split(","))
    return found


_BY_NAME: Final = _table()


def whole(name: str) -> str:
    """The name of a resource without the queue pair that a part of it is for."""
    return name.partition(".lid")[0].partition(".qp")[0]


def parameters_of(name: str) -> tuple[str, ...]:
    """Paths of the parameters that say how much of a resource there is; a machine has some."""
    short = whole(name)
    paths = next((paths for like, paths in _BY_NAME if fnmatchcase(short, like)), [])
    # A bus behind a bridge on the card has parameters of its own.
    bus = "adapter.bus" + ".bridge.bus" * short.count(".bridge.bus.") + "."
    near = [p for path in paths for p in (_LINK if path == "link" else (path,))]
    return tuple(p if "bridge" in p else p.replace("adapter.bus.", bus) for p in near)


def settings_for(machine: Machine, names: Iterable[str]) -> list[str]:
    """What-if settings of a machine that say how much of some resources there is.

    What takes no time cannot take less.
    """
    ends = dict.fromkeys(path for name in names for path in parameters_of(name))
    return [
        one.path
        for end in ends
        for one in machine.parameters
        if (one.path == end or one.path.endswith(f".{end}"))
        and (one.value or one.unit != TIME.base)
    ]


def options_of(name: str) -> tuple[str, ...]:
    """Options that say how much of a resource there is; a workload has some."""
    if name.endswith(".receiver_not_ready"):
        return ("rx_depth",)
    return ("tx_depth", "window", "depth") if _like({name: 1.0}, WINDOWS[-1]) else ()


def is_timer(name: str) -> bool:
    """Whether a resource is what sends requests again that nobody has answered in time."""
    return name.endswith(".retry_timer")


def latency_bound(binds: str) -> bool:
    """Whether an operation's own time limits: nothing does otherwise, or how many there may be."""
    return not binds or bool(_like({binds: 1.0}, WINDOWS[-1]))


def limiting(busy: Mapping[str, float], waited: Mapping[str, float]) -> list[str]:
    """Resources that limit, the first one most; none if nothing is saturated.

    Of a node whose receive buffer discards they are its own, and of one that pauses if these are
    about as busy.
    """
    told = _like(waited, [OVERRUN, DISCARDS])
    waited = {name: share for name, share in waited.items() if name not in told}
    every = _limiting(busy, waited)
    inside = [f"{name.partition('.')[0]}.*" for name, share in told.items() if share > 0]
    if not every or not inside:
        return every
    within = _like(busy, inside)
    own = _limiting(within, _like(waited, inside))
    if max(_like(told, [DISCARDS]).values(), default=0.0) >= WASTED:
        return own or [max(within, key=lambda name: within[name])]
    shares = {**waited, **busy}
    return own if own and shares[own[0]] >= CLOSE * shares[every[0]] else every


def _limiting(busy: Mapping[str, float], waited: Mapping[str, float]) -> list[str]:
    """Resources that limit, whatever overruns.

    What is busy all the time limits; then what work waits for, such as credits, and what deals with
    one after the other. A window is full also where what is behind it is nearly saturated, so that
    this limits rather than the window. Both are shares of the time.
    """
    at_work = _most(busy)
    if at_work and busy[at_work[0]] >= SATURATED:
        return at_work
    # The queue of a queue pair also waits for reads in flight, as for any window.
    serial = _most(_like(waited, SERIAL[_most(_like(waited, [READS])) != [] :]))
    named = [*SERIAL, *(name for names in WINDOWS for name in names)]
    told = _like(waited, named)
    pools = _most({name: share for name, share in waited.items() if name not in told})
    waits = [*pools, *(one for one in serial if not pools or waited[one] >= CLOSE)]
    if waits and not (at_work and busy[at_work[0]] >= waited[waits[0]]):
        return [*waits, *(one for one in at_work if busy[one] >= CLOSE)]
    full = (_most(_like(waited, names)) for names in WINDOWS)
    return at_work or next(filter(None, full), [])


def _most(shares: Mapping[str, float]) -> list[str]:
    """Those that limit, and about as much as the one that does most.

    Of equals, what all share comes before what is of one queue pair.
    """
    least = max(LIMITS, CLOSE * max(shares.values(), default=0.0))
    most = [one for one in shares if shares[one] >= least]
    return sorted(most, key=lambda one: (-round(shares[one], 2), whole(one) != one))


def _like(waited: Mapping[str, float], patterns: Iterable[str]) -> dict[str, float]:
    """Those whose names are like one of some patterns."""
    every = [*patterns]
    return {n: one for n, one in waited.items() if any(fnmatchcase(whole(n), p) for p in every)}
