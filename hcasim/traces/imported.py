"""What was read from one source, on its way into the form of a trace."""

from __future__ import annotations

from dataclasses import dataclass, field

from hcasim.ground.errors import CatalogError
from hcasim.ground.faults import shown
from hcasim.traces.document import Trace
from hcasim.traces.header import Device, Header, Port, Tool
from hcasim.traces.printed import Unreadable, simulated_machine, simulated_setting
from hcasim.traces.schema import End, Failure, Point
from hcasim.traces.source import ENOUGH, POINTS, Source, too_many

_MANY = 5
_FAULTS = 1000
"""Faults after which reading ends."""


@dataclass
class Imported:
    """The points of one source, and of what they are.

    Parameters:
        source: the file.
        tool: its name.
        version: of the tool.
        points, failures: what was measured and what was not; failures with their line.
        notes: what a reader should know.
        cut: whether the output was cut short, and the user knows.
        faults: what cannot be read.
    """

    source: Source
    tool: str
    version: str = ""
    points: list[Point] = field(default_factory=list)
    failures: list[tuple[int, Failure]] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    cut: bool = False
    faults: list[str] = field(default_factory=list)
    _adapters: list[tuple[int, Device, Port]] = field(default_factory=list)
    _commands: dict[str, None] = field(default_factory=dict)
    _passed: list[tuple[int, str]] = field(default_factory=list)

    def add_adapter(self, line: int, device: Device, port: Port, command: str = "") -> None:
        """Keep what a run says of the adapter that it used."""
        self._adapters.append((line, device, port))
        if command:
            self._commands[command] = None

    def add(self, point: Point) -> None:
        """Keep a point.

        Raises:
            CatalogError: there are too many.
        """
        if len(self.points) == POINTS:
            raise too_many(self.source.name)
        self.points.append(point)

    def set_version(self, version: str) -> None:
        """Keep the version of the tool.

        Raises:
            Unreadable: what stands above is of another.
        """
        if self.version not in ("", version):
            raise Unreadable(
                f"found version {version} behind version {self.version}; divide the file"
            )
        self.version = version

    def note(self, text: str) -> None:
        """Keep what a reader should know."""
        self.notes[text] = None

    def simulated(self, line: str) -> dict[str, bool | int | str]:
        """Return the option that a comment of `hcasim bench` says, and keep what it says of the
        machine."""
        if machine := simulated_machine(line):
            self.note(machine)
        return simulated_setting(line)

    def went_without(self, line: int) -> None:
        """Keep that a line was left out, because its end is missing and the user knows."""
        self.note(f"line {line} was cut short and passed over")
        self.cut = True

    def fault(self, line: int, reason: object) -> None:
        """Keep what is wrong with a line.

        Raises:
            CatalogError: it is not worth while to read on.
        """
        self._keep(self.source.fault(line, reason))

    def _keep(self, fault: str) -> None:
        self.faults.append(fault)
        if len(self.faults) == _FAULTS:
            raise CatalogError([*self.faults, f"{self.source.name}: {ENOUGH}"])

    def refuse(self, line: int, error: Unreadable, known: object) -> None:
        """Keep that a line cannot be read, or go without it if the user knows that it was cut."""
        if known:
            self.went_without(line)
        else:
            self._keep(self.source.fault_or_cut(line, error))

    def whole(self) -> Imported:
        """Return itself.

        Raises:
            CatalogError: every line that cannot be read, and why.
        """
        if self.faults:
            raise CatalogError(self.faults)
        return self

    def passed_over(self, line: int, text: str) -> None:
        """Keep a line among figures that holds none."""
        self._passed.append((line, text.strip()))

    def trace(self) -> Trace:
        """Return the trace.

        Raises:
            CatalogError: nothing was measured, or by more than one adapter.
        """
        name = self.source.name
        if not self.points:
            reasons = [
                self.source.fault(line, f"{one.workload}: found no result: {one.error}")
                for line, one in self.failures
            ]
            raise CatalogError(reasons or [f"{name}: found no results; is the output whole?"])
        device, port = self._adapter()
        notes = [*self.notes, *self._passed_notes()]
        header = Header(
            tool=Tool.model_validate(
                {"name": self.tool, "version": self.version, "command": "; ".join(self._commands)}
            ),
            source=self.source.provenance,
            device=device,
            port=port,
            notes=tuple(notes),
        )
        end = End(
            points=len(self.points),
            complete=not self.cut,
            reason="the output was cut short" if self.cut else "",
        )
        return Trace(header, tuple(self.points), tuple(one for _, one in self.failures), end)

    def _passed_notes(self) -> list[str]:
        notes = [
            f"line {line} was passed over: {shown(text)}" for line, text in self._passed[:_MANY]
        ]
        if len(self._passed) > _MANY:
            notes.append(f"{len(self._passed) - _MANY} further such lines were passed over")
        return notes

    def _adapter(self) -> tuple[Device, Port]:
        if not self._adapters:
            return Device(), Port()
        line, device, port = self._adapters[0]
        for other_line, other, other_port in self._adapters[1:]:
            if other != device or other_port.layer != port.layer:
                raise self.source.refusal(
                    other_line,
                    f"found {described(other, other_port)}, and in line {line} "
                    f"{described(device, port)}: a trace is of one adapter; divide it",
                )
            if other_port != port:
                port = port.model_copy(update={"mtu": None})
        return device, port


def described(device: Device, port: Port) -> str:
    """Name an adapter and its link in a message."""
    words = [device.name or "an adapter without name", device.transport or port.layer]
    return " over ".join(word for word in words if word)
