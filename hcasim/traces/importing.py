"""Files of several tools become traces: which tool wrote one, and several as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from hcasim.ground.errors import CatalogError, display, nearest, one_of
from hcasim.ground.faults import shown
from hcasim.ground.reading import MEASURED, read_file
from hcasim.traces.figures import all_numbers
from hcasim.traces.imb import ImbReader
from hcasim.traces.netpipe import NpOutReader, TerminalReader
from hcasim.traces.osu import OsuReader
from hcasim.traces.perftest.out_json import PerftestJsonReader
from hcasim.traces.perftest.text import PerftestReader
from hcasim.traces.schema import End, Header
from hcasim.traces.source import Source
from hcasim.traces.tool_output import Hints, Reader, described
from hcasim.traces.trace_file import Trace, parse_trace

FORMATS = ("probe", "perftest", "osu", "imb", "netpipe")


class _TraceReader(Reader):
    """Reads a trace again, so that its form is the usual one."""

    tool = "probe"
    name = "a trace of hcasim's probes"
    marks = (re.compile(r'\s*\{.*"record"\s*:.*'),)
    needless = tuple(one.name for one in fields(Hints))

    def read(self) -> Trace:
        """Read the trace."""
        trace = parse_trace(self.source.data, self.source.name)
        header = trace.header
        if not header.source:
            known = header.model_dump() | {"source": self.source.provenance}
            header = Header.model_validate(known)
        cut = End(points=len(trace.points), complete=False, reason="the trace has no end")
        return replace(trace, header=header, end=trace.end or cut)


_READERS: tuple[type[Reader], ...] = (
    _TraceReader,
    PerftestReader,
    PerftestJsonReader,
    OsuReader,
    ImbReader,
    NpOutReader,
    TerminalReader,
)


def import_trace(source: Source, form: str = "", hints: Hints | None = None) -> Trace:
    """Read what a tool printed into the form of a trace.

    Parameters:
        source: the file.
        form: one of FORMATS; found out without it.
        hints: what the tool did not print.

    Raises:
        CatalogError: the first place that cannot be read, and why. A line that is passed over is
            noted.
    """
    hints = hints or Hints()
    _check_word("--format", form, FORMATS)
    reader = _find_reader(source, form)
    needless = [
        f"--{name.replace('_', '-')}: has no meaning for {source.name}, {reader.name}"
        for name in reader.needless
        if getattr(hints, name) != getattr(Hints(), name)
    ]
    if needless:
        raise CatalogError(needless)
    _check_word("--workload", hints.workload, reader.workloads)
    _check_word("--unit", hints.unit, reader.units)
    trace = reader(source, hints).read()
    if hints.algorithm and not any("algorithm" in one.options for one in trace.points):
        raise CatalogError([f"--algorithm: has no meaning for {source.name}: no collective"])
    return trace


def read_measured(file: Path) -> Trace:
    """Read a file that holds a trace, or what a tool printed.

    Raises:
        CatalogError: the first place that cannot be read, and why.
    """
    data = read_file(file, MEASURED)
    if file.suffix == ".jsonl" or data.lstrip().startswith(b'{"record"'):
        return parse_trace(data, display(file))
    try:
        return import_trace(Source(display(file), data))
    except CatalogError as error:
        # Its options are not those of the command that reads a file here.
        option = f"; an option of `hcasim import {file.name} -o FILE.jsonl`"
        told = [f"{one}{option if ' --' in one else ''}" for one in error.faults]
        raise CatalogError(told) from None


def _check_word(option: str, found: str, allowed: Sequence[str]) -> None:
    if found not in ("", *allowed):
        close = nearest(found, allowed)
        raise CatalogError([f"{option}: found {shown(found)}; allowed: {one_of(allowed)}{close}"])


def _find_reader(source: Source, form: str) -> type[Reader]:
    """Find what reads a file of which the user may know the form."""
    marked: dict[type[Reader], int] = {}
    for number, line in enumerate(source.lines, start=1):
        for reader in _READERS:
            if reader not in marked and any(one.fullmatch(line) for one in reader.marks):
                marked[reader] = number
    lines = [line for line in source.lines if line.strip() and not line.lstrip().startswith("#")]
    # Nothing else than np.out is rows of numbers alone.
    if not marked and 2 * sum(all_numbers(line, 2) for line in lines) > len(lines):
        marked[NpOutReader] = 1
    if len(marked) > 1:
        in_order = sorted(marked, key=marked.__getitem__)
        found = " and ".join(f"{reader.name} (line {marked[reader]})" for reader in in_order)
        raise CatalogError([f"{source.name}: found {found}; divide the file: one tool each"])
    if form:
        return next(reader for reader in (*marked, *_READERS) if reader.tool == form)
    if not marked:
        raise CatalogError([f"{source.name}: {_unknown(source)}"])
    return next(iter(marked))


def _unknown(source: Source) -> str:
    # The lines are not all blank.
    if all_numbers(source.text, 1):
        return (
            "found numbers alone, as perftest prints with --output: no size, no unit; "
            "import the whole table"
        )
    known = one_of([reader.name for reader in _READERS[:-1]])
    return (
        f"found no output of a known tool; allowed: {known}; --format says which it is; "
        "traces of what a program did are for `hcasim app`"
    )


def merge(traces: Sequence[tuple[str, Trace]]) -> Trace:
    """Put several traces of one tool and one adapter into one.

    Parameters:
        traces: each with the name of its file.

    Raises:
        CatalogError: they are of different tools or adapters, or one of them is there twice.
    """
    name, first = traces[0]
    faults = []
    seen: dict[str, str] = {}
    for other_name, trace in traces:
        digest = trace.header.source.rpartition(" ")[2]
        if digest in seen:
            faults.append(f"{other_name}: found the same content as in {seen[digest]}")
        seen.setdefault(digest, other_name)
        pairs = zip(_facts(trace.header), _facts(first.header), strict=True)
        differ = [(there, here) for there, here in pairs if there != here]
        faults += [
            f"{other_name}: found {there}, and in {name} {here}" for there, here in differ[:1]
        ]
        own = trace.header.tool.name in ("hcasim-probes", "hcasim")
        if own and trace is not first and not differ:
            faults.append(f"{other_name}: found another trace, whose header is not that of {name}")
    if faults:
        faults.append("a trace is of one adapter; import each alone")
        raise CatalogError(faults)
    if len(traces) == 1:
        return first
    headers = [trace.header for _, trace in traces]
    port = first.header.port
    if any(one.port != port for one in headers):
        port = port.model_copy(update={"mtu": None})
    commands = dict.fromkeys(one.tool.command for one in headers if one.tool.command)
    header = first.header.model_copy(
        update={
            "source": "; ".join(one.source for one in headers),
            "port": port,
            "tool": first.header.tool.model_copy(update={"command": "; ".join(commands)}),
            "notes": tuple(
                f"{one.source.rpartition(' ')[0]}: {note}" for one in headers for note in one.notes
            ),
        }
    )
    points = tuple(point for _, trace in traces for point in trace.points)
    failures = tuple(failure for _, trace in traces for failure in trace.failures)
    reasons = [trace.end.reason for _, trace in traces if trace.end and not trace.end.complete]
    end = End(points=len(points), complete=not reasons, reason="; ".join(dict.fromkeys(reasons)))
    return Trace(header, points, failures, end)


def _facts(header: Header) -> tuple[str, str, str]:
    """What several files have to have alike, in words."""
    tool = header.tool
    return tool.name, f"version {tool.version}", described(header.device, header.port)
