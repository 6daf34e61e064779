"""The form of a trace: what was measured, on what, by what, in which unit.

A trace is a text file of JSON Lines: a header, a line for each point, and an end. Probes write it
while they measure, so a trace without its end was interrupted and is still read. What other tools
print ends up in this form, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from statistics import median
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hcasim.ground.quantities import QUANTITIES
from hcasim.traces.header import Count, Header, Number, Record, Text, as_tuple

SCHEMA = "hcasim-trace"
VERSION = 1

UNITS = {name: one.trace[0] for name, one in QUANTITIES.items() if one.trace}
"""The unit of each quantity: nanoseconds, 10^6 bytes and 10^6 messages per second.

A latency is half a round trip of writes and sends, a whole one of reads and atomics, and a call of
MPI's collectives; a time is that of another call or of a whole operation that the workload names.
"""

LEAST, MOST = 1e-9, 1e15
"""The smallest number but 0 and the largest, in the unit of the quantity: 11 days in ns."""
NUMBERS = ("minimum", "median", "mean", "maximum", "deviation")


Option = bool | Annotated[int, Field(ge=0, lt=2**63)] | str
"""A switch, a count or bytes, or a word."""


class Statistics(Record):
    """What a tool printed of its samples, in the unit of the quantity.

    Parameters:
        count: samples, or iterations.
        minimum, median, mean, maximum, deviation: None where the tool does not print them.
        percentiles: by percent, such as {"99": 1234.0}.
    """

    count: Count | None = None
    minimum: Number | None = None
    median: Number | None = None
    mean: Number | None = None
    maximum: Number | None = None
    deviation: Number | None = None
    percentiles: dict[str, Number] = Field(default_factory=dict)


def _pairs(value: object) -> object:
    if isinstance(value, list):
        return tuple(tuple(one) if isinstance(one, list) else one for one in value)
    return value


class Measured(Record):
    """One quantity of one point.

    One of samples, histogram and statistics is there.

    Parameters:
        quantity: one of UNITS.
        unit: that of the quantity.
        name: what it is if the workload measures several, such as "registration".
        samples: each sample, in the order of time.
        histogram: pairs of a value and how often it was seen, rising.
        statistics: what was printed, if samples were not.
        printed: the number that counts as the tool printed it, with its unit, such as
            "926.10 MiB/s": its digits say how exact it is.
    """

    quantity: Literal["latency", "time", "bandwidth", "rate"]
    unit: Literal["ns", "MB/s", "M/s"]
    name: str = ""
    samples: Annotated[tuple[Number, ...], BeforeValidator(as_tuple)] = ()
    histogram: Annotated[tuple[tuple[Number, Count], ...], BeforeValidator(_pairs)] = ()
    statistics: Statistics | None = None
    printed: str = ""

    @model_validator(mode="after")
    def _is_one(self) -> Measured:
        faults = []
        if self.unit != UNITS[self.quantity]:
            faults.append(
                f"unit: found {self.unit!r} for a {self.quantity}; allowed: {UNITS[self.quantity]}"
            )
        given = [bool(self.samples), bool(self.histogram), self.statistics is not None]
        if sum(given) != 1:
            faults.append("one of samples, histogram and statistics is needed")
        values = [value for value, _ in self.histogram]
        if values != sorted(set(values)):
            faults.append("histogram: its values must rise")
        for one in {found for found in self._extremes(values) if found}:
            if not LEAST <= one <= MOST:
                faults.append(f"found {one:g} {self.unit}; allowed: 0, or {LEAST:g} to {MOST:g}")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    @property
    def typical(self) -> float | None:
        """The median, or of what was printed the number that is nearest to it."""
        if self.statistics is not None:
            seen = self.statistics
            found = (seen.median, seen.mean, seen.minimum, seen.maximum)
            return next((one for one in found if one is not None), None)
        if self.samples:
            return median(self.samples)
        values = [value for value, _ in self.histogram]
        ranks = list(accumulate(count for _, count in self.histogram))
        return values[bisect_left(ranks, (ranks[-1] + 1) // 2)]

    def _extremes(self, values: list[float]) -> Iterator[float]:
        """The numbers of which none is allowed unless these are, without what is not known."""
        if self.statistics is not None:
            yield from self.statistics.percentiles.values()
            seen = (getattr(self.statistics, name) for name in NUMBERS)
            yield from (one for one in seen if one is not None)
        for several in (self.samples, values):
            yield from (min(filter(None, several), default=0.0), max(several, default=0.0))


class Point(Record):
    """One point of a trace.

    Parameters:
        workload: its name as `hcasim bench` has it, such as "write_lat"; "post_cost" and those of
            OSU, such as "osu_latency", are not simulated.
        options: what `hcasim bench` calls them: size (bytes), qps, window, ports, mode, processes,
            inline, reuse (percent), buffers, page_size (bytes), op, pattern, depth, tx_depth,
            cq_mod, post_list, connection (of those, RC, UC and UD), iters, warmup, mtu (bytes),
            completion, verb, invalidate; as far as the tool tells. Others tell of an experiment
            that is not simulated: srq, events, sl, multicast, forwarding, accelerator.
        measured: what was measured.
    """

    record: Literal["point"] = "point"
    workload: Text
    options: dict[str, Option] = Field(default_factory=dict)
    measured: Annotated[tuple[Measured, ...], BeforeValidator(as_tuple), Field(min_length=1)]


class Failure(Record):
    """A point that could not be measured.

    Parameters:
        workload, options: as of a point.
        error: such as "IBV_WC_REM_ACCESS_ERR: remote access error" or "deadline of 10 s".
    """

    record: Literal["failure"] = "failure"
    workload: Text
    options: dict[str, Option] = Field(default_factory=dict)
    error: Text


class End(Record):
    """The last line of a trace that was not interrupted by force.

    Parameters:
        points: lines with points before it.
        complete: whether the whole plan was run.
        reason: why not, such as "SIGINT".
    """

    record: Literal["end"] = "end"
    points: Annotated[int, Field(ge=0)]
    complete: bool
    reason: str = ""


RECORDS: dict[str, type[Record]] = {
    "header": Header,
    "point": Point,
    "failure": Failure,
    "end": End,
}


def to_dict(record: Header | Point | Failure | End) -> dict[str, Any]:
    """Return a record as its line holds it: without what is not known."""
    table: dict[str, Any] = {"record": record.record}
    if isinstance(record, Header):
        table |= {"schema": SCHEMA, "version": VERSION}
    return table | record.model_dump(mode="json", by_alias=True, exclude_defaults=True)
