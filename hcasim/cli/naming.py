"""Words of the command line that name something: they complete, and list what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from hcasim.ground.errors import CatalogError, one_of


class Named(click.types.StringParamType):
    """An id of some kinds, as `ids` takes them, or the path of a file; the command checks which."""

    name = "id"

    def __init__(self, *kinds: str, path: bool = True) -> None:
        self._kinds = kinds
        self._path = path

    def _known(self) -> list[str]:
        return [name for kind in self._kinds for name in ids(kind)]

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        more = ["the path of a file"] if self._path else []
        return f"Allowed: {one_of([*self._known(), *more])}."

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            found = [name for name in self._known() if name.startswith(incomplete)]
        except CatalogError:
            # A message would stand in the middle of what is being written.
            found = []
        if found or not self._path:
            return [*map(CompletionItem, found)]
        return [CompletionItem(incomplete, type="file")]


class Workload(Named):
    """The name of a benchmark, also as perftest's programs have it."""

    name = "workload"

    def __init__(self) -> None:
        super().__init__("workloads", path=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        own = value.removeprefix("ib_")
        return own if own in ids("workloads") else value


class Setting(click.types.StringParamType):
    """A parameter of the machine that the other words name; with `equals` a value follows."""

    name = "setting"

    def __init__(self, *, equals: bool = True) -> None:
        self._equals = equals

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from hcasim.catalog import resolve
        from hcasim.papers.loader import load_scenario

        testbed, adapter, host = (ctx.params.get(name) for name in ("testbed", "adapter", "host"))
        try:
            # They are not yet taken for what they are while a word is being written.
            for name in ctx.args if "scenarios" in ctx.params else ():
                testbed = testbed or load_scenario(name).testbed
            machine = resolve(testbed, adapter=adapter, host=host) if testbed else None
        except CatalogError:
            machine = None
        return [
            CompletionItem(one.path + "=" * self._equals, help=f"{one.text} ({one.evidence})")
            for one in (machine.parameters if machine else ())
            if one.path.startswith(incomplete)
        ]


def ids(kind: str) -> list[str]:
    """Return the ids of a kind of descriptions, of all models, or of papers or workloads."""
    if kind == "workloads":
        from hcasim.workloads import WORKLOADS

        return WORKLOADS.names()
    if kind in ("papers", "scenarios"):
        from hcasim.papers.loader import list_papers, list_scenarios

        return list_papers() if kind == "papers" else list_scenarios()
    from hcasim.catalog import MODELS, list_ids

    return [name for one in (MODELS if kind == "models" else (kind,)) for name in list_ids(one)]


TESTBED = Named("testbeds")
ADAPTER = Named("adapters")
HOST = Named("hosts")
SWITCH = Named("switches")
STACK = Named("stacks")
SCENARIO = Named("papers", "scenarios")
SHOWN = Named("models", "scenarios", "workloads")
FITTED = Named("calibrations")
BASE = Named("models", "scenarios")
FILE = click.Path(path_type=Path)
FILE.name = "file"
