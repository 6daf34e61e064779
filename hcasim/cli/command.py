"""What all commands share: how they report faults, and how they are interrupted."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from hcasim.cli.naming import Setting
from hcasim.cli.output import note
from hcasim.cli.outputs import guarded
from hcasim.cli.tables import WIDE

WORDS = "hcasim.words"
"""What `click.Context.meta` has of a command: the words that it was given."""


class Faults(click.ClickException):
    """Bad input, with every fault on a line of its own.

    Parameters:
        faults: one line each.
    """

    exit_code = 2

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join(self.faults))

    @property
    def lines(self) -> list[str]:
        """What is printed of them."""
        return [f"Error: {fault}" for fault in self.faults]


Decorated = Callable[..., Any]


def options(*given: Decorated) -> Decorated:
    """Return what gives a command options, which its help has in this order."""

    def give(command: Decorated) -> Decorated:
        for option in reversed(given):
            command = option(command)
        return command

    return give


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    help="Print the traceback of an error that nobody expected.",
)


def _keep(ctx: click.Context, param: click.Parameter, wide: bool) -> None:
    ctx.meta[WIDE] = wide


_wide_option = click.option(
    "--wide",
    is_flag=True,
    expose_value=False,
    callback=_keep,
    help="Print each table in one piece, however wide it is; a pipe always gets that.",
)


@contextlib.contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print what libraries warn of as notes: a line each, in which nothing steers a terminal."""
    import logging

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(f"Warning: {record.getMessage()}")

    handler = Notes(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: note(f"Warning: {message}")
            yield
    finally:
        logging.getLogger().removeHandler(handler)


class Command(click.Command):
    """A command whose bad input becomes a message instead of a traceback.

    Parameters:
        tables: whether it prints any.
    """

    def __init__(self, *words: Any, tables: bool = True, **settings: Any) -> None:
        super().__init__(*words, **settings)
        if tables:
            _wide_option(self)
        debug_option(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what was left empty, such as --adapter "$NAME" without a name."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        ctx.meta[WORDS] = [*args]
        given, _, order = self.make_parser(ctx).parse_args([*args])
        faults = []
        for one in dict.fromkeys(order):
            found = given.get(one.name)
            if "" in (found if isinstance(found, list | tuple) else [found]):
                name = one.human_readable_name if isinstance(one, click.Argument) else one.opts[-1]
                faults.append(f"{name}: found ''; allowed: one that is not empty")
        if faults:
            raise Faults(faults)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        from hcasim.catalog import CatalogError
        from hcasim.catalog.loader import each_file_once

        try:
            with _warnings_as_notes(), guarded(), each_file_once():
                return super().invoke(ctx)
        except CatalogError as error:
            raise Faults(error.faults) from None


def _use_scheduler(ctx: click.Context, param: click.Parameter, address: str | None) -> None:
    if address is not None and not ctx.resilient_parsing:
        from hcasim.runs.executor import on_scheduler

        ctx.with_resource(on_scheduler(address))


jobs_option = options(
    click.option(
        "-j",
        "--jobs",
        metavar="N",
        type=click.IntRange(min=1),
        help="Processes to use (default: all processors).",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        expose_value=False,
        callback=_use_scheduler,
        help="Use the workers of a Dask scheduler: tcp://HOST:PORT, or the file it has written.",
    ),
)
"""Give a command the options that say where it simulates."""

no_cache_option = click.option(
    "--no-cache",
    is_flag=True,
    help="Simulate all, also what an earlier run has simulated, and keep nothing of it.",
)

timing_option = click.option(
    "--no-timing",
    "timing",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Leave times out of JSON and of --profile, which are then the same each time.",
)

profile_option = click.option(
    "--profile",
    is_flag=True,
    help="Also what simulating cost: events, packets and time, by block.",
)

profile_of_all_option = click.option(
    "--profile",
    is_flag=True,
    help="Also what simulating cost: events, packets and time, by block; with --no-cache.",
)

settings_option = click.option(
    "--set",
    "settings",
    metavar="PATH=VALUE",
    type=Setting(),
    multiple=True,
    help="What if: a parameter by the path that show prints. Repeatable.",
)

calibration_option = click.option(
    "--calibration",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Take the values that calibrate has written to this file.",
)


def read_settings(settings: Iterable[str], faults: list[str]) -> dict[str, str]:
    """Read what `settings_option` was given; the parameters are those of `read_pairs`."""
    return read_pairs("--set", settings, faults, "PATH=VALUE")


def read_pairs(
    option: str, given: Iterable[str], faults: list[str], allowed: str = "NAME=VALUE"
) -> dict[str, str]:
    """Read what an option was given that is repeatable.

    Parameters:
        option: such as "--set".
        given: such as "adapter.bus.lanes=4".
        faults: gets a line for each that cannot be read or contradicts another.
        allowed: how each is written.
    """
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = (part.strip() for part in one.partition("="))
        # Options are also written as on the command line.
        name = name if "." in name else name.replace("-", "_")
        if not (name and equals and value):
            faults.append(f"{option}: found {one!r}; allowed: {allowed}")
        elif found.setdefault(name, value) != value:
            faults.append(f"{option}: found {name} twice, as {found[name]} and {value}")
    return found
