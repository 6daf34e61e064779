"""`hcasim show`: one thing, resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import note_unused
from hcasim.cli.command import Command, calibration_option, option, settings_option
from hcasim.cli.experiment import machine_options, read_experiment
from hcasim.cli.naming import SHOWN
from hcasim.cli.output import note, print_table, word
from hcasim.cli.results import Wanted, result_options
from hcasim.ground.errors import Fault, nearest, refuse

if TYPE_CHECKING:
    from hcasim.catalog import Machine, Parameter, Value
    from hcasim.papers.scenario import Scenario
    from hcasim.runs.table import Listing
    from hcasim.workloads import Workload

# The first word of the paths that --set takes.
_PREFIXES = {"adapters": "adapter.", "hosts": "host.", "switches": "switch.", "stacks": "stack."}


@click.command("show", cls=Command)
@click.argument("identifier", metavar="ID", type=SHOWN)
@click.argument("path", required=False)
@machine_options(testbed=None)
@settings_option
@calibration_option
@option("--grep WORD", "Show only the lines of a model or testbed that have this word.")
@result_options(plot=False)
def command(identifier: str, **asked: Any) -> None:
    """Show a model, testbed or scenario: each value with its evidence and source.

    ID may be a file: ./my.toml. The paths are those that bench --set takes. With the PATH of a
    parameter or a section, such as adapter.send, it also says what they mean. Of a workload, its
    options and their defaults are shown.
    """
    from hcasim.catalog import find_kind
    from hcasim.catalog.folders import is_path
    from hcasim.runs.table import LISTINGS
    from hcasim.workloads import find_workload

    asked["settings"] = asked["settings"] or None
    wanted = Wanted(asked)
    refuse(*wanted.faults(endings=LISTINGS))
    workload = find_workload(identifier)
    is_scenario = "/" in identifier
    if is_path(identifier, "scenarios"):
        is_scenario = find_kind(identifier) == "scenarios"
    if workload is None and not is_scenario:
        found = _model(identifier, **asked)
    elif given := [name for name, value in asked.items() if value is not None]:
        option = "PATH" if given[0] == "path" else _option(given[0])
        what = "scenarios" if is_scenario else "workloads"
        raise click.UsageError(f"{option} is for models and testbeds, not for {what}")
    elif workload is None:
        _show_scenario(identifier, wanted)
        return
    else:
        found = _workload(workload)
    wanted.deliver(found, lambda: print_table(found.title, found.columns, found.lines()[1:]))


def _listing(
    heading: str, columns: Sequence[str], cells: Iterable[Sequence[str]], **data: Any
) -> Listing:
    from hcasim.runs.table import Listing
    from hcasim.schemas.documents import ShowHead

    rows = [dict(zip(columns, line, strict=True)) for line in cells]
    return Listing(heading, rows, {**ShowHead.head(), **data})


def _workload(workload: Workload) -> Listing:
    from hcasim.workloads.options import OPTIONS

    own = {name: one for name, one in OPTIONS.items() if name in workload.options}
    values = {name: getattr(workload.defaults, name) for name in own}
    table = f"; the tool's own sizes: --size {workload.table}" if workload.table else ""
    return _listing(
        f"{workload.name}: {workload.title}; measures {', '.join(workload.fields)}{table}",
        ("option", "default", "meaning"),
        ((f"--{n.replace('_', '-')}", word(values[n]), one.help) for n, one in own.items()),
        kind="workloads",
        id=workload.name,
        title=workload.title,
        measures=workload.fields,
        options=values,
    )


def _model(
    identifier: str,
    path: str | None,
    calibration: Path | None,
    grep: str | None,
    **parts: Any,
) -> Listing:
    from hcasim.calibrate.file.reading import read_calibration
    from hcasim.catalog import find_kind, load
    from hcasim.catalog.adapter import Adapter

    kind = find_kind(identifier)
    groups: dict[str, str] = {}
    used: dict[str, str] = {}
    if kind == "testbeds":
        machine, parameters = _testbed(identifier, calibration, parts)
        identifier, title = machine.id, machine.title
        if len(machine.groups) > 1:
            groups = {
                one.name: f"{one.count} x {one.host.id} with {one.adapter.id}, {one.stack.id}"
                for one in machine.groups
            }
        else:
            used = {name: getattr(machine, name).id for name in ("adapter", "host", "stack")}
        if machine.switch is not None:
            used["switch"] = machine.switch.id
    elif other := next((name for name, part in parts.items() if part is not None), None):
        raise click.UsageError(
            f"{_option(other)} is for testbeds; {identifier} is one of the {kind}"
        )
    else:
        loaded = load(identifier, kind)
        if isinstance(loaded.model, Adapter):
            used = {"stack": loaded.model.stack, "mpi_stack": loaded.model.mpi_stack}
        identifier, title, parameters = loaded.model.id, loaded.model.title, loaded.parameters
        if calibration is not None:
            fitted, start = read_calibration(calibration), f"{kind}.{identifier}."
            if not any(path.startswith(start) for path in fitted.entries):
                note(f"{calibration}: nothing of {identifier} was fitted")
            parameters = tuple(fitted.mark(one, start + one.path) for one in parameters)
    prefix = _PREFIXES.get(kind, "")
    found = {prefix + one.path: one for one in parameters}
    if path is not None:
        below = {name: one for name, one in found.items() if f"{name}.".startswith(f"{path}.")}
        hint = nearest(path, found)
        refuse(
            "" if below else Fault("PATH", path, f"a parameter or section of {identifier}", hint)
        )
        found = below
    columns = ("path", "value", *(("meaning",) if path else ()), "evidence", "source")
    cells = {name: [_CELLS[key](name, one) for key in columns] for name, one in found.items()}
    if grep is not None:
        cells = {name: row for name, row in cells.items() if grep.lower() in "\n".join(row).lower()}
        refuse("" if cells else f"--grep: found no {grep!r} in {identifier}")
    told = ", ".join(f"{name} {part}" for name, part in {**groups, **used}.items())
    told = told.replace("mpi_stack", "of MPI programs")
    several = {"groups": groups} if groups else {}
    return _listing(
        f"{identifier}: {title}" + (f" ({told})" if told else ""),
        columns,
        cells.values(),
        **{"kind": kind, "id": identifier, "title": title, **several, **used},
        parameters=[_parameter(name, found[name]) for name in cells],
    )


def _option(name: str) -> str:
    return "--set" if name == "settings" else f"--{name.replace('_', '-')}"


def _testbed(
    name: str, file: Path | None, parts: dict[str, Any]
) -> tuple[Machine, tuple[Parameter[Value], ...]]:
    from hcasim.calibrate.file.reading import read_calibration
    from hcasim.runs.experiment import Experiment

    faults: list[str] = []
    chosen = read_experiment({**parts, "settings": parts["settings"] or ()}, faults)
    refuse(*faults)
    asked = Experiment.of("", name, **chosen)
    machine = asked.machine()
    if file is None:
        return machine, machine.parameters
    calibration = read_calibration(file)
    which = machine.id, machine.adapter.id
    found = {**calibration.parts(*which), **chosen}
    note_unused(calibration, *which, found["stack"], found["host"])
    base = calibration.base() if calibration.is_of(*which) else {}
    switch = False if base.get("no_switch") else base.get("switch")
    taken = {"mtu": base.get("mtu"), "switch": switch, **found}
    settings = {one: value for one, value in taken.items() if one != "overrides"}
    values = calibration.overrides(*which, host=found["host"])
    machine = asked.with_(**settings).under(values).machine()
    return machine, calibration.marked(machine)


_CELLS: Mapping[str, Callable[[str, Parameter[Value]], str]] = {
    "path": lambda path, one: path,
    "value": lambda path, one: one.shown,
    "meaning": lambda path, one: one.meaning,
    "evidence": lambda path, one: one.evidence,
    "source": lambda path, one: one.origin,
}


def _parameter(path: str, parameter: Parameter[Value]) -> dict[str, Any]:
    from hcasim.catalog.plausible import plausible
    from hcasim.ground.units import UNITS

    names = ("value", "text", "unit", "evidence", "source", "interval", "claims", "meaning")
    found = {name: getattr(parameter, name) for name in names}
    if unit := UNITS.get(parameter.unit):
        ends = parameter.interval and [unit.number(end) for end in parameter.interval]
        value = unit.number(int(parameter.value))
        found |= {"value": value, "unit": unit.zero, "interval": ends}
    if (likely := plausible(parameter)) is not None:
        found["plausible"] = {"low": likely.low, "high": likely.high, "reason": likely.reason}
    return {"path": path, **found, "inherited_from": parameter.inherited_from or None}


def _show_scenario(identifier: str, wanted: Wanted) -> None:
    from hcasim.papers.evidence import lines_of, rests_of
    from hcasim.papers.loader import load_scenario
    from hcasim.papers.plan import plan_papers
    from hcasim.papers.roles import standings

    scenario = load_scenario(identifier)
    found = standings(plan_papers([scenario]))
    rests = rests_of(scenario, lines_of(scenario))
    shown = scenario.model_dump(mode="json", exclude_none=True)
    for claim in shown["claims"]:
        own = found[claim["id"]]
        claim |= {"role": own.role, "basis": own.basis}
        if claim["id"] in rests:
            claim["rests"] = rests[claim["id"]].to_dict()
    names = ("claim", "role", "system", "statement", "published", "unit")
    claims = [
        (
            one.id,
            found[one.id].label,
            one.system,
            one.statement,
            _published(one.published),
            one.unit,
        )
        for one in scenario.claims
    ]
    title = f"{scenario.id}: {scenario.title} ({scenario.place})"

    def show() -> None:
        _print_scenario(scenario, title)
        print_table("Claims", names, claims, below=True)
        columns = ("claim", "parameter", "value", "turns at", "evidence", "informed by")
        rows: list[tuple[str, ...]] = [
            (name, one.name, one.value, one.turns, one.evidence, " ".join(one.informed))
            for name, own in rests.items()
            for one in own.decisive.values()
        ]
        for name, own in rests.items():
            rows += [(name, path, "", "with twice its range", "", "") for path in own.doubled]
            rows += [(name, path, "", "with the other", "", "") for path in own.together]
        if rows:
            print_table("What could overturn a claim", columns, rows, below=True)

    wanted.deliver(_listing(title, names, claims, kind="scenarios", **shown), show)


def _print_scenario(scenario: Scenario, title: str) -> None:
    from hcasim.workloads.options import AXES

    options: dict[str, Any] = scenario.options.model_dump(exclude_none=True)
    chosen = scenario.options.chosen
    for name in filter(chosen.__contains__, AXES):
        values = map(AXES[name].label, chosen[name])
        options["sizes" if name == "size" else name] = " ".join(values)
    options = {"testbed": scenario.testbed, "workload": scenario.workload, **options}
    print_table(title, ("option", "value"), ((name, str(one)) for name, one in options.items()))
    series = {name: one.model_dump(exclude_none=True) for name, one in scenario.series.items()}
    columns = list(dict.fromkeys(key for one in series.values() for key in one if one[key] != ""))
    print_table(
        "Series",
        ("series", *columns),
        ((name, *(str(one.get(key, "")) for key in columns)) for name, one in series.items()),
        below=True,
    )


def _published(published: object) -> str:
    if isinstance(published, tuple):
        return f"{published[0]:g} to {published[1]:g}"
    return f"{published:g}" if isinstance(published, float) else str(published)
