"""Reads what a tool prints line by line, and gathers what was found and all that is wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from hcasim.traces.header import Port
from hcasim.traces.imported import Imported
from hcasim.traces.printed import Hints, Unreadable
from hcasim.traces.source import CUT, Source


class Reader(ABC):
    """Reads the output of one tool.

    Parameters:
        source: the file, with what mpirun prints around it.
        hints: what it does not say.
    """

    tool: ClassVar[str]

    def __init__(self, source: Source, hints: Hints) -> None:
        self.source, self.hints = source, hints
        self.found = Imported(source, self.tool)

    @classmethod
    def read(cls, source: Source, hints: Hints) -> Imported:
        """Read the output of one run, or of several behind each other.

        Raises:
            CatalogError: every line that cannot be read, and why.
        """
        reader = cls(source, hints)
        for number, line in enumerate(source.lines, start=1):
            try:
                reader.take(number, line)
            except Unreadable as error:
                reader.refuse(number, error)
        reader.close()
        return reader.found.whole()

    @abstractmethod
    def take(self, number: int, line: str) -> None:
        """Read one line.

        Raises:
            Unreadable: it cannot be read.
        """

    def refuse(self, number: int, error: Unreadable) -> None:
        """Keep that a line cannot be read."""
        known = self.hints.partial and number == len(self.source.lines)
        self.found.refuse(number, error, known)

    @abstractmethod
    def close(self) -> None:
        """End the table that is being read, if there is one."""

    def untitled(self, example: str) -> str:
        """Return the workload of a table without a title.

        Raises:
            Unreadable: the user does not say it either.
        """
        if not self.hints.workload:
            raise Unreadable(
                "found a table without the title of its test; --workload says which it is, "
                f"such as {example}"
            )
        return self.hints.workload

    def without_results(self, line: int, workload: str) -> None:
        """Keep that a title has no results behind it."""
        if self.hints.partial and self.found.points:
            self.found.cut = True
        else:
            self.found.fault(line, f"{workload}: found no results: {CUT}")

    def add_adapter(self, line: int, adapter: str) -> None:
        """Keep which adapter was used: that of a simulation, or the one that the user names."""
        device = self.hints.adapter
        if adapter:
            device = device.model_copy(update={"name": adapter})
        self.found.add_adapter(line, device, Port())
