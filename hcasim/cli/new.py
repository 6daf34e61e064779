"""`hcasim new`: a file that a description of one's own begins with."""

from __future__ import annotations

import re
from pathlib import Path

import click

from hcasim.cli.command import Command, option
from hcasim.cli.naming import BASE
from hcasim.cli.output import note
from hcasim.ground.errors import refuse

_KINDS = {
    "adapter": "adapters",
    "host": "hosts",
    "switch": "switches",
    "stack": "stacks",
    "testbed": "testbeds",
    "scenario": "scenarios",
    "notebook": "notebooks",
}
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,99}", re.ASCII)


@click.command("new", cls=Command, tables=False)
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("name")
@option("--based-on base ID", "What it resembles: id, as list says, or file.", type=BASE)
@option(
    "-o --output folder FOLDER",
    "Where to write NAME.toml, or NAME.ipynb (default: the current folder).",
    type=click.Path(path_type=Path),
    default=Path(),
)
def command(kind: str, name: str, base: str | None, folder: Path) -> None:
    """Write a file that a description of your own begins with.

    As it is, it is the same as what it is based on. Every parameter is in it as a comment, with its
    meaning, what is allowed, and the value and source that hold until you change them. A scenario
    measures the same as another, without the claims of its paper. A notebook is a copy of one that
    hcasim brings.
    """
    from hcasim.catalog import data_path, list_ids, one_of
    from hcasim.ground.errors import Fault, nearest
    from hcasim.ground.reading import leads_to
    from hcasim.ground.writing import write_atomically
    from hcasim.papers.loader import list_scenarios
    from hcasim.papers.starting import starting_file

    notebooks = {file.stem: file for file in sorted(data_path("notebooks").glob("*.ipynb"))}
    copied = kind == "notebook"
    if copied:
        known = list(notebooks)
    else:
        known = list_scenarios() if kind == "scenario" else list_ids(_KINDS[kind])
    file = folder / f"{name}.{'ipynb' if copied else 'toml'}"
    faults = []
    if not _NAME.fullmatch(name):
        faults.append(f"NAME: found {name!r}; allowed: letters, digits, - and _")
    elif name in known and not copied:
        faults.append(f"NAME: found {name!r}, which there is; allowed: any but {one_of(known)}")
    elif leads_to(file) or leads_to(file, Path.is_symlink):
        faults.append(f"{file}: exists; choose another name or folder")
    if not leads_to(folder, Path.is_dir):
        faults.append(f"--output: found {str(folder)!r}, which is no folder")
    allowed = one_of(known if copied else [*known, "the path of a file"])
    if base is None:
        faults.append(f"--based-on: missing; allowed: {allowed}")
    elif copied and base not in notebooks:
        faults.append(Fault("--based-on", base, allowed, nearest(base, known)))
    refuse(*faults)
    assert base is not None
    if copied:
        text = notebooks[base].read_text(encoding="utf-8")
    else:
        text = starting_file(_KINDS[kind], name, base, folder)
    write_atomically(file, text)
    note(f"Wrote {file}")
