"""The hcasim command: finds its subcommands lazily and ends in one place."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

import click

from hcasim import __version__

COMMANDS = {
    "list": ("catalogue", "List models, scenarios, calibrations and workloads."),
    "show": ("show", "Show a model, testbed or scenario: each value with its evidence and source."),
    "new": ("starting", "Write a file that a description of your own begins with."),
    "run": ("run", "Simulate the curves of scenarios, such as liu2004/fig03, or of a whole paper."),
    "reproduce": (
        "reproduce",
        "Replay papers, such as liu2004, or scenarios, and judge each published statement.",
    ),
    "bench": ("bench", "Run a benchmark, such as write_lat, and print what it measures."),
    "import": ("importing", "Read what perftest, OSU, NetPIPE or hcasim's probes measured."),
    "calibrate": (
        "calibrate",
        "Fit parameters to the claims of a paper, or to traces of a machine.",
    ),
}
"""Each command, the module in this package that holds it, and the first line of its help."""

NOT_WRITTEN = 2
INTERRUPTED = 130
TERMINATED = 143
BROKEN_PIPE = 141
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"hcasim.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = args and not args[0].startswith("-") and args[0] not in COMMANDS
        if unknown and not ctx.resilient_parsing:
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


def main(args: Sequence[str] | None = None, prog_name: str = "hcasim") -> NoReturn:
    """Run the command line and exit.

    The exit code is 0, 1 if a claim is missed, 2 after bad input or on a full disk, 130 after
    Ctrl-C, 143 after SIGTERM, or 141 if the reader of the output left early.

    Parameters:
        args: the words after the program's name; those of this process without it.
        prog_name: the program's name in messages.
    """
    sys.exit(_run(args, prog_name))


def _run(args: Sequence[str] | None, prog_name: str) -> int:
    try:
        with _termination_as_interruption():
            code = app.main(
                args=None if args is None else list(args),
                prog_name=prog_name,
                standalone_mode=False,
            )
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        # An impatient second Ctrl-C must not turn the end into a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Click makes an abort of it.
        if isinstance(error, _Terminated) or isinstance(error.__cause__, _Terminated):
            click.echo("Terminated.", err=True)
            return TERMINATED
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _abandon_output()
        click.echo(f"Error: standard output: cannot be written: {error.strerror}", err=True)
        return NOT_WRITTEN
    except SystemExit:
        # Click itself ends with 1 here, which would mean a missed claim, and wraps the output.
        if not type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            raise
        return BROKEN_PIPE
    return code if isinstance(code, int) else 0


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which ends all that Ctrl-C ends: workers, and files that are half written."""


@contextlib.contextmanager
def _termination_as_interruption() -> Iterator[None]:
    # Whoever had it ignored, or answers it himself, goes before.
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: object) -> None:
        # Once is enough; the next must not end the end.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise _Terminated

    try:
        signal.signal(signal.SIGTERM, end)
    except ValueError:
        # Not in the main thread, which alone answers signals.
        yield
        return
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _abandon_output() -> None:
    """Let the interpreter's last flush go nowhere: the reader has left."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
