"""The forms of what is written for programs: JSON documents that say how each number was made."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)

from hcasim import __version__
from hcasim.workloads.option import Option
from hcasim.workloads.options import OPTIONS


def _value(option: Option) -> dict[str, Any]:
    if option.is_flag:
        return {"type": "boolean"}
    if option.is_name:
        return {"type": "string"}
    if option.words:
        return {"enum": list(option.words)}
    return {"type": "integer", "minimum": option.low, "maximum": option.high}


Chosen = Annotated[
    dict[str, StrictBool | StrictInt | StrictStr],
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "mtu": {"type": "integer", "minimum": 1},
                "switch": {
                    "description": "id of the first model; false: back to back",
                    "type": ["string", "boolean"],
                },
                "host": {"type": "string"},
                "stack": {"type": "string"},
                **{name: _value(one) for name, one in OPTIONS.items()},
            },
            "additionalProperties": False,
        }
    ),
]
"""Options by name."""
Seconds = Annotated[
    float | None, Field(description="time that it took, which differs from run to run")
]


class Form(BaseModel):
    """A part of a document, without unknown keys; what is not there is left out."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def to_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Head(Form):
    """How a document begins."""

    schema_: str = Field(alias="schema", description="which document it is")
    version: Literal[1] = Field(description="of the form of the document")
    hcasim: str = Field(description="version of hcasim that made it")

    @classmethod
    def head(cls) -> dict[str, Any]:
        """Return what a document of this form begins with."""
        (name,) = get_args(cls.model_fields["schema_"].annotation)
        return {"schema": name, "version": 1, "hcasim": __version__}


def _in_force(schema: dict[str, Any]) -> None:
    """Ask for a benchmark that there is, for how the machine is used, and for a point."""
    from hcasim.workloads import WORKLOADS

    named = [{"enum": sorted(WORKLOADS.names())}, {"pattern": "[.]py:"}]
    schema["properties"]["workload"]["anyOf"] = named
    schema["properties"]["options"]["required"] = ["mtu", "switch", "host", "stack"]
    schema["properties"]["points"]["minItems"] = 1


class Setup(Form):
    """How a curve was measured: with `options`, and with those of `points`, one for each row."""

    model_config = ConfigDict(json_schema_extra=_in_force)

    testbed: str = Field(description="id of the testbed")
    adapter: str = Field(description="id of the adapter in the first group of nodes")
    firmware_mode: str | None = Field(description="of that adapter, if it has several")
    workload: str = Field(description="name of the benchmark, or FILE.py:NAME of a user's own")
    overrides: dict[str, str] = Field(description="what-if settings by path")
    options: Chosen = Field(
        description="options in force at all points, given or not; mtu is in bytes, and switch is "
        "false if two hosts are connected back to back"
    )
    points: tuple[Chosen, ...] = Field(
        description="options that differ, of each row; with `options` they are all in force"
    )


class Stage(Form):
    """A stage of one operation."""

    stage: str
    us: float = Field(description="how long it takes, in microseconds")


class Step(Form):
    """A step of messages: the work of a process, or the way of an operation between two."""

    rank: int = Field(description="whose processor works, or who posted the operation")
    to: int | None = Field(default=None, description="who waits for the operation")
    step: str
    us: float = Field(description="how long it takes, in microseconds")
    count: int = Field(default=1, description="how many of this name there are")
    stages: tuple[Stage, ...] = Field(default=(), description="of an operation, one by one")


class Resource(Form):
    """A part of the machine that work passes through or waits for."""

    name: str
    busy: float = Field(default=0, description="share of the time in which it works")
    waited: float = Field(default=0, description="share of the time in which work waits for it")


class Component(Form):
    """What host memory is used for."""

    component: str
    KiB: float
    pinned: bool
    mapped: bool


class CacheUse(Form):
    """How a cache of the adapter fared."""

    name: str
    accesses: int
    misses: int
    hit_rate: float = Field(description="0 to 1")
    fetch_us: float = Field(description="mean time in which memory answered, in microseconds")
    waited_us: float = Field(description="time that work waited in all, in microseconds")
    table: Literal["host", "adapter"] = Field(description="where the table is that it caches")


class Flow(Form):
    """A flow from one node to another."""

    source: int = Field(description="node that sends, as they are numbered in the run")
    target: int
    size: int = Field(description="bytes")
    began_us: float = Field(description="from the start of the first on, in microseconds")
    completion_us: float = Field(description="how long it took, in microseconds")
    slowdown: float = Field(default=0, description="by how many times longer than alone, if known")


