"""The form of a trace: what was measured, on what, by what, in which unit.

A trace is a text file of JSON Lines: a header, a line for each point, and an end. Probes write it
while they measure, so a trace without its end was interrupted and is still read. What other tools
print ends up in this form, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from statistics import median
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hcasim.ground.quantities import QUANTITIES

SCHEMA = "hcasim-trace"
VERSION = 1

UNITS = {name: one.trace[0] for name, one in QUANTITIES.items() if one.trace}
"""The unit of each quantity: nanoseconds, 10^6 bytes and 10^6 messages per second.

A latency is half a round trip of writes and sends, a whole one of reads and atomics, and a call of
MPI's collectives; a time is that of another call or of a whole operation that the workload names.
"""

LEAST, MOST = 1e-9, 1e15
"""The smallest number but 0 and the largest, in the unit of the quantity: 11 days in ns."""

Option = bool | Annotated[int, Field(ge=0, lt=2**63)] | str
"""A switch, a count or bytes, or a word."""
Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, lt=2**63)]


def as_tuple(value: object) -> object:
    """Return a list of JSON as a record keeps it."""
    return tuple(value) if isinstance(value, list) else value


class Record(BaseModel):
    """A line, or a part of one: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Tool(Record):
    """What measured: its version as it prints it, and the command line, if they are known."""

    name: Literal["hcasim-probes", "perftest", "osu", "imb", "netpipe", "hcasim"]
    version: str = ""
    command: str = ""


class Device(Record):
    """The adapter as its driver, a kernel module such as "rdma_rxe", names it, such as "mlx5_0",
    with its ids as ibv_query_device gives them, and what it speaks."""

    name: str = ""
    vendor_id: int | None = None
    part_id: int | None = None
    firmware: str = ""
    driver: str = ""
    transport: Literal["", "infiniband", "roce", "iwarp"] = ""


TRANSPORTS: Mapping[str, Literal["infiniband", "roce", "iwarp"]] = MappingProxyType(
    {"infiniband": "infiniband", "rocev2": "roce", "iwarp": "iwarp"}
)
"""By the kind of the protocol in an adapter's description."""


class Port(Record):
    """The link that was used: lanes, Gbit/s of a lane, and path MTU of verbs in bytes."""

    layer: Literal["", "infiniband", "ethernet"] = ""
    width: Count | None = None
    speed: Number | None = None
    mtu: Count | None = None


class Pci(Record):
    """The adapter's slot, from sysfs: generation of PCI Express, lanes, and bytes, which are None
    where configuration space cannot be read."""

    generation: Annotated[int, Field(ge=1, le=7)] | None = None
    lanes: Count | None = None
    max_payload: Count | None = None
    max_read_request: Count | None = None


class Host(Record):
    """The machine: model and number of its processors, and release of its kernel."""

    cpu: str = ""
    cpus: Count | None = None
    kernel: str = ""


class Clock(Record):
    """How ticks became nanoseconds.

    Parameters:
        source: "tsc" or "monotonic".
        hz: ticks per second as fitted, or None if the source gives nanoseconds.
        error_ppm: how far the fit is off, in parts per million.
        overhead_ns: what reading the clock takes.
    """

    source: Text
    hz: Number | None = None
    error_ppm: Number | None = None
    overhead_ns: Number | None = None


class Plan(Record):
    """The list of points that was asked for: sha256 of its file, seed of its order, number."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    seed: int
    points: Count


class Header(Record):
    """The first line of a trace, as far as the tool tells.

    Parameters:
        source: the file that was imported and its sha256, as "<name> <sha256>"; empty if the tool
            wrote the trace itself.
        notes: what a reader should know, such as lines that were passed over.
    """

    record: Literal["header"] = "header"
    # Named so that the key of the file does not hide a method of the base class.
    schema_: Annotated[Literal["hcasim-trace"], Field(alias="schema")] = "hcasim-trace"
    version: Literal[1] = 1
    tool: Tool
    source: str = ""
    created: str = ""
    device: Device = Device()
    port: Port = Port()
    pci: Pci | None = None
    host: Host = Host()
    clock: Clock | None = None
    plan: Plan | None = None
    notes: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class Statistics(Record):
    """What a tool printed of its samples, in the unit of the quantity: of so many samples or
    iterations, and percentiles by percent, such as {"99": 1234.0}."""

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
        if self.unit != UNITS[self.quantity]:
            allowed = UNITS[self.quantity]
            raise ValueError(f"unit: found {self.unit!r} for a {self.quantity}; allowed: {allowed}")
        if sum([bool(self.samples), bool(self.histogram), self.statistics is not None]) != 1:
            raise ValueError("one of samples, histogram and statistics is needed")
        values = [value for value, _ in self.histogram]
        if values != sorted(set(values)):
            raise ValueError("histogram: its values must rise")
        seen = self.statistics or Statistics()
        named = (seen.minimum, seen.median, seen.mean, seen.maximum, seen.deviation)
        for one in (*self.samples, *values, *named, *seen.percentiles.values()):
            if one and not LEAST <= one <= MOST:
                raise ValueError(f"found {one:g} {self.unit}; allowed: 0, or {LEAST:g} to {MOST:g}")
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
    """A point that could not be measured, and why: "IBV_WC_REM_ACCESS_ERR: remote access error"."""

    record: Literal["failure"] = "failure"
    workload: Text
    options: dict[str, Option] = Field(default_factory=dict)
    error: Text


class End(Record):
    """The last line of a trace that was not interrupted by force: lines with points before it,
    whether the whole plan was run, and why not, such as "SIGINT"."""

    record: Literal["end"] = "end"
    points: Annotated[int, Field(ge=0)]
    complete: bool
    reason: str = ""


RECORDS: dict[str, type[Header | Point | Failure | End]] = {
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
