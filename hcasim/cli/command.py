"""What all commands share: options that many have, what is refused, what libraries warn of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from hcasim.cli.naming import Setting
from hcasim.cli.output import WIDE, note
from hcasim.ground.errors import refuse

WORDS = "hcasim.words"
"""What `click.Context.meta` has of a command: the words that it was given."""

Decorated = Callable[..., Any]


def options(*given: Decorated) -> Decorated:
    """Give a command options, in this order."""

    def give(command: Decorated) -> Decorated:
        for option in reversed(given):
            command = option(command)
        return command

    return give


def option(words: str, text: str, **settings: Any) -> Decorated:
    """Give a command an option, written as "-j --jobs N" or "--no-timing timing", with its help."""
    names = [one for one in words.split() if one.startswith("-") or one.islower()]
    metavar = next(iter(words.split()[len(names) :]), None)
    return click.option(*names, help=text, **{"metavar": metavar, **settings})


def flag(words: str, text: str, **settings: Any) -> Decorated:
    """Return an option that is on or off; the parameters are those of `option`."""
    return option(words, text, is_flag=True, **settings)


debug_option = flag(
    "--debug", "Print the traceback of an error that nobody expected.", expose_value=False
)


def _keep(ctx: click.Context, param: click.Parameter, wide: bool) -> None:
    ctx.meta[WIDE] = wide


_wide_option = flag(
    "--wide",
    "Print each table in one piece, however wide it is; a pipe always gets that.",
    expose_value=False,
    callback=_keep,
)


class Command(click.Command):
    """A command that refuses empty words, and prints what libraries warn of as notes."""

    def __init__(self, *words: Any, tables: bool = True, **settings: Any) -> None:
        super().__init__(*words, **settings)
        if tables:
            _wide_option(self)
        debug_option(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what was left empty, such as --adapter "$NAME" without a name."""
        if not ctx.resilient_parsing:
            ctx.meta[WORDS] = [*args]
            given, _, order = self.make_parser(ctx).parse_args([*args])
            refuse(*(_empty(one, given.get(one.name)) for one in order))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        from hcasim.catalog.loader import each_file_once

        with warnings.catch_warnings(), each_file_once():
            warnings.showwarning = lambda message, *_, **__: note(f"Warning: {message}")
            return super().invoke(ctx)


def _empty(param: click.Parameter, found: Any) -> str:
    if "" not in (found if isinstance(found, list | tuple) else [found]):
        return ""
    name = param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
    return f"{name}: found ''; allowed: one that is not empty"


def _use_scheduler(ctx: click.Context, param: click.Parameter, address: str | None) -> None:
    if address is not None and not ctx.resilient_parsing:
        from hcasim.runs.executor import on_scheduler

        ctx.with_resource(on_scheduler(address))


jobs_option = options(
    option(
        "-j --jobs N", "Processes to use (default: all processors).", type=click.IntRange(min=1)
    ),
    option(
        "--scheduler ADDRESS",
        "Use the workers of a Dask scheduler: tcp://HOST:PORT, or the file it has written.",
        expose_value=False,
        callback=_use_scheduler,
    ),
)

no_cache_option = flag(
    "--no-cache", "Simulate all, also what an earlier run has simulated, and keep nothing of it."
)

timing_option = flag(
    "--no-timing timing",
    "Leave times out of JSON and of --profile, which are then the same each time.",
    flag_value=False,
    default=True,
)

profile_option = flag(
    "--profile",
    "Also what simulating cost: events, packets and time, by block; all is then simulated.",
)

running_options = options(no_cache_option, jobs_option)

measured_options = options(no_cache_option, profile_option, timing_option, jobs_option)

settings_option = option(
    "--set settings PATH=VALUE",
    "What if: a parameter by the path that show prints. Repeatable.",
    type=Setting(),
    multiple=True,
)

calibration_option = option(
    "--calibration FILE",
    "Take the values that calibrate has written to this file.",
    type=click.Path(path_type=Path, dir_okay=False),
)


def read_settings(settings: Iterable[str], faults: list[str]) -> dict[str, str]:
    """Read what `settings_option` was given."""
    return read_pairs("--set", settings, faults, "PATH=VALUE")


def read_pairs(
    option: str, given: Iterable[str], faults: list[str], allowed: str = "NAME=VALUE"
) -> dict[str, str]:
    """Read what a repeatable option was given, such as "adapter.bus.lanes=4".

    `faults` gets a line for each that cannot be read or contradicts another.
    """
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = (part.strip() for part in one.partition("="))
        # Options are also written as on the command line.
        name = name if "." in name else name.replace("-", "_")
        if not (name and equals and value):
            faults.append(f"{option}: found {one!r}; allowed: {allowed}")
        elif "=" in value and len(several := one.replace(",", " ").split()) > 1:
            each = " ".join(f"{option} {own}" for own in several)
            faults.append(f"{option}: found {one!r}; allowed: each by itself: {each}")
        elif found.setdefault(name, value) != value:
            faults.append(f"{option}: found {name} twice, as {found[name]} and {value}")
    return found
