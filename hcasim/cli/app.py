"""The hcasim command: finds its subcommands lazily and ends in one place."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from hcasim import __version__

COMMANDS = {
    "list": "catalogue",
    "show": "show",
    "run": "run",
    "reproduce": "reproduce",
    "bench": "bench",
}
"""Each command and the module in this package that holds it."""

INTERRUPTED = 130
BROKEN_PIPE = 141


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"hcasim.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(unknown_command(args[0]), ctx)
        return super().resolve_command(ctx, args)


def unknown_command(name: str) -> str:
    """Say that a command is unknown, and which is meant."""
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"found no command {name!r}; allowed: {', '.join(COMMANDS)}{hint}"


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hcasim", message="%(prog)s %(version)s")
def app() -> None:
    """Predict how an RDMA adapter performs in a given machine.

    hcasim simulates the adapter, its bus, its host and the fabric, and replays published
    experiments beside what their authors measured.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0, 1 (a claim is missed), 2 (bad input) or 130 (Ctrl-C)."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app.main(
            args=None if arguments is None else list(arguments),
            prog_name="hcasim",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return BROKEN_PIPE
    return code if isinstance(code, int) else 0


def _abandon_output() -> None:
    """Let the interpreter's last flush go nowhere: the reader has left."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