class Breakdown(Form):
    """Where the time goes and what binds; of several points one each in `sizes` or `points`."""

    stages: tuple[Stage, ...] = Field(default=(), description="of one operation, one by one")
    steps: tuple[Step, ...] = Field(default=(), description="of one message of MPI, one by one")
    path: tuple[Step, ...] = Field(default=(), description="critical path of a collective of MPI")
    algorithm: str = Field(default="", description="of the collective")
    total_us: float = Field(default=0, description="sum of stages, steps or path, in microseconds")
    what: str = Field(default="", description="what the steps are of, if it is no message")
    typical: bool = Field(default=True, description="whether all operations last as long")
    binds: str = Field(default="", description="resource that limits; empty if none is saturated")
    also: tuple[str, ...] = Field(default=(), description="resources that are about as busy")
    parameters: tuple[str, ...] = Field(default=(), description="what-if settings of these")
    options: tuple[str, ...] = Field(default=(), description="options that say how many there are")
    operation: tuple[Stage, ...] = Field(
        default=(), description="mean stages where time limits, the longest first"
    )
    resources: tuple[Resource, ...] = ()
    components: tuple[Component, ...] = ()
    total_KiB: float = Field(default=0, description="what the components add up to")
    bus_per_message: dict[str, float] = Field(default={}, description="counts by name")
    caches: tuple[CacheUse, ...] = ()
    flows: tuple[Flow, ...] = ()
    size: int = Field(default=0, description="what tells it from the others, of several points")
    qps: int = 0
    reuse: int = 0
    clients: int = 0
    nodes: int = 0
    processes: int = 0
    window_bytes: int = 0
    sizes: tuple[Breakdown, ...] = Field(default=(), description="by size alone")
    points: tuple[Breakdown, ...] = Field(default=(), description="by all that varies")


class Cost(Form):
    """What simulating cost."""

    events: int = Field(description="calls of the simulator that were run")
    packets: int = Field(description="sent by adapters, acknowledgements included, and run")
    packets_left_out: int = Field(description="sent by adapters, and accounted for without a run")
    wall_s: float = Field(default=0, description="from building the machine to the result")
    packets_per_s: float = Field(default=0, description="packets that were run, by wall_s")


class PointCost(Cost):
    """What simulating a point cost."""

    point: Chosen = Field(description="what tells it from the others")


class BlockCost(Form):
    """What the events of a block cost, with what that has others do at once."""

    block: str = Field(description="class in the reference; software is programs and libraries")
    calls: int
    seconds: float = 0
    share: float = Field(default=0, description="of wall_s")


class Profile(Cost):
    """What simulating cost the computer; times and counts of several points are added up."""

    queue_s: float = Field(default=0, description="of it, for the queue of events, and counting")
    setup_s: float = Field(default=0, description="of it, beside events: to build the machine")
    blocks: tuple[BlockCost, ...] = Field(description="the dearest first")
    points: tuple[PointCost, ...] = Field(default=(), description="point by point, if several")


Rows = Annotated[
    tuple[dict[str, StrictBool | StrictInt | StrictFloat | StrictStr], ...],
    Field(
        description="what was measured, and some of how, point by point; the last word of a key "
        "is its unit: us, MBps (10^6 bytes per second), Mps (10^6 per second), Mbps (2^20 bits per "
        "second), KiB, times, or percent: error_percent is how far an averaged rate may be off; a "
        "key with _low or _high behind it is an end between which it lies at 90 %, bound_by what "
        "binds (a resource as --explain names it, or the longest stage; empty if that is not "
        "known), and evidence what is known of that: published, fitted, chosen, assumed or unknown"
    ),
]


Notes = Annotated[
    tuple[str, ...],
    Field(description="what the results leave out that a reader may expect; not there if nothing"),
]


class BenchmarkDocument(Setup, Head):
    """What `hcasim bench --format json` prints."""

    schema_: Literal["hcasim-bench"] = Field(alias="schema")
    rows: Rows
    counters: dict[str, int] = Field(description="of adapters and buses, summed over the points")
    breakdown: Breakdown
    notes: Notes = ()
    profile: Profile | None = Field(default=None, description="only if it was asked for")
    wall_seconds: Seconds = None
