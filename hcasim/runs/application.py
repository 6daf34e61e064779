"""One run of a program of MPI on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcasim.apps.replay.operations import Ranks
from hcasim.apps.replay.recording import Recording
from hcasim.apps.run import Outcome
from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.text import brief
from hcasim.runs.notes import notes_on
from hcasim.runs.profile import profile_of
from hcasim.runs.table import Table
from hcasim.workloads.cost import Cost

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Application(Table):
    """What a program has done on a machine.

    Parameters:
        program: its name.
        machine: what it ran on.
        ranks: processes in all.
        ppn: most of them on a node.
        map_by: how they were placed on nodes.
        algorithms: of collectives, by name, that were asked for.
        exact: whether nothing was left out that repeats itself.
        outcome: what it has done.
        wall_seconds: time that the simulation took, or None to leave that out.
        cost: what simulating it cost, if that was asked for.
        recording: what its processes have done, if that was asked for.
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
    recording: Recording | None = None
    rate: float | None = None

    def __repr__(self) -> str:
        machine = self.machine
        return brief(
            self,
            self.program,
            testbed=machine.id,
            adapter=machine.adapter.id,
            ranks=self.ranks,
            seconds=self.seconds,
        )

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
        return notes_on(self.machine, len({one.node for one in self.outcome.ranks}))

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

    def goal(self) -> str:
        """Return what its processes have done as a schedule of GOAL, to be run elsewhere.

        Each message to another process is a statement, those within collectives included, and so
        is computing, in whole nanoseconds, and what collectives copy and combine.

        Raises:
            CatalogError: it was not asked for.
        """
        from hcasim.apps.replay.goal import goal_lines

        return "\n".join(goal_lines(self._recorded())) + "\n"

    def save_goal(self, file: str | PathLike[str]) -> None:
        """Write what `goal` returns into a file.

        Raises:
            CatalogError: it was not asked for, or the file cannot be written.
        """
        from hcasim.apps.replay.goal import write_goal

        write_goal(self._recorded(), Path(file))

    def _recorded(self) -> Ranks:
        if self.recording is None:
            raise CatalogError(["goal: nothing was recorded; needed: record=True"])
        return self.recording.operations

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON, in the form of the schema `app`."""
        from hcasim.runs.application_document import AppDocument, rank_form

        machine, outcome, took = self.machine, self.outcome, self.wall_seconds
        cost = profile_of([] if self.cost is None else [self.cost], timing=took is not None)
        return AppDocument(
            **AppDocument.head(),
            program=self.program,
            testbed=machine.id,
            adapter=machine.adapter.id,
            firmware_mode=machine.groups[0].firmware_mode,
            overrides=machine.overrides,
            options={
                **machine.choices,
                "ranks": self.ranks,
                "ppn": self.ppn,
                "map_by": self.map_by,
                "algorithms": dict(self.algorithms),
                "exact": self.exact,
                **({} if self.rate is None else {"rate": self.rate}),
            },
            run_s=self.seconds,
            compute_s=self.compute_seconds,
            mpi_s=self.mpi_seconds,
            wait_s=self.wait_seconds,
            ranks=[rank_form(one) for one in outcome.ranks],
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
                "parts": [
                    {"what": what, "seconds": seconds} for what, seconds in outcome.critical.items()
                ],
            },
            counters=outcome.counters,
            **({"notes": self.notes} if self.notes else {}),
            **({"profile": cost} if cost else {}),
            **({} if took is None else {"wall_seconds": round(took, 6)}),
        ).to_dict()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What each process has done with its time."""
        return [one.row() for one in self.outcome.ranks]

    @property
    def title(self) -> str:
        """What ran, where, and how long."""
        return f"{self.program} on {self.machine.id}: {self.seconds:.6g} s"

    axes = ("rank",)

    @property
    def fields(self) -> tuple[str, ...]:
        """All that is said of a process but its number."""
        return self.columns[1:]

    def to_pandas(self) -> pd.DataFrame:
        """Return what each process has done as a table of pandas."""
        return super().to_pandas().set_index("rank")

    def plot(self) -> Figure:
        """Draw what each process has done with its time, and who has sent how much to whom."""
        from hcasim.runs.drawing import new_figure, plain

        figure = new_figure(9.6)
        machine = self.machine
        figure.suptitle(plain(f"{self.program} on {machine.id}, {machine.adapter.id}"))
        times, traffic = figure.subplots(1, 2)
        ranks = [one.rank for one in self.outcome.ranks]
        below = [0.0] * len(ranks)
        for label, parts in (
            ("computing", [one.compute_seconds for one in self.outcome.ranks]),
            ("in calls", [one.mpi_seconds - one.wait_seconds for one in self.outcome.ranks]),
            ("waiting in calls", [one.wait_seconds for one in self.outcome.ranks]),
        ):
            times.bar(ranks, parts, bottom=below, label=label)
            below = [a + b for a, b in zip(below, parts, strict=True)]
        times.set(xlabel="rank", ylabel="time (s)")
        times.legend()
        image = traffic.imshow(self.matrix(), cmap="Blues", origin="lower")
        traffic.set(xlabel="to rank", ylabel="from rank")
        figure.colorbar(image, ax=traffic, label="bytes sent")
        for axis in (times.xaxis, traffic.xaxis, traffic.yaxis):
            axis.get_major_locator().set_params(integer=True)
        return figure
