"""`--trace` and `--pcap`: what the blocks of a run do, and the packets of a link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import options
from hcasim.cli.naming import FILE
from hcasim.cli.output import note
from hcasim.cli.outputs import Output

if TYPE_CHECKING:
    from hcasim.engine import Simulator
    from hcasim.study.capture.capture import Tap
    from hcasim.study.timeline.tracks import Choice

Listen = Callable[["Simulator"], None]


trace_options = options(
    click.option(
        "--trace",
        type=FILE,
        help="Also write what each block does: .json or .json.gz as a timeline that Perfetto "
        "opens, others as a line for each event; one point only.",
    ),
    click.option(
        "--trace-time",
        metavar="BEGIN..END",
        help="Only this part in a timeline, such as 10us..50us.",
    ),
    click.option(
        "--trace-node",
        metavar="N,N",
        help="Only these nodes in a timeline (default: all, and the switches).",
    ),
    click.option(
        "--pcap",
        type=FILE,
        help="Also write the packets of a link as Wireshark reads them: .pcap, .pcap.gz.",
    ),
    click.option(
        "--pcap-link", metavar="NODE[:PORT]", help="Whose link --pcap is of (default: 0:1)."
    ),
    click.option(
        "--pcap-snaplen",
        metavar="BYTES",
        help="Of each packet (default: all); Wireshark calls data malformed that is cut.",
    ),
)
"""Give a command the options of what is recorded of a run."""


@dataclass(frozen=True)
class Tracing:
    """What is to be recorded of a run.

    Parameters:
        trace: file of a timeline or of lines.
        trace_time: part of a timeline.
        trace_node: nodes of it.
        pcap: file of packets.
        pcap_link: node and port whose they are.
        pcap_snaplen: bytes of each.
    """

    trace: Path | None
    trace_time: str | None
    trace_node: str | None
    pcap: Path | None
    pcap_link: str | None
    pcap_snaplen: str | None

    @classmethod
    def take(cls, given: dict[str, Any]) -> Tracing:
        """Take its options out of those of a command."""
        return cls(**{one.name: given.pop(one.name) for one in fields(cls)})

    @property
    def wanted(self) -> list[str]:
        """Options that ask for a file."""
        files = {"--trace": self.trace, "--pcap": self.pcap}
        return [option for option, file in files.items() if file is not None]

    def outputs(self) -> list[Output]:
        """Its files."""
        from hcasim.study.capture.capture import ENDINGS

        return [Output("--trace", self.trace), Output("--pcap", self.pcap, ENDINGS)]

    def faults(self) -> list[str]:
        """Say what is wrong with its options."""
        from hcasim.study.timeline.recording import ENDINGS, is_timeline

        faults: list[str] = []
        self._choice(faults)
        self._tap(faults)
        given = {
            f"--{name.replace('_', '-')}" for name, one in vars(self).items() if one is not None
        }
        for option in ("--pcap-link", "--pcap-snaplen"):
            if option in given and self.pcap is None:
                faults.append(f"{option}: says more of --pcap FILE, which is missing")
        if self.trace is not None and not is_timeline(self.trace):
            name, allowed = self.trace.name, f"{' or '.join(ENDINGS)} for a timeline"
            if f"{ENDINGS[0]}." in name.lower():
                faults.append(f"--trace: found {name!r}; allowed: {allowed}, others for lines")
        for option in ("--trace-time", "--trace-node"):
            if option in given and (self.trace is None or not is_timeline(self.trace)):
                faults.append(f"{option}: chooses a part of a timeline, --trace FILE{ENDINGS[0]}")
        return faults

    def _choice(self, faults: list[str]) -> Choice:
        from hcasim.study.timeline.recording import read_choice

        names = "--trace-time", "--trace-node"
        return read_choice(self.trace_time, self.trace_node, None, faults, names)

    def _tap(self, faults: list[str]) -> Tap:
        from hcasim.study.capture.capture import read_tap

        return read_tap(self.pcap_link, self.pcap_snaplen, faults)

    @contextmanager
    def listening(self, run: str) -> Iterator[Listen]:
        """Record what runs inside.

        Parameters:
            run: what that is, in words.

        Yields:
            What is to be given the simulator before anything happens.
        """
        from hcasim.study.timeline.recording import is_timeline

        with ExitStack() as files:
            listens: list[Listen] = []
            if self.trace is not None:
                timeline = is_timeline(self.trace)
                choice = self._choice([])
                file = _timeline(self.trace, choice, run) if timeline else _lines(self.trace)
                listens.append(files.enter_context(file))
            if self.pcap is not None:
                listens.append(files.enter_context(_packets(self.pcap, self._tap([]))))

            def listen(sim: Simulator) -> None:
                for one in listens:
                    one(sim)

            yield listen


@contextmanager
def _packets(file: Path, tap: Tap) -> Iterator[Listen]:
    from hcasim.study.capture.capture import captured

    with captured(file, tap) as capture:
        yield capture.follow
    note(f"Wrote {capture.packets} packets to {file}")


@contextmanager
def _timeline(file: Path, choice: Choice, run: str) -> Iterator[Listen]:
    from hcasim.ground.units import format_time
    from hcasim.study.timeline.recording import recorded

    with recorded(file, choice, run) as timeline:
        yield timeline.follow
    note(f"Wrote {timeline.records} records to {file}")
    if timeline.sim.now < choice.begin_ps:
        end = format_time(timeline.sim.now)
        note(f"The timeline is empty: the run ended at {end}, before --trace-time begins")


@contextmanager
def _lines(file: Path) -> Iterator[Listen]:
    """Write a line for each event of the blocks."""
    from hcasim.engine import EventStream
    from hcasim.ground.writing import written_atomically

    with written_atomically(file) as out:
        out.write(b"time_ps\tblock\tevent\toperation\tdetails\n")
        events = EventStream(lambda line: out.write(line.encode()))
        yield events.follow
        events.finish()
    note(f"Wrote {events.written} events to {file}")
