"""`hcasim show`: one thing, resolved."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import note_unused
from hcasim.cli.command import Command, Faults, calibration_option
from hcasim.cli.naming import ADAPTER, HOST, SHOWN, SWITCH
from hcasim.cli.output import note, print_json
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from hcasim.catalog import Parameter, Value
    from hcasim.workloads import Workload

# The first word of the paths that --set takes.
_PREFIXES = {"adapters": "adapter.", "hosts": "host.", "switches": "switch.", "stacks": "stack."}


@click.command("show", cls=Command)
@click.argument("identifier", metavar="ID", type=SHOWN)
@click.option(
    "--adapter",
    metavar="ID",
    type=ADAPTER,
    help="Of a testbed: with this adapter, by its id or file.",
)
@click.option(
    "--host", metavar="ID", type=HOST, help="Of a testbed: with this host, by its id or file."
)
@click.option(
    "--switch",
    metavar="ID",
    type=SWITCH,
    help="Of a testbed: with this switch instead of its own or between its two hosts.",
)
@calibration_option
@click.option(
    "--grep", "word", metavar="WORD", help="Of a model or testbed: only lines that have this word."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    identifier: str,
    adapter: str | None,
    host: str | None,
    switch: str | None,
    calibration: Path | None,
    word: str | None,
    as_json: bool,
) -> None:
    """Show a model, testbed or scenario: each value with its evidence and source.

    ID may be a file: ./my.toml. The paths are those that bench --set takes. Of a workload, its
    options and their defaults are shown.
    """
    from hcasim.catalog import find_kind
    from hcasim.catalog.folders import is_path
    from hcasim.workloads import find_workload

    workload = find_workload(identifier)
    is_scenario = "/" in identifier
    if is_path(identifier, "scenarios"):
        is_scenario = find_kind(identifier) == "scenarios"
    if is_scenario or workload is not None:
        what = "scenarios" if is_scenario else "workloads"
        given: dict[str, object] = {"adapter": adapter, "host": host, "switch": switch}
        given |= {"calibration": calibration, "grep": word}
        for name in (name for name, value in given.items() if value is not None):
            raise click.UsageError(f"--{name} is for models and testbeds, not for {what}")
    if workload is not None:
        _show_workload(workload, as_json)
    elif is_scenario:
        _show_scenario(identifier, as_json)
    else:
        _show_model(identifier, adapter, host, switch, calibration, word, as_json)


def _show_workload(workload: Workload, as_json: bool) -> None:
    from hcasim.workloads.options import OPTIONS

    rows = [
        (name, getattr(workload.defaults, name), one.help)
        for name, one in OPTIONS.items()
        if name in workload.options
    ]
    if as_json:
        _print_json(
            "workloads",
            id=workload.name,
            title=workload.title,
            measures=workload.fields,
            options={name: value for name, value, _ in rows},
        )
        return
    print_table(
        f"{workload.name}: {workload.title}; measures {', '.join(workload.fields)}",
        ("option", "default", "meaning"),
        [(f"--{name.replace('_', '-')}", _plain(value), text) for name, value, text in rows],
    )


def _print_json(kind: str, **parts: Any) -> None:
    from hcasim.schemas.documents import ShowHead

    print_json({**ShowHead.head(), "kind": kind, **parts})


def _plain(value: bool | int | str) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _show_model(
    identifier: str,
    adapter: str | None,
    host: str | None,
    switch: str | None,
    file: Path | None,
    word: str | None,
    as_json: bool,
) -> None:
    from hcasim.calibrate.file.reading import read_calibration
    from hcasim.catalog import find_kind, load, resolve

    kind = find_kind(identifier)
    groups: dict[str, str] = {}
    asked = {"adapter": adapter, "host": host, "switch": switch}
    if kind == "testbeds":
        name = identifier
        machine = resolve(name, adapter=adapter, host=host, switch=switch or True)
        identifier = machine.id
        calibration = None if file is None else read_calibration(file)
        if calibration is not None:
            used = machine.adapter.id
            own = calibration.parts(identifier, used)
            host = host or own["host"]
            settings = calibration.overrides(identifier, used, host=host)
            note_unused(calibration, identifier, used, own["stack"], host)
            base = calibration.base() if calibration.is_of(identifier, used) else {}
            machine = resolve(
                name,
                adapter=adapter,
                host=host,
                overrides=settings,
                mtu=base.get("mtu"),
                switch=switch or not base.get("no_switch"),
                stack=own["stack"],
            )
        title, parameters = machine.title, machine.parameters
        if calibration is not None:
            parameters = calibration.marked(machine)
        extra = {"adapter": machine.adapter.id, "host": machine.host.id, "stack": machine.stack.id}
        if len(machine.groups) > 1:
            extra = {}
            groups = {
                one.name: f"{one.count} x {one.host.id} with {one.adapter.id}, {one.stack.id}"
                for one in machine.groups
            }
        if machine.switch is not None:
            extra["switch"] = machine.switch.id
    elif other := next((n for n, v in asked.items() if v is not None), None):
        raise click.UsageError(f"--{other} is for testbeds; {identifier} is one of the {kind}")
    else:
        loaded = load(identifier, kind)
        calibration = None if file is None else read_calibration(file)
        title, parameters, extra = loaded.model.title, loaded.parameters, {}
        identifier = loaded.model.id
        if calibration is not None:
            start = f"{kind}.{identifier}."
            if not any(path.startswith(start) for path in calibration.entries):
                note(f"{file}: nothing of {identifier} was fitted")
            parameters = tuple(calibration.mark(one, start + one.path) for one in parameters)
    prefix = _PREFIXES.get(kind, "")
    shown = {prefix + one.path: one for one in parameters}
    if word is not None:
        shown = {
            path: one
            for path, one in shown.items()
            if word.lower() in "\n".join(_cells(path, one)).lower()
        }
        if not shown:
            raise Faults([f"--grep: found no {word!r} in {identifier}"])
    if as_json:
        several = {"groups": groups} if groups else {}
        rows = [_parameter(path, one) for path, one in shown.items()]
        _print_json(kind, id=identifier, title=title, **several, **extra, parameters=rows)
        return
    parts = ", ".join(f"{name} {part}" for name, part in {**groups, **extra}.items())
    print_table(
        f"{identifier}: {title}" + (f" ({parts})" if parts else ""),
        ("path", "value", "evidence", "source"),
        (_cells(path, one) for path, one in shown.items()),
    )


def _cells(path: str, parameter: Parameter[Value]) -> tuple[str, ...]:
    ends = "" if parameter.ends is None else f" ({' to '.join(parameter.ends)})"
    return path, parameter.text + ends, parameter.evidence, parameter.origin


def _parameter(path: str, parameter: Parameter[Value]) -> dict[str, Any]:
    return {
        "path": path,
        "value": parameter.value,
        "text": parameter.text,
        "unit": parameter.unit,
        "evidence": parameter.evidence,
        "source": parameter.source,
        "interval": None if parameter.interval is None else list(parameter.interval),
        "claims": list(parameter.claims),
        "inherited_from": parameter.inherited_from or None,
    }


def _show_scenario(identifier: str, as_json: bool) -> None:
    from hcasim.papers.loader import load_scenario
    from hcasim.papers.plan import plan_papers
    from hcasim.papers.roles import standings
    from hcasim.workloads.options import AXES

    scenario = load_scenario(identifier)
    found = standings(plan_papers([scenario]))
    if as_json:
        shown = scenario.model_dump(mode="json", exclude_none=True)
        for claim in shown["claims"]:
            claim["role"] = found[claim["id"]].role
        _print_json("scenarios", **shown)
        return
    options: dict[str, Any] = scenario.options.model_dump(exclude_none=True)
    for name in AXES.keys() & scenario.options.chosen.keys():
        values = map(AXES[name].label, scenario.options.chosen[name])
        options["sizes" if name == "size" else name] = " ".join(values)
    options = {"testbed": scenario.testbed, "workload": scenario.workload, **options}
    title = f"{scenario.id}: {scenario.title} ({scenario.place})"
    print_table(title, ("option", "value"), ((name, str(one)) for name, one in options.items()))
    click.echo()
    series = {name: one.model_dump(exclude_none=True) for name, one in scenario.series.items()}
    columns = list(dict.fromkeys(key for one in series.values() for key in one if one[key] != ""))
    print_table(
        "Series",
        ("series", *columns),
        ((name, *(str(one.get(key, "")) for key in columns)) for name, one in series.items()),
    )
    click.echo()
    claims: Iterable[tuple[str, ...]] = (
        (one.id, found[one.id].role, one.system, one.statement, _published(one.published), one.unit)
        for one in scenario.claims
    )
    print_table("Claims", ("claim", "role", "system", "statement", "published", "unit"), claims)


def _published(published: object) -> str:
    if isinstance(published, tuple):
        return f"{published[0]:g} to {published[1]:g}"
    return f"{published:g}" if isinstance(published, float) else str(published)
