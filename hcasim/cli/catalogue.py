"""`hcasim list`: what there is."""

from __future__ import annotations

import click

from hcasim.cli.command import Command
from hcasim.cli.output import print_json, print_table

SECTIONS = ("models", "scenarios", "calibrations", "workloads")


@click.command("list", cls=Command)
@click.argument("what", type=click.Choice(SECTIONS), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(what: str | None, as_json: bool) -> None:
    """List models, scenarios, calibrations and workloads."""
    readers = {
        "models": _models,
        "scenarios": _scenarios,
        "calibrations": _calibrations,
        "workloads": _workloads,
    }
    found = {name: readers[name]() for name in ([what] if what else SECTIONS)}
    if as_json:
        print_json(found)
        return
    for number, (name, rows) in enumerate(found.items()):
        if number:
            click.echo()
        columns = list(rows[0]) if rows else ["id"]
        print_table(name.capitalize(), columns, ([*row.values()] for row in rows))


def _models() -> list[dict[str, str]]:
    from hcasim.catalog import MODELS, list_ids

    return [
        {"id": name, "kind": kind, "title": _title("models", kind, f"{name}.toml")}
        for kind in MODELS
        for name in list_ids(kind)
    ]


def _scenarios() -> list[dict[str, str]]:
    from hcasim.papers.scenario import list_scenarios, load_scenario

    scenarios = map(load_scenario, list_scenarios())
    return [{"id": one.id, "workload": one.workload, "title": one.title} for one in scenarios]


def _calibrations() -> list[dict[str, str]]:
    from hcasim.catalog import list_ids

    return [
        {"id": name, "title": _title("calibration", "fits", f"{name}.toml")}
        for name in list_ids("calibrations")
    ]


def _workloads() -> list[dict[str, str]]:
    from hcasim.workloads import WORKLOADS

    return [
        {"id": one.name, "measures": ", ".join(one.fields), "title": one.title}
        for one in WORKLOADS.values()
    ]


def _title(*parts: str) -> str:
    from hcasim.catalog import data_path, read_toml

    return str(read_toml(data_path(*parts)).get("title", ""))
