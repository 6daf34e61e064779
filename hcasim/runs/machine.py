"""The machine of a run: put together from what was asked for, or given whole."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from operator import itemgetter
from os import PathLike
from typing import Any, TypeVar

from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.catalog.link import EthernetLink
from hcasim.catalog.loader import each_file_once
from hcasim.ground.errors import Fault, written

CHOICES = ("adapter", "host", "stack", "firmware_mode", "mtu", "switch")
"""What says which machine it is, beside the testbed and what-if settings."""
PLAIN = ("adapter", "host")
"""Of these, what a machine has at least that is looked at for more faults."""
NO_CONGESTION_CONTROL = (
    "Switches neither drop, pause nor mark here: they are described without their memory "
    "for packets. Where flows meet, times, their tail and fairness are those of an ideal lossless "
    "fabric."
)
SHARED_MEMORY = (
    "Switches count bytes, not the cells of their memory, and only inputs have reserves; a "
    "queue pair's rate is that of its packets on their way into the adapter's send buffer."
)
_AT_SWITCHES = {
    "switch_discards": "switches discarded {} packets",
    "rx_discards_phy": "adapters discarded {} packets",
    "pfcwd_drops": "watchdogs of pauses discarded {} packets",
    "switch_marks": "switches marked {} packets",
    "pause_frames": "senders were paused {} times",
    "adapter_pause_frames": "adapters paused switches {} times",
}
T = TypeVar("T")
_KNOWN: ContextVar[dict[Hashable, Any] | None] = ContextVar("known", default=None)


@contextmanager
def each_machine_once() -> Iterator[None]:
    """Put each machine together, and read each file, once inside the block."""
    token = _KNOWN.set({} if (known := _KNOWN.get()) is None else known)
    try:
        with each_file_once():
            yield
    finally:
        _KNOWN.reset(token)


def known_once(key: Hashable, make: Callable[[], T]) -> T:
    """Return what was made before inside the block of `each_machine_once`, or make it."""
    known = _KNOWN.get()
    if known is None:
        return make()
    if key not in known:
        known[key] = make()
    found: T = known[key]
    return found


def find_machine(
    testbed: str | PathLike[str] | Machine | None, chosen: Mapping[str, Any], mpi: bool
) -> Machine:
    """Return a machine as it was asked for: by arguments of `resolve`, with an MPI library or not.

    Raises:
        CatalogError: every fault of the request, no testbed, or choices beside a machine.
    """
    if testbed is None or (isinstance(testbed, str) and not testbed):
        raise CatalogError(["testbed: found none; allowed: an id or a file"])
    if not isinstance(testbed, Machine):
        key = (written(testbed), mpi, written(sorted(chosen.items(), key=itemgetter(0))))
        found = known_once(key, lambda: resolve(testbed, mpi=mpi, **chosen))
        if chosen.get("switch") is True and not found.wiring.places:
            said = f"found no id, and {found.id} has none"
            raise CatalogError([Fault("switch", True, "an id, or a file", said=said)])
        return found
    beside = [name for name, value in chosen.items() if value not in (None, True, {})]
    fault = "found beside a machine, which has its own; allowed: as an argument of hcasim.machine"
    if beside:
        raise CatalogError(f"{name}: {fault}" for name in beside)
    return testbed


def notes_on(machine: Machine, nodes: int) -> tuple[str, ...]:
    """Return what to say beside a result of so many nodes; two have a link to themselves."""
    if machine.shares_memory:
        return (*machine.unused, SHARED_MEMORY)
    meet = nodes > 2 and isinstance(machine.link, EthernetLink)
    return (*machine.unused, *[NO_CONGESTION_CONTROL] * meet)


def without_lanes(machine: Machine, level: int) -> tuple[str, ...]:
    """Return what to say of a service level that changes no time."""
    if not level:
        return ()
    if isinstance(machine.link, EthernetLink):
        why = "" if machine.shares_memory else "switches have no memory (switch.memory)"
    else:
        one = machine.qos is None or machine.qos.max_vls == 1
        why = "the subnet has one virtual lane (switch.qos)" if one else ""
    return (f"sl {level} changes no time: {why}.",) if why else ()


def losses_told(
    title: str,
    counters: Mapping[str, int],
    *,
    again: bool = True,
    counted: bool = True,
    reorders: bool = False,
) -> tuple[str, ...]:
    """Return what to say of packets that were lost, corrupted or out of order, if any were.

    Parameters:
        title: what was run.
        counters: of that.
        again: whether messages are sent again.
        counted: whether those that are not count although they were lost.
        reorders: whether some may come out of order that were not lost.
    """
    lost, corrupted = (counters.get(f"{how}_packets", 0) for how in ("lost", "corrupted"))
    said = [f"links lost {lost} packets and corrupted {corrupted}"] if lost or corrupted else []
    for name, words in _AT_SWITCHES.items():
        if count := counters.get(name, 0):
            said.append(words.format(count))
    if reorders and (count := counters.get("out_of_sequence", 0)):
        said.append(f"{count} packets came out of order")
    if not said:
        return ()
    how = f"{title}: {', '.join(said)}"
    if not again and any(map(counters.get, ("lost_packets", *[*_AT_SWITCHES][:3]))):
        also = ", and what is lost counts as sent" if counted else ""
        return (f"{how}; nothing is sent again{also}",)
    sent, timeouts = counters.get("retransmissions", 0), counters.get("timeouts", 0)
    return (f"{how}; retransmissions: {sent}, timeouts: {timeouts}",)
