"""`hcasim import`: what other tools measured, in the form of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Command, flag, option
from hcasim.cli.output import note, print_json, print_line, print_table, word
from hcasim.cli.results import Output, output_faults
from hcasim.ground.errors import refuse
from hcasim.ground.reading import leads_to

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
@option("-o --output PATH", "Write a trace: FILE.jsonl one of all files, FOLDER/ one for each.")
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
    files: tuple[str, ...], output: str | None, form: str, as_json: bool, **given: Any
) -> None:
    """Read what perftest, OSU, IMB, NetPIPE or hcasim's probes measured.

    Without -o it shows what it read. Several files become one trace, of one tool and one adapter;
    into a FOLDER/ they become one each. "-" is standard input. What is printed without its unit,
    its test or its adapter is not guessed: the message names the option that says it. Nothing is
    written unless all files can be read.
    """
    from hcasim.catalog import CatalogError
    from hcasim.ground.writing import write_atomically
    from hcasim.traces import Source, import_trace, merge, render

    faults: list[str] = []
    hints = _hints(given, faults)
    in_folder = output is not None and (output.endswith("/") or leads_to(Path(output), Path.is_dir))
    targets = [] if output is None else [Path(output)]
    if output is not None and in_folder:
        targets = [Path(output) / f"{_stem(name)}{ENDING}" for name in files]
    faults += _option_faults(files, targets, form, in_folder)
    refuse(*faults)
    traces: list[tuple[str, Trace]] = []
    for name in files:
        try:
            traces.append((name, import_trace(Source(_shown(name), _read(name)), form, hints)))
        except CatalogError as error:
            faults += error.faults
    refuse(*faults)
    shown = [(_shown(name), trace) for name, trace in traces]
    if targets:
        found = [trace for _, trace in traces] if in_folder else [merge(traces)]
        shown = [(str(path), trace) for path, trace in zip(targets, found, strict=True)]
        texts = [render(trace) for trace in found]
        for path, text, trace in zip(targets, texts, found, strict=True):
            write_atomically(path, text)
            count = len(trace.points)
            note(f"Wrote {count} point{'s' if count != 1 else ''} to {path}")
            _print_notes(trace)
    if as_json:
        from hcasim.schemas.documents import ImportDocument

        print_json({**ImportDocument.head(), "traces": [_to_dict(*one) for one in shown]})
    elif not targets:
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


def _option_faults(
    files: tuple[str, ...], targets: list[Path], form: str, in_folder: bool
) -> list[str]:
    from hcasim.ground.errors import Fault, nearest, one_of
    from hcasim.traces import FORMATS

    faults: list[str] = []
    if form and form not in FORMATS:
        faults.append(Fault("--format", form, one_of(FORMATS), nearest(form, FORMATS)))
    for name in dict.fromkeys(files):
        if files.count(name) > 1:
            faults.append(f"{_shown(name)}: named {files.count(name)} times; allowed: once")
    if targets == [Path(STDIN)]:
        return [*faults, "--output: found '-'; allowed: a file or a folder; --json prints"]
    faults += [
        f"--output: {target} would be written {targets.count(target)} times; rename a file"
        for target in dict.fromkeys(targets)
        if targets.count(target) > 1
    ]
    if targets and not in_folder and targets[0].suffix != ENDING:
        found = f"found {str(targets[0])!r}"
        faults.append(f"--output: {found}; allowed endings: {ENDING}, or a FOLDER/")
    return [*faults, *output_faults(Output("--output", one) for one in dict.fromkeys(targets))]


def _stem(name: str) -> str:
    return "stdin" if name == STDIN else Path(name).name.removesuffix(ENDING)


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
