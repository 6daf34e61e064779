"""Files of several tools become traces: which tool wrote one, and several as one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from hcasim.ground.errors import CatalogError, one_of
from hcasim.traces.document import Trace, parse_trace
from hcasim.traces.header import Header
from hcasim.traces.imb.table import HEAD as IMB_HEAD
from hcasim.traces.imb.text import SIMULATED as IMB_SIMULATED
from hcasim.traces.imb.text import TITLE as IMB_TITLE
from hcasim.traces.imb.text import ImbReader
from hcasim.traces.imb.titles import TITLES as IMB_WORKLOADS
from hcasim.traces.imported import Imported, described
from hcasim.traces.netpipe.np_out import first_row, read_netpipe
from hcasim.traces.netpipe.rows import WORKLOADS as NETPIPE_WORKLOADS
from hcasim.traces.netpipe.terminal import TERMINAL
from hcasim.traces.osu.table import HEAD
from hcasim.traces.osu.text import OsuReader
from hcasim.traces.osu.titles import SIMULATED, TITLE
from hcasim.traces.osu.titles import WORKLOADS as OSU_WORKLOADS
from hcasim.traces.perftest.json import read_perftest_json
from hcasim.traces.perftest.run import WORKLOADS as PERFTEST_WORKLOADS
from hcasim.traces.perftest.table import HEAD as PERFTEST_HEAD
from hcasim.traces.perftest.text import TITLE as PERFTEST_TITLE
from hcasim.traces.perftest.text import PerftestReader
from hcasim.traces.printed import Hints, is_number, known_word
from hcasim.traces.schema import End
from hcasim.traces.source import Source

Format = Literal["probe", "perftest", "osu", "imb", "netpipe"]
FORMATS: tuple[Format, ...] = ("probe", "perftest", "osu", "imb", "netpipe")
_NAMES = {
    "probe": "a trace of hcasim's probes",
    "perftest": "perftest's text",
    "perftest-json": "perftest's JSON",
    "osu": "an OSU benchmark",
    "imb": "an Intel MPI benchmark",
    "netpipe": "NetPIPE",
}
_SNIFFED = 1000
"""Lines in which a program is looked for."""
_TERMINAL = "NetPIPE's terminal output"
"""A second kind of its output, which is not to be mixed with np.out."""
_PROGRAMS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("a schedule of GOAL", re.compile(r"\s*num_ranks\s+[0-9]|\s*rank\s+[0-9]+\s*\{").match),
    (
        "a time-independent trace of SimGrid",
        re.compile(
            r"\s*[0-9]+\s+(?:init|finalize|compute|i?send|i?recv|sendRecv|wait|waitall|barrier|"
            r"bcast|(?:all)?(?:reduce|gatherv?)|alltoallv?|scatterv?|reducescatter|comm_size)\b"
        ).match,
    ),
)
"""What programs have done, and by which lines it is recognized; others read it."""
_MARKS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("probe", re.compile(r'\s*\{.*"record"\s*:.*').match),
    ("perftest-json", re.compile(r'\s*(?:\{\s*)?"?(test_info|results)"?\s*:\s*\{').match),
    ("perftest", lambda line: PERFTEST_TITLE.fullmatch(line) or PERFTEST_HEAD.fullmatch(line)),
    (
        "osu",
        lambda line: TITLE.fullmatch(line) or SIMULATED.fullmatch(line) or HEAD.fullmatch(line),
    ),
    (
        "imb",
        lambda line: (
            IMB_TITLE.fullmatch(line) or IMB_SIMULATED.fullmatch(line) or IMB_HEAD.fullmatch(line)
        ),
    ),
    (_TERMINAL, TERMINAL.fullmatch),
)
_READERS: dict[str, tuple[Callable[[Source, Hints], Imported], Sequence[str]]] = {
    "perftest": (PerftestReader.read, PERFTEST_WORKLOADS),
    "perftest-json": (read_perftest_json, PERFTEST_WORKLOADS),
    "osu": (OsuReader.read, OSU_WORKLOADS),
    "imb": (ImbReader.read, tuple(IMB_WORKLOADS)),
    "netpipe": (read_netpipe, NETPIPE_WORKLOADS),
}
"""What reads a tool's output, and what the tool can measure."""
_PLACES = ("nodes", "processes", "algorithm")
_HINTS_OF = {
    "probe": ("workload", "unit", "cpu_mhz", "device", "transport", *_PLACES),
    "perftest": _PLACES,
    "perftest-json": _PLACES,
    "osu": ("unit", "cpu_mhz"),
    "imb": ("unit", "cpu_mhz"),
    "netpipe": ("cpu_mhz", *_PLACES),
}
"""The hints that a tool's output does without."""


