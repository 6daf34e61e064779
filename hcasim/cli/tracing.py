"""`--trace`, `--pcap`, `--series`: what blocks do, packets of a link, and queues over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcasim.cli.command import option, options
from hcasim.cli.naming import FILE
from hcasim.cli.output import note
from hcasim.cli.results import Output

if TYPE_CHECKING:
    from hcasim.engine import EventStream, Simulator

Listen = Callable[["Simulator"], None]

trace_options = options(
    option(
        "--trace",
        "Also write what each block does: .json or .json.gz as a timeline that Perfetto "
        "opens, others as a line for each event; one point only.",
        type=FILE,
    ),
    option("--trace-time BEGIN..END", "Only this part in a timeline, such as 10us..50us."),
    option("--trace-node N,N", "Only these nodes in a timeline (default: all, and the switches)."),
    option(
        "--pcap",
        "Also write the packets of a link as Wireshark reads them: .pcap, .pcap.gz.",
        type=FILE,
    ),
    option("--pcap-link NODE[:PORT]", "Whose link --pcap is of (default: 0:1)."),
    option(
        "--series",
        "Also write queues, pauses, marks and rates of flows over time: .csv, .csv.gz.",
        type=FILE,
    ),
    option("--series-every TIME", "From a look of --series to the next (default: 10us)."),
)


class Tracing:
    """What is to be recorded of a run: it takes what `trace_options` gave out of the arguments."""

    def __init__(self, given: dict[str, Any]) -> None:
        from hcasim.study.capture.capture import ENDINGS as CAPTURES
        from hcasim.study.capture.capture import read_tap
        from hcasim.study.series import ENDINGS as SERIES
        from hcasim.study.series import read_every
        from hcasim.study.timeline.recording import ENDINGS, is_timeline, read_choice

        part = {f"--trace-{one}": given.pop(f"trace_{one}") for one in ("time", "node")}
        link, every = given.pop("pcap_link"), given.pop("series_every")
        self._trace: Path | None = given.pop("trace")
        self._pcap: Path | None = given.pop("pcap")
        self._series: Path | None = given.pop("series")
        files = {"--trace": self._trace, "--pcap": self._pcap, "--series": self._series}
        self.wanted = [option for option, file in files.items() if file is not None]
        self.outputs = [
            Output("--trace", self._trace),
            Output("--pcap", self._pcap, CAPTURES),
            Output("--series", self._series, SERIES),
        ]
        self.faults: list[str] = []
        time, node = part.values()
        self._choice = read_choice(time, node, None, self.faults, ("--trace-time", "--trace-node"))
        self._tap = read_tap(link, self.faults)
        self._is_timeline = self._trace is not None and is_timeline(self._trace)
        if self._pcap is None and link is not None:
            self.faults.append("--pcap-link: says more of --pcap FILE, which is missing")
        self._every_ps = read_every(every, self.faults)
        if self._series is None and every is not None:
            self.faults.append("--series-every: says more of --series FILE, which is missing")
        if self._is_timeline:
            return
        if self._trace is not None and f"{ENDINGS[0]}." in self._trace.name.lower():
            allowed = f"{' or '.join(ENDINGS)} for a timeline, others for lines"
            self.faults.append(f"--trace: found {self._trace.name!r}; allowed: {allowed}")
        what = f"chooses a part of a timeline, --trace FILE{ENDINGS[0]}"
        self.faults += [f"{one}: {what}" for one, text in part.items() if text is not None]

    @contextmanager
    def listening(self, run: str) -> Iterator[Listen | None]:
        """Record a run inside the block, if that is wanted, and say how much that was.

        What it yields is to be given the simulator before anything happens.
        """
        from hcasim.study.capture.capture import captured
        from hcasim.study.series import recorded_series
        from hcasim.study.timeline.recording import recorded

        told: list[Callable[[], str]] = []
        follows: list[Listen] = []
        with ExitStack() as files:
            if self._trace is not None and self._is_timeline:
                timeline = files.enter_context(recorded(self._trace, self._choice, run))
                follows.append(timeline.follow)
                told.append(lambda: f"{timeline.records} records to {self._trace}")
            elif self._trace is not None:
                events = files.enter_context(_lines(self._trace))
                follows.append(events.follow)
                told.append(lambda: f"{events.written} events to {self._trace}")
            if self._pcap is not None:
                capture = files.enter_context(captured(self._pcap, self._tap))
                follows.append(capture.follow)
                told.append(lambda: f"{capture.packets} packets to {self._pcap}")

            if self._series is not None:
                series = files.enter_context(recorded_series(self._series, self._every_ps))
                follows.append(series.follow)
                told.append(lambda: f"{series.lines} lines to {self._series}")

            def listen(sim: Simulator) -> None:
                for follow in follows:
                    follow(sim)

            yield listen if follows else None
        for text in told:
            note(f"Wrote {text()}")
        if self._is_timeline and timeline.sim.now < self._choice.begin_ps:
            from hcasim.ground.units import format_time

            end = format_time(timeline.sim.now)
            note(f"The timeline is empty: the run ended at {end}, before --trace-time begins")


@contextmanager
def _lines(file: Path) -> Iterator[EventStream]:
    from hcasim.engine import EventStream
    from hcasim.ground.writing import written_atomically

    with written_atomically(file) as out:
        out.write(b"time_ps\tblock\tevent\toperation\tdetails\n")
        events = EventStream(lambda line: out.write(line.encode()))
        yield events
        events.finish()
