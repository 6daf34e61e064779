"""One point: a benchmark with its options on a machine."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from hcasim.catalog import CatalogError, DmaDevice, Machine
from hcasim.engine import clock
from hcasim.runs.certainty import with_ends
from hcasim.runs.machine import losses_told, notes_on, without_lanes
from hcasim.verbs import VerbsError
from hcasim.workloads.options import ACKNOWLEDGED, AXES, Options
from hcasim.workloads.own import place_of
from hcasim.workloads.perftest.side import moderation
from hcasim.workloads.registry import WORKLOADS, Listen
from hcasim.workloads.result import Meter, Result

PACKET = 1e-4 if str(clock.__file__).endswith(".py") else 2.5e-5
"""Seconds of a processor of today for each packet, there and back through two adapters, in this
build: compiled ones are four times as fast."""
LONG = 60.0
"""Seconds from which on a user is told before."""


class Work(Hashable, Protocol):
    """Something to simulate, here or elsewhere; equal ones have equal results."""

    @property
    def weight(self) -> float:
        """A guess of the seconds that it takes, to start what is long first."""

    @property
    def key(self) -> str:
        """What tells it from all others, in any process."""

    @property
    def reads(self) -> bool:
        """Whether it reads files, which its key does not tell of: it is simulated each time."""

    @property
    def title(self) -> str:
        """What it is, in few words."""

    def bare(self) -> Work:
        """Return it with no more than its result follows from, to be sent to a worker."""

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        """Simulate it in this process, and measure the cost of that with `profile`.

        `listen` is given the simulator before anything happens.
        """


def all_notes(several: Iterable[Any]) -> tuple[str, ...]:
    """Return what to say beside the results of several points, each once."""
    return tuple(dict.fromkeys(text for one in several for text in one.notes))


@dataclass(frozen=True)
class Point:
    """One point to simulate: a benchmark by its name, a machine and options."""

    workload: str
    machine: Machine
    options: Options

    @cached_property
    def packets(self) -> int:
        """About how many packets it takes, to a factor of two or three."""
        options = self.options
        if self.machine.never_repeats:
            options = replace(options, exact=True)
        return WORKLOADS[self.workload].packets(options, self.machine.mtu)

    @property
    def weight(self) -> float:
        # Of as many packets a larger size takes longer.
        return PACKET * (self.packets + self.options.size / 2**40)

    @cached_property
    def key(self) -> str:
        options = json.dumps(vars(self.options), sort_keys=True)
        return f"{self.workload} {self.machine.digest} {options}"

    @property
    def reads(self) -> bool:
        return WORKLOADS[self.workload].is_own

    @property
    def title(self) -> str:
        return f"{self.workload} with size {self.options.size}"

    def bare(self) -> Point:
        """Return it with no more than its result follows from, to be sent to a worker."""
        return replace(self, workload=place_of(self.workload), machine=self.machine.bare())

    @property
    def settings(self) -> dict[str, Any]:
        """Every option in force: how the machine is used, and what the workload understands."""
        understood = WORKLOADS[self.workload].options - {"explain"}
        if isinstance(self.machine.adapter, DmaDevice):
            # Software of a device keeps as many in flight as it does.
            understood -= {"window"}
        chosen = {n: one for n, one in vars(self.options).items() if n in understood}
        if "cq_mod" in chosen:
            chosen["cq_mod"] = moderation(self.options)
        return {**self.machine.choices, **chosen}

    @property
    def notes(self) -> tuple[str, ...]:
        """What its result leaves out that a reader may expect."""
        workload = WORKLOADS[self.workload]
        # Completion times of flows are about how they meet, however few there are.
        least = 0 if workload.flows is None else 3
        nodes = len({*workload.nodes(self.machine, self.options)})
        level = self.options.sl if "sl" in workload.options else 0
        return (*notes_on(self.machine, max(least, nodes)), *without_lanes(self.machine, level))

    @property
    def sends_again(self) -> bool:
        """Whether what is lost is sent again."""
        return self.options.connection in ACKNOWLEDGED

    @property
    def counts_lost(self) -> bool:
        """Whether what is lost for good counts as sent; what arrives does where flows meet."""
        nodes = "nodes" in WORKLOADS[self.workload].options
        return not nodes and self.options.clients == 1

    def lost(self, result: Result) -> tuple[str, ...]:
        """What to say beside a result of packets that were lost, if any were."""
        reliable, counted = self.sends_again, self.counts_lost
        how = {"again": reliable, "counted": counted, "reorders": self.machine.reorders}
        found = losses_told(self.title, result.counters, **how)
        # A corrupted packet arrives, and is dropped.
        packets = result.counters.get("dropped", 0) - result.counters.get("corrupted_packets", 0)
        if packets <= 0 or reliable:
            return found
        if found and self.options.connection == "UC":
            why = "belonged to messages of which others were lost, or found no receive"
            these = "; these count as sent" if counted else ""
            return (*found, f"{self.title}: {packets} packets {why}{these}")
        but = ", but count as sent" if counted else ""
        why = f"{packets} packets found no receive and were lost{but}"
        return (*found, f"{self.title}: {why}; --rx-depth posts more receives")

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        from hcasim import workloads

        meter = Meter(listen) if profile else None
        try:
            result = workloads.run_point(
                self.workload, self.machine, self.options, meter.watch if meter else listen
            )
        except VerbsError as error:
            raise CatalogError([f"{self.workload}: the adapter refuses it: {error}"]) from error
        if faults := [*result.faults(WORKLOADS[self.workload].fields)]:
            missing = [f"{self.title} could not be measured: {one}" for one in faults]
            raise CatalogError([*missing, *self.lost(result)])
        if meter is not None:
            return replace(result, cost=meter.cost())
        if listen is not None and not result.breakdown:
            # What explains a result comes after it, and is not recorded.
            told = workloads.run_point(self.workload, self.machine, self.options).breakdown
            return replace(result, breakdown=told)
        return result

    def with_ends(self, result: Result) -> dict[str, Any]:
        """Return the row of a result with the ends of what was measured, and what they rest on."""
        return with_ends(self.machine, WORKLOADS[self.workload], result)

    def row(self, result: Result, varied: Iterable[str]) -> Mapping[str, Any]:
        """Return the row of a result, with the options that vary if it does not say them itself."""
        row = self.with_ends(result)
        missing = {name: getattr(self.options, name) for name in varied if name not in row}
        if not missing:
            return row
        first: dict[str, Any] = {name: row[name] for name in ("size", "qps") if name in row}
        return {**first, **missing, **row}


def long_wait(points: Sequence[Point], jobs: int | None) -> str:
    """Say that points take minutes in so many processes, and which of them most; or nothing."""
    guesses = [PACKET * point.packets for point in points]
    longest = max(guesses)
    seconds = max(longest, sum(guesses) / min(jobs or os.cpu_count() or 1, len(points)))
    if seconds < LONG:
        return ""
    about = f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
    most = points[guesses.index(longest)]
    worst = most.options
    repeated = most.machine.never_repeats and "iters" in WORKLOADS[most.workload].options
    exact = f" and all {worst.iters} iterations" if worst.exact or repeated else ""
    if exact and not worst.exact:
        exact += ", because links or switches may lose, mark or pause, or a bus is shared"
    return f"takes about {about}, most for size {AXES['size'].label(worst.size)}{exact}"
