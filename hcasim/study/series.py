"""Time series of a network under load: queues, pauses, marks and rates, looked at every so often.

A line is written for what is another number than at the look before, or was nothing before the
first. Queues are bytes that wait for an output of a switch; discards and marks are all so far. The
rate of a flow is that of the data of its packets which were acknowledged, or have left if none are,
in the whole time between two looks, of which the last is when the next look after the end would be;
what begins and ends between two looks counts as packets of the MTU. Its limit is what congestion
control holds it back to, or the rate of the link.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from hcasim.catalog.classes import PRIORITIES
from hcasim.cluster import Cluster, Node
from hcasim.engine import Onlooker as Look
from hcasim.fabric.packet import INDEX, PSN_MODULUS
from hcasim.fabric.priorities import PriorityTransmitter
from hcasim.ground.units import UnitError, parse_time
from hcasim.hca import QueuePair
from hcasim.hca.qp.congestion.control import RateControl
from hcasim.hca.qp.reliable_requester import ReliableRequester
from hcasim.study.onlooker import Onlooker, Write, written

ENDINGS: Final = (".csv", ".csv.gz")
USUAL: Final = "10us"
_LEAST_PS: Final = 1000
HEAD: Final = b"time_us,what,where,value\n"
_GIGABITS: Final = 8000
"""Gbit/s of a byte in a ps."""

Value = tuple[str, str, float]
"""What it is of, where, and the number."""


def _network(cluster: Cluster) -> Iterator[Value]:
    """What switches hold and have done, and what is held back by pauses."""
    for switch in cluster.fabric.switches:
        for (output, priority), queue in switch.queues.items():
            yield "queue_bytes", f"{output.name} priority {priority}", queue.length
        if (memory := switch.memory) is not None:
            yield "marks_count", switch.name, memory.marked
            yield "discards_count", switch.name, memory.dropped
    ends = [port.transmitter for node in cluster.nodes for port in node.adapter.ports]
    for way in (*ends, *cluster.fabric.transmitters()):
        if isinstance(way, PriorityTransmitter) and any(way.pauses):
            held = way.held
            for priority in range(PRIORITIES):
                yield "paused", f"{way.name} priority {priority}", held >> priority & 1


class Series(Onlooker):
    """Looks at a run every so many ps, as long as there is something else to come in it.

    It watches only while nothing is due, to begin again when something happens.
    """

    def __init__(self, write: Write, every_ps: int) -> None:
        super().__init__()
        self.lines = 0
        self._write = write
        self._every_ps = every_ps
        self._cluster: Cluster | None = None
        self._due = False
        self._last: dict[tuple[str, str], float] = {}
        self._progress: dict[tuple[int, int], tuple[int, float]] = {}
        self._looked_at = -every_ps
        write(HEAD)

    def built(self, what: object) -> None:
        """Look at a machine from now on; nothing of the run is left out."""
        if isinstance(what, Cluster):
            self._cluster = what
            self.sim.forward = None

    def event(
        self,
        time_ps: int,
        block: str,
        event: str,
        operation: int,
        details: object,
        since_ps: int | None,
    ) -> None:
        """Begin, or go on, with the first event."""
        if not self._due:
            self._due = True
            # No look is sooner after the one before than others.
            at = max(self.sim.now, self._looked_at + self._every_ps)
            self.sim.schedule(at, Look(self._begin, ()))

    def _begin(self) -> None:
        self.sim.unwatch(self)
        self._look()

    def _look(self) -> None:
        self._note(self.sim.now)
        if self.sim.has_work():
            self.sim.schedule(self.sim.now + self._every_ps, Look(self._look, ()))
        else:
            self._due = False
            self.sim.watch(self)

    def finish(self) -> None:
        """Write how it has ended, as of when the next look would have been."""
        self._note(self._looked_at + self._every_ps)

    def _note(self, now: int) -> None:
        cluster = self._cluster
        if cluster is not None:
            for what, where, value in (*_network(cluster), *self._flows(cluster, now)):
                self._say(now, what, where, value)
        self._looked_at = now

    def _say(self, now: int, what: str, where: str, value: float) -> None:
        if value != self._last.get((what, where), 0):
            self._last[what, where] = value
            self.lines += 1
            text = f"{value}" if isinstance(value, int) else f"{value:.6g}"
            self._write(f"{now / 1e6:.9g},{what},{where},{text}\n".encode())

    def _flows(self, cluster: Cluster, now: int) -> Iterator[Value]:
        """How fast queue pairs are, and may be."""
        names = {
            cluster.machine.place(node.index)[1] + number: node.name
            for node in cluster.nodes
            for number in range(len(node.adapter.ports))
        }
        for node in cluster.nodes:
            for qp in node.adapter.every_qp():
                peer = names.get(qp.path.route.lid)
                where = f"{node.name}.qp{qp.qpn & INDEX}" + (f" to {peer}" if peer else "")
                moved = self._moved(node, qp)
                yield "flow_Gbps", where, _GIGABITS * moved / (now - self._looked_at)
                pacing, link = qp.requester.pacing, qp.requester.egress.transmitter
                limit = _GIGABITS / float(link.medium.ps_per_byte)
                if isinstance(pacing, RateControl):
                    limit = pacing.rate / 1e9
                yield "limit_Gbps", where, limit

    def _moved(self, node: Node, qp: QueuePair) -> float:
        """Bytes that a queue pair has moved since the look before."""
        requester, key = qp.requester, (node.index, qp.qpn)
        psn = requester.next_psn
        if isinstance(requester, ReliableRequester):
            psn = requester.unanswered_psn
        before, each = self._progress.get(key, (qp.path.sq_psn, float(qp.path.mtu)))
        wqe = requester.current or next(iter(requester.unacknowledged), None)
        if wqe is not None and wqe.packets:
            each = wqe.length / wqe.packets
        self._progress[key] = psn, each
        return (psn - before) % PSN_MODULUS * each


def read_every(time: str | None, faults: list[str]) -> int:
    """Read from what look to the next it is, in ps.

    Parameters:
        time: such as "10us".
        faults: what is wrong is added, by the option of the command line.
    """
    try:
        every_ps = parse_time(time or USUAL)
    except UnitError as error:
        faults.append(f"--series-every: {error}")
        return 1
    if every_ps < _LEAST_PS:
        faults.append(f"--series-every: found {time!r}; allowed: from 1 ns on")
    return every_ps


def recorded_series(file: Path, every_ps: int) -> AbstractContextManager[Series]:
    """Write the time series of a run while it runs, with a look every so many ps."""
    return written(file, lambda write: Series(write, every_ps))
