"""The hcasim command: finds its subcommands lazily and ends in one place."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from keyword import iskeyword
from typing import NoReturn

import click

from hcasim import __version__
from hcasim.cli.command import debug_option
from hcasim.cli.output import abandon, note
from hcasim.ground.errors import CatalogError, nearest, words_of
from hcasim.ground.opened import one_command
from hcasim.ground.process import build

COMMANDS = {
    "list": "List models, scenarios, calibrations and workloads.",
    "show": "Show a model, testbed or scenario: each value with its evidence and source.",
    "new": "Write a file that a description of your own begins with.",
    "run": "Simulate the curves of scenarios, or of a whole paper or collection.",
    "reproduce": "Replay papers, collections or scenarios, and judge each published statement.",
    "app": "Run a program of MPI: a file, a kernel such as is.B, a trace, or machine learning.",
    "launch": "Run real programs of verbs, unmodified, on the simulated adapters of a machine.",
    "bench": "Run a benchmark, such as write_lat, and print what it measures.",
    "sweep": "Measure over any settings, each with each, and print one table.",
    "compare": "Compare two machines or results: what differs, and what that does.",
    "why": "Say which parameters explain how two testbeds differ in a benchmark.",
    "sensitivity": (
        "Ask on which parameters a benchmark, or a published figure such as liu2004/fig09, rests."
    ),
    "import": "Read what perftest, OSU, IMB, NetPIPE or hcasim's probes measured.",
    "check": "Check whether the model agrees with what was measured.",
    "calibrate": "Fit parameters to the claims of a paper, or to measurements of a machine.",
}
"""Each command, whose module in this package has its name, and the first line of its help."""

BAD_INPUT = 2
UNEXPECTED = 70
NO_ROOM = 71
BROKEN_PIPE = 141
ENDED = {
    signal.SIGHUP: (129, "Hung up."),
    signal.SIGINT: (130, "Interrupted."),
    signal.SIGTERM: (143, "Terminated."),
}
"""Signals that end a command, with its exit code and what it says."""
_DISK_FULL = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    # What is open for reading only, and a pipe that does not wait for its reader.
    *(errno.EBADF, errno.EAGAIN),
)


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        # A module cannot be called as a word of Python.
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = importlib.import_module(f"hcasim.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = args and not args[0].startswith("-") and args[0] not in COMMANDS
        if unknown and not ctx.resilient_parsing:
            allowed = f"{', '.join(COMMANDS)}{nearest(args[0], COMMANDS)}"
            raise click.UsageError(f"found no command {args[0]!r}; allowed: {allowed}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hcasim", message=f"%(prog)s %(version)s, {build()}")
@debug_option
def app() -> None:
    """Predict how an RDMA adapter performs in a given machine.

    hcasim simulates the adapter, its bus, its host and the fabric, and replays published
    experiments beside what their authors measured.
    """


def main(args: Sequence[str] | None = None, prog_name: str = "hcasim") -> NoReturn:
    """Run the command line and exit.

    The exit code is 0, 1 if a claim is missed, 2 after bad input or on a full disk, 70 after an
    error that nobody expected, 71 if memory or open files ran out, 130 after Ctrl-C, 143 after
    SIGTERM, 129 after SIGHUP, or 141 if the reader of the output left early.

    Parameters:
        args: the words after the program's name; those of this process without it.
        prog_name: the program's name in messages.
    """
    _prepare_process()
    code = _run(sys.argv[1:] if args is None else list(args), prog_name)
    if executor := sys.modules.get("hcasim.runs.executor"):
        # The interpreter would wait for those that are still starting.
        executor.end_workers()
    try:
        sys.stderr.flush()
    except OSError:
        # The interpreter would end with a code of its own.
        abandon(sys.stderr)
    if args is None:
        # The interpreter would look for seconds through all that was simulated for what to free.
        gc.freeze()
    sys.exit(code)


# Workers are as many as processors, and the matrices of a fit are small. Each thread would take its
# share of the address space, and with too little of it wait for ever.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def _prepare_process() -> None:
    """Give a process streams that take any text, and libraries one thread and no display."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            # The standard streams come first, in this order, and so get their numbers back.
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            # Names of files may hold bytes that are no text; terminals may not know all letters.
            stream.reconfigure(errors="backslashreplace")
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    # Jupyter and desktops name one that needs them.
    os.environ["MPLBACKEND"] = "agg"


