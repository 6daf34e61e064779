"""One run of a program of MPI on a machine, and the form of what `hcasim app --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.apps.run import Outcome
from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.text import brief
from hcasim.runs.document import Form, Head, Notes, Profile, Seconds
from hcasim.runs.machine import losses_told, notes_on
from hcasim.runs.table import Table
from hcasim.workloads.result import Cost, profile_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

Plain = None | bool | int | float | str | list[Any] | dict[str, Any]


class _Options(Form):
    """How a program was run."""

    mtu: int = Field(description="in bytes")
    switch: str | bool = Field(description="id of the first model; false: back to back")
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


class _Rank(Form):
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


class _CallUse(Form):
    """A call, by all processes together."""

    call: str
    calls: int
    total_s: float = Field(description="of all processes")
    most_s: float = Field(description="of the process that spends most on it")


class _Pair(Form):
    """What a process has sent to another, or to itself."""

    source: int
    dest: int
    messages: int
    sent_bytes: int


class _Spent(Form):
    """What a part of the critical path was spent on."""

    what: str = Field(
        description="computing, messages (under way between processes), own operations (of the "
        "adapter, for the process that waits), or the call whose software worked"
    )
    seconds: float


class _Critical(Form):
    """The critical path of the process that ended last; its parts add up to the run time."""

    messages: int = Field(description="on the path")
    parts: tuple[_Spent, ...]


class AppDocument(Head):
    """What `hcasim app --json` prints."""

    schema_: Literal["hcasim-app"] = Field(alias="schema")
    program: str
    testbed: str = Field(description="id of the testbed")
    adapter: str = Field(description="id of the adapter in the first group of nodes")
    firmware_mode: str | None = Field(description="of that adapter, if it has several")
    overrides: dict[str, str] = Field(description="what-if settings by path")
    options: _Options
    run_s: float = Field(description="until the last process has ended")
    compute_s: float = Field(description="outside of calls, the mean over processes")
    mpi_s: float = Field(description="in calls, the mean over processes")
    wait_s: float = Field(description="of that, asleep until something came in")
    ranks: tuple[_Rank, ...]
    calls: tuple[_CallUse, ...] = Field(description="the one with most time first")
    traffic: tuple[_Pair, ...] = Field(description="of pairs that have sent anything")
    critical_path: _Critical
    counters: dict[str, int] = Field(description="of adapters and buses")
    notes: Notes = ()
    profile: Profile | None = Field(default=None, description="only if it was asked for")
    wall_seconds: Seconds = None


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


@dataclass(frozen=True, repr=False)
class Application(Table):
    """What a program has done on a machine.

    Parameters:
        program: its name.
        machine: what it ran on; ranks to exact are how it was asked for, as of `hcasim.app`.
        outcome: what it has done.
        wall_seconds: time that the simulation took, or None to leave that out.
        cost: what simulating it cost, if that was asked for.
        rate: operations a second of a trace that counts them, if that was asked for.
    """

    program: str
    machine: Machine
    ranks: int
    ppn: int
    map_by: str
    algorithms: Mapping[str, str]
    exact: bool
    outcome: Outcome
    wall_seconds: float | None
    cost: Cost | None = None
    rate: float | None = None

    axes = ("rank",)

    def __repr__(self) -> str:
        testbed, adapter = self.machine.id, self.machine.adapter.id
        more = {"ranks": self.ranks, "seconds": self.seconds}
        return brief(self, self.program, testbed=testbed, adapter=adapter, **more)

    @property
    def seconds(self) -> float:
        """Run time: until the last process has ended."""
        return self.outcome.seconds

    @property
    def compute_seconds(self) -> float:
        """Outside of calls, the mean over processes."""
        return self._mean("compute_seconds")

    @property
    def mpi_seconds(self) -> float:
        """In calls, the mean over processes."""
        return self._mean("mpi_seconds")

    @property
    def wait_seconds(self) -> float:
        """Asleep in calls, the mean over processes."""
        return self._mean("wait_seconds")

    def _mean(self, name: str) -> float:
        each: list[float] = [getattr(one, name) for one in self.outcome.ranks]
        return sum(each) / len(each)

    @property
    def counters(self) -> Mapping[str, int]:
        """What the adapters and buses counted, by name."""
        return self.outcome.counters

    @property
    def returned(self) -> list[Any]:
        """What the program has returned in each process, by rank."""
        return [one.returned for one in self.outcome.ranks]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result leaves out that a reader may expect."""
        meeting = notes_on(self.machine, len({one.node for one in self.outcome.ranks}))
        return (*meeting, *self._losses)

    @property
    def _losses(self) -> tuple[str, ...]:
        return losses_told(self.program, self.counters, reorders=self.machine.reorders)

    def matrix(self, what: str = "bytes") -> np.ndarray:
        """Return the traffic, by rank of the sender and rank of the receiver.

        Parameters:
            what: "bytes" or "messages".

        Raises:
            CatalogError: something else.
        """
        from numpy import zeros

        kinds = ("messages", "bytes")
        if what not in kinds:
            hint = nearest(what, kinds)
            raise CatalogError([f"what: found {what!r}; allowed: {one_of(kinds)}{hint}"])
        found = zeros((self.ranks, self.ranks), dtype="int64")
        for pair, sent in self.outcome.traffic.items():
            found[pair] = sent[kinds.index(what)]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON, in the form of the schema `app`."""
        machine, outcome, took = self.machine, self.outcome, self.wall_seconds
        cost = profile_of([] if self.cost is None else [self.cost], timing=took is not None)
        options = {name: getattr(self, name) for name in ("ranks", "ppn", "map_by", "exact")}
        options["algorithms"] = dict(self.algorithms)
        if self.rate is not None:
            options["rate"] = self.rate
        ranks = []
        for one in outcome.ranks:
            returned = _plain(one.returned)
            ranks.append(one.row() | ({} if returned is None else {"returned": returned}))
        return AppDocument(
            **AppDocument.head(),
            program=self.program,
            testbed=machine.id,
            adapter=machine.adapter.id,
            firmware_mode=machine.groups[0].firmware_mode,
            overrides=machine.overrides,
            options=machine.choices | options,
            run_s=self.seconds,
            compute_s=self.compute_seconds,
            mpi_s=self.mpi_seconds,
            wait_s=self.wait_seconds,
            ranks=ranks,
            calls=[
                {
                    "call": call,
                    "calls": use.calls,
                    "total_s": use.seconds,
                    "most_s": use.most_seconds,
                }
                for call, use in outcome.calls.items()
            ],
            traffic=[
                {"source": source, "dest": dest, "messages": messages, "sent_bytes": size}
                for (source, dest), (messages, size) in outcome.traffic.items()
            ],
            critical_path={
                "messages": outcome.critical_messages,
                "parts": [{"what": what, "seconds": s} for what, s in outcome.critical.items()],
            },
            counters=outcome.counters,
            **({"notes": self.notes} if self.notes else {}),
            **({"profile": cost} if cost else {}),
            **({} if took is None else {"wall_seconds": round(took, 6)}),
        ).to_dict()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [one.row() for one in self.outcome.ranks]

    @property
    def title(self) -> str:
        return f"{self.program} on {self.machine.id}: {self.seconds:.6g} s"

    @property
    def fields(self) -> tuple[str, ...]:
        return self.columns[1:]

    def to_pandas(self) -> pd.DataFrame:
        return super().to_pandas().set_index("rank")

    def plot(self) -> Figure:
        from hcasim.runs.drawing import new_figure, plain

        figure, machine = new_figure(9.6), self.machine
        figure.suptitle(plain(f"{self.program} on {machine.id}, {machine.adapter.id}"))
        times, traffic = figure.subplots(1, 2)
        below = [0.0] * self.ranks
        uses = self.outcome.ranks
        for label, parts in (
            ("computing", [one.compute_seconds for one in uses]),
            ("in calls", [one.mpi_seconds - one.wait_seconds for one in uses]),
            ("waiting in calls", [one.wait_seconds for one in uses]),
        ):
            times.bar(range(self.ranks), parts, bottom=below, label=label)
            below = [a + b for a, b in zip(below, parts, strict=True)]
        times.set(xlabel="rank", ylabel="time (s)")
        times.legend()
        image = traffic.imshow(self.matrix(), cmap="Blues", origin="lower")
        traffic.set(xlabel="to rank", ylabel="from rank")
        figure.colorbar(image, ax=traffic, label="bytes sent")
        for axis in (times.xaxis, traffic.xaxis, traffic.yaxis):
            axis.get_major_locator().set_params(integer=True)
        return figure
