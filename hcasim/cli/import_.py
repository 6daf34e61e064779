"""`hcasim import`: what other tools measured, in the form of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Command, flag, option
from hcasim.cli.naming import FILE
from hcasim.cli.output import note, print_json, print_line, print_table, word
from hcasim.cli.results import Output, output_faults
from hcasim.ground.errors import refuse

if TYPE_CHECKING:
    from hcasim.traces import Hints, Trace

STDIN = "-"
ENDING = ".jsonl"
_WORDS = {
    "unit": ("MiB/s", "Gbit/s", "Mibit/s", "Mbit/s"),
    "transport": ("infiniband", "roce", "iwarp"),
}


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("import", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@option("-o --output FILE.jsonl", "Write one trace of all files.", type=FILE)
@option(
    "--format form FORMAT",
    "probe, perftest, osu, imb or netpipe (default: what it looks like).",
    default="",
)
@option("--workload W", "Benchmark of figures without a title.", default="")
@option("--unit U", f"Unit of bandwidths without one: {', '.join(_WORDS['unit'])}.", default="")
@option("--device NAME", "The adapter, if the tool is silent.", default="")
@option("--transport WORD", "infiniband, roce or iwarp, if the tool is silent.", default="")
@option("--nodes N", "Nodes on which an MPI benchmark ran; two processes are taken as on two.")
@option("--processes N", "Its processes on each of them.")
@option("--algorithm WORD", "That its collective used.", default="")
@flag("--json as_json", "Print JSON.")
def command(
    files: tuple[str, ...], output: Path | None, form: str, as_json: bool, **given: Any
) -> None:
    """Read what perftest, OSU, IMB, NetPIPE or hcasim's probes measured.

    Without -o it shows what it read. Several files become one trace, of one tool and one adapter.
    "-" is standard input. What is printed without its unit, its test or its adapter is not guessed:
    the message names the option that says it. Nothing is written unless all files can be read.
    """
    from hcasim.catalog import CatalogError
    from hcasim.ground.writing import write_atomically
    from hcasim.traces import Source, import_trace, merge, render

    faults: list[str] = []
    hints = _hints(given, faults)
    faults += _option_faults(files, form)
    faults += output_faults([Output("--output", output, [ENDING])])
    refuse(*faults)
    traces: list[tuple[str, Trace]] = []
    for name in files:
        try:
            traces.append((name, import_trace(Source(_shown(name), _read(name)), form, hints)))
        except CatalogError as error:
            faults += error.faults
    refuse(*faults)
    shown = [(_shown(name), trace) for name, trace in traces]
    if output is not None:
        trace = merge(traces)
        shown = [(str(output), trace)]
        write_atomically(output, render(trace))
        count = len(trace.points)
        note(f"Wrote {count} point{'s' if count != 1 else ''} to {output}")
        _print_notes(trace)
    if as_json:
        from hcasim.schemas.documents import ImportDocument

        print_json({**ImportDocument.head(), "traces": [_to_dict(*one) for one in shown]})
    elif output is None:
        for place, (name, trace) in enumerate(shown):
            if place:
                click.echo()
            _print(name, trace)


def _hints(given: dict[str, Any], faults: list[str]) -> Hints:
    from hcasim.ground.errors import Fault, nearest, one_of
    from hcasim.traces import Hints
    from hcasim.traces.figures import count
    from hcasim.traces.source import Unreadable

    for name, allowed in _WORDS.items():
        if (found := given[name]) and found not in allowed:
            faults.append(Fault(f"--{name}", found, one_of(allowed), nearest(found, allowed)))
    for name in ("nodes", "processes"):
        text, given[name] = given[name], None
        try:
            given[name] = None if text is None else count(text, f"--{name}", 1)
        except Unreadable as error:
            faults.append(str(error))
    return Hints(**given)


def _option_faults(files: tuple[str, ...], form: str) -> Iterator[str]:
    from hcasim.ground.errors import Fault, nearest, one_of
    from hcasim.traces import FORMATS

    if form and form not in FORMATS:
        yield Fault("--format", form, one_of(FORMATS), nearest(form, FORMATS))
    for name in dict.fromkeys(files):
        if files.count(name) > 1:
            yield f"{_shown(name)}: named {files.count(name)} times; allowed: once"


def _shown(name: str) -> str:
    # A name may hold bytes that are no text.
    return "<stdin>" if name == STDIN else name.encode("utf-8", "backslashreplace").decode()


def _read(name: str) -> bytes:
    from hcasim.ground.reading import MEASURED, read_file, read_stdin

    if name == STDIN:
        return read_stdin()
    return read_file(name, MEASURED, "-, which is standard input")


def _print_notes(trace: Trace) -> None:
    for line in trace.header.notes:
        note(f"Note: {line}")
    if trace.end is not None and not trace.end.complete:
        note(f"Note: incomplete: {trace.end.reason}")
    if not trace.points:
        note("Note: found no points")


def _to_dict(name: str, trace: Trace) -> dict[str, Any]:
    from hcasim.traces.schema import to_dict

    return {
        "file": _shown(name),
        "header": to_dict(trace.header),
        "points": [to_dict(point) for point in trace.points],
        "failures": [to_dict(failure) for failure in trace.failures],
        "end": to_dict(trace.end) if trace.end else None,
    }


def _print(name: str, trace: Trace) -> None:
    header = trace.header
    tool = f"{header.tool.name} {header.tool.version}".strip()
    adapter = " over ".join(filter(None, (header.device.name, header.device.transport)))
    columns = ("Workload", "Size", "Measured", "Value", "Unit", "As printed", "Options")
    rows = []
    for point in trace.points:
        options = {key: word(value) for key, value in point.options.items() if key != "size"}
        for one in point.measured:
            rows.append(
                (
                    point.workload,
                    str(point.options.get("size", "")),
                    f"{one.quantity} {one.name}".strip(),
                    "" if one.typical is None else f"{one.typical:.6g}",
                    one.unit,
                    one.printed,
                    ", ".join(f"{key} {value}" for key, value in options.items()),
                )
            )
    heading = ", ".join(filter(None, (f"{name}: {tool}", adapter)))
    print_table(heading, columns, rows, right=("Size", "Value"))
    for failure in trace.failures:
        print_line(f"Failed: {failure.workload}: {failure.error}")
    _print_notes(trace)
