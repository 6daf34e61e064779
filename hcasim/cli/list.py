"""`hcasim list`: what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from hcasim.cli.command import Command
from hcasim.cli.naming import ids
from hcasim.cli.output import print_table
from hcasim.cli.results import Wanted, result_options
from hcasim.ground.errors import refuse

SECTIONS = ("models", "scenarios", "calibrations", "workloads")


@click.command("list", cls=Command)
@click.argument("what", type=click.Choice(SECTIONS), required=False)
@result_options(plot=False)
def command(what: str | None, **given: Any) -> None:
    """List models, scenarios, calibrations and workloads."""
    from hcasim.runs.table import LISTINGS, Listing
    from hcasim.schemas.documents import ListDocument

    wanted = Wanted(given)
    refuse(*wanted.faults(endings=LISTINGS))
    found = {name: _rows(name) for name in ([what] if what else SECTIONS)}
    rows = [{"section": name, **row} for name, section in found.items() for row in section]
    listing = Listing("What hcasim has", rows, {**ListDocument.head(), **found})
    wanted.deliver(listing, lambda: _print(found))


def _print(found: Mapping[str, list[dict[str, str]]]) -> None:
    for name, rows in found.items():
        columns = list(rows[0]) if rows else ["id"]
        cells = ([*row.values()] for row in rows)
        print_table(name.capitalize(), columns, cells, below=name != next(iter(found)))


def _rows(section: str) -> list[dict[str, str]]:
    from hcasim.catalog import MODELS
    from hcasim.workloads import WORKLOADS

    if section == "workloads":
        return [
            {"id": one.name, "measures": ", ".join(one.fields), "title": one.title}
            for one in map(WORKLOADS.__getitem__, WORKLOADS.names())
        ]
    if section == "models":
        return [
            {"id": name, "kind": kind, **_file(name, kind)} for kind in MODELS for name in ids(kind)
        ]
    keys = ("workload",) if section == "scenarios" else ()
    return [{"id": name, **_file(name, section, *keys)} for name in ids(section)]


def _file(name: str, kind: str, *keys: str) -> dict[str, str]:
    from hcasim.catalog import CatalogError, find_file, folders, read_toml
    from hcasim.ground.errors import display

    file = find_file(name, kind)
    where = "hcasim" if file.is_relative_to(folders.shipped()) else display(file.parent)
    table: Mapping[str, Any] = {}
    fault = ""
    try:
        table = read_toml(file)
        if where != "hcasim":
            _check(name, kind)
    except CatalogError as error:
        fault = f"BROKEN: {error.faults[0]}"
    row = {key: str(table.get(key, "")) for key in (*keys, "title")}
    return row | {"title": fault or row["title"], "where": where}


def _check(name: str, kind: str) -> None:
    """Read a description of the user's own; what hcasim ships is sound."""
    from hcasim.catalog import load, load_fit
    from hcasim.papers.loader import load_scenario

    if kind == "scenarios":
        load_scenario(name)
    elif kind == "calibrations":
        load_fit(name)
    else:
        load(name, kind)
