"""Words of the command line that name something: they complete, and list what there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


class Named(click.types.StringParamType):
    """The id of something that there is, or the path of a file; which it is, the command checks.

    Parameters:
        known: returns what there is, by what it is.
        path: whether the path of a file may stand there.
    """

    name = "id"

    def __init__(self, known: Callable[[], Sequence[str]], *, path: bool = False) -> None:
        self._known = known
        self._path = path

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        from hcasim.ground.errors import one_of

        known = self._known()
        return f"Allowed: {one_of([*known, 'the path of a file'] if self._path else known)}."

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from hcasim.ground.errors import CatalogError

        try:
            found = [name for name in self._known() if name.startswith(incomplete)]
        except CatalogError:
            # A message would stand in the middle of what is being written.
            found = []
        if found or not self._path:
            return [CompletionItem(name) for name in found]
        return [CompletionItem(incomplete, type="file")]


class Workload(Named):
    """The name of a benchmark, also as perftest's programs have it."""

    name = "workload"

    def __init__(self) -> None:
        super().__init__(_workloads)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        own = value.removeprefix("ib_")
        return own if own in _workloads() else value


class Setting(click.types.StringParamType):
    """A parameter of the machine that the other words name.

    Parameters:
        equals: a value follows.
    """

    name = "setting"

    def __init__(self, *, equals: bool = True) -> None:
        self._equals = equals

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from hcasim.catalog import resolve
        from hcasim.ground.errors import CatalogError
        from hcasim.papers.loader import load_scenario

        testbed, adapter = ctx.params.get("testbed"), ctx.params.get("adapter")
        host = ctx.params.get("host")
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


def _ids(*kinds: str) -> Callable[[], list[str]]:
    def known() -> list[str]:
        from hcasim.catalog import list_ids

        return [name for kind in kinds for name in list_ids(kind)]

    return known


def _models() -> list[str]:
    from hcasim.catalog import MODELS

    return _ids(*MODELS)()


def _workloads() -> list[str]:
    from hcasim.workloads import WORKLOADS

    return list(WORKLOADS)


def _scenarios() -> list[str]:
    from hcasim.papers.loader import list_papers, list_scenarios

    return [*list_papers(), *list_scenarios()]


def _shown() -> list[str]:
    return [*_bases(), *_workloads()]


def _bases() -> list[str]:
    from hcasim.papers.loader import list_scenarios

    return [*_models(), *list_scenarios()]


TESTBED = Named(_ids("testbeds"), path=True)
ADAPTER = Named(_ids("adapters"), path=True)
HOST = Named(_ids("hosts"), path=True)
SWITCH = Named(_ids("switches"), path=True)
STACK = Named(_ids("stacks"), path=True)
SCENARIO = Named(_scenarios, path=True)
SHOWN = Named(_shown, path=True)
FITTED = Named(_ids("calibrations"), path=True)
BASE = Named(_bases, path=True)
FILE = click.Path(path_type=Path)
"""The path of a file."""
FILE.name = "file"