def _run(words: list[str], prog_name: str) -> int:
    try:
        with _one_interruption(), one_command():
            code = app.main(args=words, prog_name=prog_name, standalone_mode=False)
            sys.stdout.flush()
    except click.ClickException as error:
        # It may quote the words of the command line.
        text = io.StringIO()
        error.show(text)
        return _refused(*text.getvalue().splitlines())
    except CatalogError as error:
        return _refused(*(f"Error: {fault}" for fault in error.lines))
    except BrokenPipeError:
        abandon(sys.stdout)
        return BROKEN_PIPE
    except SystemExit as error:
        # Click itself ends with 1 here, which would mean a missed claim, and wraps the output.
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return BROKEN_PIPE
        if not error.code:
            raise
        # Click was asked to complete words of a shell that it does not know.
        name = f"_{prog_name.replace('-', '_').upper()}_COMPLETE"
        found = f"found {os.environ.get(name)!r}"
        return _refused(f"Error: {name}: {found}; allowed: bash_source, zsh_source or fish_source")
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        # An interruption may have led to other errors.
        chain = [*_chain(error)]
        if any(isinstance(one, KeyboardInterrupt | click.Abort) for one in chain):
            return _ended(chain)
        # Left to the interpreter, it would look like a missed claim.
        return _unexpected(error, chain, "--debug" in words)
    return code if isinstance(code, int) else 0


def _refused(*lines: str, code: int = BAD_INPUT) -> int:
    for line in lines:
        note(line)
    return code


def _ended(chain: list[BaseException]) -> int:
    # Handlers go before the interpreter does; this stays.
    for number in ENDED:
        signal.signal(number, signal.SIG_IGN)
    by = [signal.SIGINT, *(one.by for one in chain if isinstance(one, _Ended))]
    code, said = ENDED[by[-1]]
    return _refused(said, code=code)


def _unexpected(error: BaseException, chain: list[BaseException], debug: bool) -> int:
    if debug:
        import traceback

        _refused(*"".join(traceback.format_exception(error)).splitlines())
    number = error.errno if isinstance(error, OSError) else None
    if type(error).__name__ == "WorkerDied":
        return _refused(f"Error: {error}", code=NO_ROOM)
    if any(map(_is_of_memory, chain)):
        said = "memory ran out; allowed: smaller or fewer points, or fewer at once (-j 1)"
        return _refused(f"Error: {said}", code=NO_ROOM)
    if any(map(_is_of_files, chain)):
        allowed = f"allowed: {os.sysconf('SC_OPEN_MAX')}; `ulimit -n` allows more"
        return _refused(f"Error: too many files would be open; {allowed}", code=NO_ROOM)
    if number in _DISK_FULL:
        abandon(sys.stdout)
        return _refused(f"Error: standard output: cannot be written: {os.strerror(number or 0)}")
    how = "the command, its files and what it prints with --debug"
    said = f"hcasim has failed: {words_of(error)}; please report it to its developers: {how}"
    return _refused(f"Error: {said}", code=UNEXPECTED)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


_NO_SPACE = re.compile("cannot allocate memory|failed to map segment", re.IGNORECASE)


def _is_of_memory(error: BaseException) -> bool:
    # A library that finds no room is an import that fails; a worker that does may be ended.
    names = {one.__name__ for one in type(error).__mro__}
    if isinstance(error, ImportError):
        return bool(_NO_SPACE.search(str(error)))
    out = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return out or not names.isdisjoint(("MemoryError", "BrokenProcessPool"))


def _is_of_files(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return isinstance(error, ImportError) and "Too many open files" in str(error)


class _Ended(KeyboardInterrupt):
    """A signal, `by`, that ends workers and removes files half written, as Ctrl-C does."""

    def __init__(self, by: signal.Signals) -> None:
        super().__init__()
        self.by = by


@contextlib.contextmanager
def _one_interruption() -> Iterator[None]:
    """Raise an exception at the first signal that ends a command; no other disturbs the end."""

    def end(number: int, frame: object) -> None:
        # At once: the next may come before anybody has caught the first. One that has come already
        # would be complained of if it were to be ignored.
        for one in ours:
            signal.signal(one, lambda number, frame: None)
        raise _Ended(signal.Signals(number))

    # Whoever had it ignored, or answers it himself, goes before.
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in ENDED}
    ours = [number for number, answer in before.items() if answer in usual]
    try:
        for number in ours:
            signal.signal(number, end)
    except ValueError:
        # Not in the main thread, which alone answers signals.
        yield
        return
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is end:
                signal.signal(number, before[number])
