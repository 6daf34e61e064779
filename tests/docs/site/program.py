"""What the program says of itself, as pages: commands, workloads, quantities, entry points."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import hcasim as hc
from hcasim.cli.main import COMMANDS, app
from hcasim.ground.quantities import QUANTITIES, title
from hcasim.workloads import WORKLOADS
from hcasim.workloads.options import OPTIONS
from hcasim.workloads.workload import Workload
from tests.docs.site.markdown import beside, code, contents, page, plain, prose, slug, table

PAGES = Path(__file__).parent / "pages"


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    for name in COMMANDS:
        yield f"reference/commands/{name}", _command(name)
    rows = [
        (f"[`hcasim {one}`](/reference/commands/{one}.md)", plain(COMMANDS[one]))
        for one in COMMANDS
    ]
    yield (
        "reference/commands/index",
        page(
            "Commands",
            "`hcasim COMMAND --help` prints the same.",
            table(("command", "what it does"), rows),
            "[Options](/reference/commands/options.md) says which commands take which.",
            contents([*COMMANDS, "options"], hidden=True),
        ),
    )
    yield "reference/commands/options", _options()
    yield from _workloads()
    yield "reference/quantities", _quantities()
    yield "reference/python/index", _entry_points()


def _command(name: str) -> str:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    context = click.Context(command, info_name=f"hcasim {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    rows = []
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if isinstance(one, click.Option) and record:
            rows.append((code(record[0]), plain(record[1])))
    return page(
        f"hcasim {name}",
        f"```text\nhcasim {name} {usage}\n```",
        prose(inspect.cleandoc(command.help or "")),
        "## Options",
        table(("option", "meaning"), rows),
    )


def _options() -> str:
    """Say of each option which commands take it, those of most commands first."""
    takers: dict[str, list[str]] = {}
    for name in COMMANDS:
        command = app.get_command(click.Context(app), name)
        assert command is not None
        for one in command.params:
            if isinstance(one, click.Option):
                takers.setdefault(max(one.opts, key=len), []).append(name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for option, names in takers.items():
        groups.setdefault(tuple(names), []).append(option)
    rows = [
        (
            " ".join(map(code, options)),
            ", ".join(f"[`{one}`](/reference/commands/{one}.md)" for one in names),
        )
        for names, options in sorted(groups.items(), key=lambda group: -len(group[0]))
    ]
    told = "Each option, with the commands that take it."
    return page("Options by command", told, table(("options", "commands"), rows))


def _workloads() -> Iterator[tuple[str, str]]:
    groups: dict[str, list[Workload]] = {}
    for one in WORKLOADS.values():
        groups.setdefault(_method(one)[0].__name__, []).append(one)
    listed = []
    for module, several in groups.items():
        name = slug(module.removeprefix("hcasim.workloads."))
        said = inspect.cleandoc(sys.modules[module].__doc__ or "")
        head = ", ".join(one.name for one in several[:3]) + (" …" if len(several) > 3 else "")
        parts = [_workload(one) for one in several]
        if len(several) == 1:
            # The page bears its name already.
            parts = [parts[0].partition("\n")[2]]
        back = "[Workloads](index.md)"
        yield f"reference/workloads/{name}", beside(page(head, back, prose(said), *parts))
        for one in several:
            link = f"[`{one.name}`](/reference/workloads/{name}.md#{slug(one.name)})"
            listed.append((link, plain(one.title), ", ".join(map(code, one.fields))))
    columns = ("workload", "what it does", "measures")
    yield "reference/workloads/index", page("Workloads", table(columns, listed))


def _workload(workload: Workload) -> str:
    _, said = _method(workload)
    rows = [
        (code(f"--{name.replace('_', '-')}"), code(_word(workload, name)), plain(one.help))
        for name, one in OPTIONS.items()
        if name in workload.options
    ]
    return page(
        f"## {workload.name}",
        f"{plain(workload.title)}; measures {', '.join(map(code, workload.fields))}.",
        prose(said),
        table(("option", "default", "meaning"), rows),
    )


def _word(workload: Workload, name: str) -> str:
    value = getattr(workload.defaults, name)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _method(workload: Workload) -> tuple[Any, str]:
    """Find the module that runs a workload, and what its function says."""
    found = workload.function
    if workload.program == "flows.perftest":
        # perftest's tests say what they do in the room that they share.
        return importlib.import_module("hcasim.workloads.perftest"), ""
    return sys.modules[found.__module__], inspect.getdoc(found) or ""


def _quantities() -> str:
    rows = [
        (
            code(name),
            code(one.field),
            plain(title(one.field)),
            ", ".join(map(code, filter(None, one.units))),
            one.best.__name__,
            code(one.trace[0] if one.trace else ""),
        )
        for name, one in QUANTITIES.items()
    ]
    columns = ("quantity", "in a row", "title", "units of claims", "best", "in a trace")
    told = "What benchmarks measure, and how it is named in rows of results, claims and traces."
    return page("Quantities", told, table(columns, rows))


def _entry_points() -> str:
    lines = [".. automodule:: hcasim", ""]
    for name in hc.__all__:
        is_type = isinstance(getattr(hc, name), type)
        lines += [f".. auto{'exception' if is_type else 'function'}:: hcasim.{name}"]
        lines += ["   :members:"] * is_type
    rooms = sorted(one.stem for one in (PAGES / "reference/python").glob("*.rst"))
    text = "\n".join(lines)
    return page("hcasim from Python", f"```{{eval-rst}}\n{text}\n```", contents(rooms, hidden=True))
