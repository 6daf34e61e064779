"""`hcasim import`: what other tools measured, in the form of a trace."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Command
from hcasim.cli.output import note, print_json, print_line
from hcasim.cli.outputs import Output, output_faults
from hcasim.cli.tables import print_table, word
from hcasim.ground.errors import refuse
from hcasim.ground.reading import leads_to

if TYPE_CHECKING:
    from hcasim.traces import Hints, Measured, Trace

STDIN = "-"
ENDING = ".jsonl"
_TRANSPORTS = ("infiniband", "roce", "iwarp")
_UNITS = ("MiB/s", "Gbit/s", "Mibit/s", "Mbit/s")


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("import", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="Write a trace: FILE.jsonl one of all files, FOLDER/ one for each.",
)
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    default="",
    help="probe, perftest, osu, imb or netpipe (default: what it looks like).",
)
@click.option("--workload", metavar="W", default="", help="Of figures without the test's title.")
@click.option(
    "--unit", metavar="U", default="", help=f"Of bandwidths without one: {', '.join(_UNITS)}."
)
@click.option("--cpu-mhz", metavar="MHZ", help="Frequency of perftest's cycles (-C).")
@click.option("--device", metavar="NAME", default="", help="The adapter, if the tool is silent.")
@click.option(
    "--transport",
    metavar="WORD",
    default="",
    help="infiniband, roce or iwarp, if the tool is silent.",
)
@click.option(
    "--nodes",
    metavar="N",
    help="Nodes on which an MPI benchmark ran; two processes are taken as on two.",
)
@click.option("--processes", metavar="N", help="Its processes on each of them.")
@click.option("--algorithm", metavar="WORD", default="", help="That its collective used.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    files: tuple[str, ...], output: str | None, form: str, as_json: bool, **given: Any
) -> None:
    """Read what perftest, OSU, IMB, NetPIPE or hcasim's probes measured.

    Without -o it shows what it read. Several files become one trace, of one tool and one adapter;
    into a FOLDER/ they become one each. "-" is standard input. What is printed without its unit,
    its test or its adapter is not guessed: the message names the option that says it. Nothing is
    written unless all files can be read.
    """
    from hcasim.catalog import CatalogError
    from hcasim.traces import Source, import_trace, merge

    hints, faults = _hints(given)
    faults += _option_faults(files, output, form)
    refuse(*faults)
    traces: list[tuple[str, Trace]] = []
    for name in files:
        try:
            traces.append((name, import_trace(Source(_shown(name), _read(name)), form, hints)))
        except CatalogError as error:
            faults += error.faults
    refuse(*faults)
    written: list[tuple[str, Trace]] = []
    if output is not None and not _is_folder(output):
        written = [(output, merge(traces))]
    elif output is not None:
        written = [(str(_beside(output, name)), trace) for name, trace in traces]
    _write(written)
    if as_json:
        from hcasim.schemas.documents import ImportDocument

        found = [_to_dict(*one) for one in written or traces]
        print_json({**ImportDocument.head(), "traces": found})
    elif not written:
        for place, (name, trace) in enumerate(traces):
            if place:
                click.echo()
            _print(_shown(name), trace)


def _hints(given: dict[str, Any]) -> tuple[Hints, list[str]]:
    from hcasim.ground.errors import Fault, nearest, one_of
    from hcasim.traces import Hints
    from hcasim.traces.figures import count
    from hcasim.traces.source import Unreadable

    faults: list[str] = []
    for option, allowed in (("unit", _UNITS), ("transport", _TRANSPORTS)):
        if given[option] and given[option] not in allowed:
            hint = nearest(given[option], allowed)
            faults.append(Fault(f"--{option}", given[option], one_of(allowed), hint))
    mhz = given["cpu_mhz"]
    if mhz is not None:
        try:
            given["cpu_mhz"] = Decimal(mhz)
            if not Decimal("0.001") <= given["cpu_mhz"] <= 100_000:
                raise InvalidOperation
        except InvalidOperation:
            faults.append(f"--cpu-mhz: found {mhz!r}; allowed: a number from 0.001 to 100000")
            given["cpu_mhz"] = None
    for option in ("nodes", "processes"):
        text, given[option] = given[option], None
        try:
            given[option] = None if text is None else count(text, f"--{option}", 1)
        except Unreadable as error:
            faults.append(str(error))
    return Hints(**given), faults


def _option_faults(files: tuple[str, ...], output: str | None, form: str) -> list[str]:
    from hcasim.ground.errors import Fault, nearest, one_of
    from hcasim.traces import FORMATS

    faults: list[str] = []
    if form and form not in FORMATS:
        faults.append(Fault("--format", form, one_of(FORMATS), nearest(form, FORMATS)))
    for name in dict.fromkeys(files):
        if files.count(name) > 1:
            faults.append(f"{_shown(name)}: named {files.count(name)} times; allowed: once")
    if output is None:
        return faults
    if output == STDIN:
        return [*faults, "--output: found '-'; allowed: a file or a folder; --json prints"]
    place = Path(output)
    if _is_folder(output):
        targets = [_beside(output, name) for name in files]
        faults += [
            f"--output: {target} would be written {targets.count(target)} times; rename a file"
            for target in dict.fromkeys(targets)
            if targets.count(target) > 1
        ]
    else:
        targets = [place]
        if place.suffix != ENDING:
            faults.append(f"--output: found {output!r}; allowed endings: {ENDING}, or a FOLDER/")
    read = [(f"{_shown(name)}, which is read", Path(name)) for name in files if name != STDIN]
    faults += output_faults([Output("--output", one) for one in dict.fromkeys(targets)], read)
    return faults


def _is_folder(output: str) -> bool:
    return output.endswith("/") or leads_to(Path(output), Path.is_dir)


def _beside(output: str, name: str) -> Path:
    stem = "stdin" if name == STDIN else Path(name).name.removesuffix(ENDING)
    return Path(output) / f"{stem}{ENDING}"


def _shown(name: str) -> str:
    # A name may hold bytes that are no text.
    return "<stdin>" if name == STDIN else name.encode("utf-8", "backslashreplace").decode()


def _read(name: str) -> bytes:
    from hcasim.ground.reading import MEASURED, read_file, read_stdin

    if name == STDIN:
        return read_stdin()
    return read_file(name, MEASURED, "-, which is standard input")


def _write(traces: list[tuple[str, Trace]]) -> None:
    from hcasim.ground.writing import write_atomically
    from hcasim.traces import render

    texts = [(Path(name), render(trace), trace) for name, trace in traces]
    for path, text, trace in texts:
        write_atomically(path, text)
        count = len(trace.points)
        note(f"Wrote {count} point{'s' if count != 1 else ''} to {path}")
        _print_notes(trace)


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
    rows = [
        (
            point.workload,
            str(point.options.get("size", "")),
            f"{one.quantity} {one.name}".strip(),
            _value(one),
            one.unit,
            one.printed,
            ", ".join(
                f"{key} {word(value)}" for key, value in point.options.items() if key != "size"
            ),
        )
        for point in trace.points
        for one in point.measured
    ]
    heading = ", ".join(filter(None, (f"{name}: {tool}", adapter)))
    print_table(heading, columns, rows, right=("Size", "Value"), aside=("Options",))
    for failure in trace.failures:
        print_line(f"Failed: {failure.workload}: {failure.error}")
    _print_notes(trace)


def _value(measured: Measured) -> str:
    """The number that counts."""
    value = measured.typical
    return "" if value is None else f"{value:.6g}"