def import_trace(source: Source, form: str = "", hints: Hints | None = None) -> Trace:
    """Read what a tool printed into the form of a trace.

    Parameters:
        source: the file.
        form: one of FORMATS; found out without it.
        hints: what the tool did not print.

    Raises:
        CatalogError: every place that cannot be read, and why. A line that is passed over is noted.
    """
    hints = hints or Hints()
    if form and (faults := known_word("--format", form, FORMATS)):
        raise CatalogError(faults)
    kind = sniff(source, form)
    needless = [
        f"--{name.replace('_', '-')}: has no meaning for {source.name}, {_NAMES[kind]}"
        for name in _HINTS_OF.get(kind, ())
        if getattr(hints, name) != getattr(Hints(), name)
    ]
    if needless:
        raise CatalogError(needless)
    if kind == "probe":
        return _read_probe(source, hints)
    read, workloads = _READERS[kind]
    if hints.workload and (faults := known_word("--workload", hints.workload, workloads)):
        raise CatalogError(faults)
    trace = read(source, hints).trace()
    if hints.algorithm and not any("algorithm" in one.options for one in trace.points):
        raise CatalogError([f"--algorithm: has no meaning for {source.name}: no collective"])
    return trace


def sniff(source: Source, form: str = "") -> str:
    """Return which tool wrote a file: one of FORMATS, or "perftest-json".

    Parameters:
        source: the file.
        form: what the user says it is.

    Raises:
        CatalogError: no tool that is known, or more than one.
    """
    marks: dict[str, int] = {}
    for number, line in enumerate(source.lines, start=1):
        for kind, is_marked in _MARKS:
            if kind not in marks and is_marked(line):
                marks[kind] = number
    if row := first_row(source):
        marks["netpipe"] = row
    elif not marks and _is_table(source):
        marks["netpipe"] = 1
    if len(marks) > 1:
        in_order = sorted(marks.items(), key=lambda mark: mark[1])
        found = [f"{_NAMES.get(kind, kind)} (line {line})" for kind, line in in_order]
        raise CatalogError(
            [f"{source.name}: found {' and '.join(found)}; divide the file: one tool each"]
        )
    if form:
        is_json = form == "perftest" and "perftest-json" in marks
        return "perftest-json" if is_json else form
    if not marks:
        raise CatalogError([_unknown(source)])
    (kind,) = marks
    return "netpipe" if kind == _TERMINAL else kind


def _is_table(source: Source) -> bool:
    """Whether most lines are rows of three or five numbers, as those of np.out."""
    lines = rows = 0
    for line in source.lines:
        words = line.split()
        if words and not words[0].startswith("#"):
            lines += 1
            rows += len(words) in (2, 3, 5) and all(map(is_number, words))
    return 2 * rows > lines


def _unknown(source: Source) -> str:
    for what, is_marked in _PROGRAMS:
        if any(map(is_marked, source.lines[:_SNIFFED])):
            replayed = "allowed: what a tool measured; `hcasim app FILE -n N` replays it"
            return f"{source.name}: found {what}; {replayed}"
    # The lines are not all blank.
    if all(is_number(word) for line in source.lines for word in line.split()):
        return (
            f"{source.name}: found numbers alone, as perftest prints with --output: "
            "no size, no unit; import the whole table"
        )
    return (
        f"{source.name}: found no output of a known tool; allowed: "
        f"{one_of(list(_NAMES.values()))}; "
        "--format says which it is"
    )


def _read_probe(source: Source, hints: Hints) -> Trace:
    """Read a trace again, so that its form is the usual one."""
    cut = _is_cut(source) if hints.partial else False
    data = source.data[: source.data.rindex(b"\n") + 1] if cut else source.data
    trace = parse_trace(data, source.name)
    header = trace.header
    if not header.source:
        header = Header.model_validate(header.model_dump() | {"source": source.provenance})
    reason = "the output was cut short" if cut else "the trace has no end"
    end = trace.end or End(points=len(trace.points), complete=False, reason=reason)
    return replace(trace, header=header, end=end)


def _is_cut(source: Source) -> bool:
    """Whether the last line of several is a part of one."""
    _, newline, last = source.data.rpartition(b"\n")
    try:
        json.loads(last or b"{}")
    except (ValueError, RecursionError):
        return bool(newline)
    return False


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
        faults += _differences(name, first.header, other_name, trace.header)
    if faults:
        faults.append("a trace is of one adapter; -o FOLDER/ writes one for each file")
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


def _differences(name: str, one: Header, other_name: str, other: Header) -> list[str]:
    if other is one:
        return []
    if other.tool.name != one.tool.name:
        return [f"{other_name}: found {other.tool.name}, and in {name} {one.tool.name}"]
    if other.tool.name in ("hcasim-probes", "hcasim"):
        return [f"{other_name}: found another trace, whose header is not that of {name}"]
    if other.tool.version != one.tool.version:
        return [
            f"{other_name}: found version {other.tool.version}, and in {name} {one.tool.version}"
        ]
    if other.device != one.device or other.port.layer != one.port.layer:
        here, there = described(other.device, other.port), described(one.device, one.port)
        return [f"{other_name}: found {here}, and in {name} {there}"]
    return []
