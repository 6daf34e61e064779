"""The form of what `hcasim app --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Literal

from pydantic import Field

from hcasim.apps.run import RankUse
from hcasim.runs.document import Form, Head, Notes, Profile, Seconds

Plain = None | bool | int | float | str | list[Any] | dict[str, Any]


class Options(Form):
    """How a program was run."""

    mtu: int = Field(description="in bytes")
    switch: str | bool = Field(
        description="id of the first model; false: back to back; true in older files: the testbed's"
    )
    host: str
    stack: str
    ranks: int = Field(description="processes in all")
    ppn: int = Field(description="most processes on a node")
    map_by: Literal["block", "cyclic"]
    algorithms: dict[str, str] = Field(description="of collectives, that were asked for")
    exact: bool = Field(description="whether nothing was left out that repeats itself")
    rate: float | None = Field(
        default=None, description="operations a second of a trace, if that was asked for"
    )


class Rank(Form):
    """What a process has done with its time."""

    rank: int
    node: int = Field(description="on which it ran")
    run_s: float = Field(description="until it has ended")
    compute_s: float = Field(description="outside of calls")
    mpi_s: float = Field(description="in calls")
    wait_s: float = Field(description="of that, asleep until something came in")
    messages: int = Field(description="sent, those of collectives included")
    sent_bytes: int
    returned: Plain = Field(default=None, description="what the program has returned, if anything")


class CallUse(Form):
    """A call, by all processes together."""

    call: str
    calls: int
    total_s: float = Field(description="of all processes")
    most_s: float = Field(description="of the process that spends most on it")


class Pair(Form):
    """What a process has sent to another, or to itself."""

    source: int
    dest: int
    messages: int
    sent_bytes: int


class Spent(Form):
    """What a part of the critical path was spent on."""

    what: str = Field(
        description="computing, messages (under way between processes), own operations (of the "
        "adapter, for the process that waits), or the call whose software worked"
    )
    seconds: float


class Critical(Form):
    """The critical path of the process that ended last; its parts add up to the run time."""

    messages: int = Field(description="on the path")
    parts: tuple[Spent, ...]


class AppDocument(Head):
    """What `hcasim app --json` prints."""

    schema_: Literal["hcasim-app"] = Field(alias="schema")
    program: str
    testbed: str = Field(description="id of the testbed")
    adapter: str = Field(description="id of the adapter in the first group of nodes")
    firmware_mode: str | None = Field(description="of that adapter, if it has several")
    overrides: dict[str, str] = Field(description="what-if settings by path")
    options: Options
    run_s: float = Field(description="until the last process has ended")
    compute_s: float = Field(description="outside of calls, the mean over processes")
    mpi_s: float = Field(description="in calls, the mean over processes")
    wait_s: float = Field(description="of that, asleep until something came in")
    ranks: tuple[Rank, ...]
    calls: tuple[CallUse, ...] = Field(description="the one with most time first")
    traffic: tuple[Pair, ...] = Field(description="of pairs that have sent anything")
    critical_path: Critical
    counters: dict[str, int] = Field(description="of adapters and buses")
    notes: Notes = ()
    profile: Profile | None = Field(default=None, description="only if it was asked for")
    wall_seconds: Seconds = None


def rank_form(rank: RankUse) -> dict[str, Any]:
    """Return what a process has done, with what the program has returned."""
    returned = _plain(rank.returned)
    return rank.row() | ({} if returned is None else {"returned": returned})


def _plain(value: Any) -> Plain:
    """What a program has returned, as far as JSON can hold it; the rest in words."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _plain(value.item()) if hasattr(value, "item") and not value.shape else repr(value)
