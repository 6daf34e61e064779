"""`hcasim launch`: real programs of verbs on simulated adapters."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Any, Final

import click

from hcasim.cli.command import (
    Command,
    flag,
    option,
    profile_option,
    settings_option,
    timing_option,
)
from hcasim.cli.experiment import machine_options, read_experiment
from hcasim.cli.output import note
from hcasim.cli.printing import print_breakdown, print_profile
from hcasim.cli.results import output_faults
from hcasim.cli.tracing import Tracing, trace_options
from hcasim.ground.errors import CatalogError, Fault, FaultError, nearest, refuse

if TYPE_CHECKING:
    from hcasim.launch import Launched

_PART: Final = re.compile(r"[^\s\0=,:;'\"()<>|&`]+")
"""What may be a path inside of an argument, or of a line of a text."""
_SCANNED: Final = 256 << 10
"""Chosen: bytes of texts in which files are looked for, which takes less than a second."""
_SERVER: Final = "server:"
TIMED_OUT: Final = 124
"""Exit code of programs that had to be ended, as of timeout(1)."""


@click.command("launch", cls=Command)
@click.argument("words", metavar="[server:] PROGRAM [ARGUMENT]... [: ...]...", nargs=-1)
@machine_options()
@option("-n --ranks N", "Processes that run the program.", type=click.IntRange(min=1))
@option(
    "--ppn N",
    "Processes on a node, each on a processor of its own; nodes are filled in order (default: 1).",
    type=click.IntRange(min=1),
)
@option(
    "--hostfile FILE",
    "Nodes of the processes, in order, in lines such as `node1 slots=2`; without --ranks one "
    "program runs in all slots.",
)
@option(
    "--compute WORD",
    "What programs take for what they compute: what the loop of `perftest` takes, nothing (0), or "
    "real processor time by a factor, as 1.0, which is not the same in each run (default: the loop "
    "of perftest for its programs, nothing for others).",
)
@option("--until TIME", "End the programs at this simulated time, such as 2s (default: never).")
@flag("--explain", "Also say what was busy between the first request and the last completion.")
@settings_option
@trace_options
@profile_option
@timing_option
def command(
    words: tuple[str, ...],
    ranks: int | None,
    ppn: int | None,
    hostfile: str | None,
    compute: str | None,
    until: str | None,
    explain: bool,
    profile: bool,
    timing: bool,
    **given: Any,
) -> None:
    """Run real programs of verbs, unmodified, on the simulated adapters of a machine.

    Each PROGRAM runs on a node, in the order of the testbed; a colon that stands alone ends one and
    begins the next. Write -- before the first, so that its options are not taken for ours. The
    first node is `server` or `node0` to programs, the next `node1`, and so on:

        hcasim launch --testbed liu2004 -- ib_write_bw : ib_write_bw server

    A PROGRAM behind the word `server:` serves the others: it is sent SIGTERM when all of them have
    ended, and SIGKILL a second of simulated time later; its exit code no longer counts then.

    HCASIM_RANK tells a process its number, from 0 on, and HCASIM_SIZE how many there are.

    Programs run as ordinary users, in simulated time; what they print is theirs. The exit code is
    that of the first program that failed, or 124 if programs had to be ended. With several
    testbeds, as in `--testbed liu2004,val`, the programs run on each, one after the other.
    """
    from hcasim.launch import launch
    from hcasim.launch.computing import Computing, read_computing
    from hcasim.launch.placing import filled, listed
    from hcasim.runs.machine import find_machine
    from hcasim.workloads.result import Meter

    tracing, faults = Tracing(given), list[str]()
    choices = read_experiment(given, faults)
    programs, servers = _programs(words, ranks, faults)
    until_ps = _until(until, faults)
    computing = Computing()
    if compute is not None:
        try:
            computing = read_computing(compute)
        except FaultError as error:
            faults.append(error.fault.at("--compute"))
    if hostfile is not None and ppn is not None:
        faults.append("--ppn: found beside --hostfile, which says that; allowed: one of them")
    runs = []
    for testbed in given["testbed"].split(","):
        try:
            machine = find_machine(testbed, choices, mpi=False)
        except CatalogError as error:
            faults += error.faults
            continue
        if hostfile is None:
            places = filled(machine, len(programs), ppn or 1, faults)
        else:
            places = listed(machine, hostfile, faults)
            if len(programs) == 1 and ranks is None:
                programs *= len(places)
            if len(programs) > len(places) > 0:
                slots = f"1 to {len(places)}, the slots of {hostfile}"
                faults.append(f"ranks: found {len(programs)}; allowed: {slots}")
        runs.append((machine, places[: len(programs)]))
    if len(runs) > 1 and tracing.wanted:
        faults.append(f"{tracing.wanted[0]}: found for {len(runs)} testbeds; allowed: one")
    refuse(*faults, *tracing.faults, *output_faults(tracing.outputs), *_read_faults(programs))
    if computing.factor:
        note("Programs take real processor time: results are not the same in each run.")
    code = 0
    for machine, places in runs:
        if len(runs) > 1:
            note(f"On {machine.id}:")
        with tracing.listening(f"{programs[0][0]} on {machine.id}") as listen:
            meter = Meter(listen) if profile else None
            listens = listen if meter is None else meter.watch
            found = launch(
                machine, programs, listens, until_ps, explain, places, computing, servers
            )
        with contextlib.redirect_stdout(sys.stderr):
            if found.usage:
                print_breakdown("the traffic", found.usage)
            print_profile([meter.cost()] if meter else [], timing=timing)
        code = code or _code(found)
    click.get_current_context().exit(code)


def _code(found: Launched) -> int:
    """The exit code of the first program that failed; 124 of programs that had to be ended."""
    failed = 0
    for one, code in zip(found.programs, found.codes, strict=True):
        if code and not (found.ended and code == -SIGKILL):
            ended = f"signal {-code}" if code < 0 else f"exit code {code}"
            note(f"{one[0]} ended with {ended}")
            failed = failed or (code if code > 0 else 128 - code)
    return TIMED_OUT if found.ended else failed


def _read_faults(programs: Iterable[Sequence[str]]) -> Iterator[str]:
    """Register what programs may read, as far as words tell: themselves, and files among arguments.

    Files that a text among them names count as well, and what Python imports from beside it.
    """
    from hcasim.apps.file import imported
    from hcasim.ground.opened import read_fault
    from hcasim.ground.reading import leads_to, read_file

    words = {word for one in programs for word in one}
    paths = {*words, *(part for word in words for part in _PART.findall(word))}
    paths |= {shutil.which(name) or "" for name, *_ in filter(None, programs)}
    found, seen, left = deque(map(Path, paths)), set[Path](), _SCANNED
    yield read_fault(Path("/dev/stdin"), "<stdin>")
    while found:
        file = found.popleft()
        if file in seen or not leads_to(file, Path.is_file):
            continue
        seen.add(file)
        yield read_fault(file)
        data = b"\0"  # As of what is no text.
        with contextlib.suppress(CatalogError):
            data = read_file(file, left)
        if b"\0" in data:
            continue
        left -= len(data)
        if file.suffix == ".py" or b"python" in data.partition(b"\n")[0]:
            yield from map(read_fault, imported(file))
        parts = {Path(one) for one in _PART.findall(data.decode(errors="replace"))}
        found += parts | {file.parent / one.name for one in parts}


def _until(until: str | None, faults: list[str]) -> int:
    """A simulated time in ps; 0 without one."""
    from hcasim.ground.units import UnitError, parse_time

    if until is None:
        return 0
    try:
        found = parse_time(until)
    except UnitError as error:
        faults.append(f"--until: {error}")
        return 0
    if found <= 0:
        faults.append(f"--until: found {until!r}; allowed: more than 0 s")
    return found


def _programs(
    words: tuple[str, ...], ranks: int | None, faults: list[str]
) -> tuple[list[list[str]], list[int]]:
    """The programs that words name, one for each process, and which of them serve the others."""
    programs: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            programs.append([])
        else:
            programs[-1].append(word)
    servers = [place for place, one in enumerate(programs) if one[:1] == [_SERVER]]
    for place in servers:
        del programs[place][0]
    for word in (one[0] for one in programs if one[:1] and one[0].endswith(":")):
        faults.append(Fault("programs", word, f"{_SERVER}, or a program", nearest(word, [_SERVER])))
    if len(servers) == len(programs):
        faults.append(f"programs: found none but behind {_SERVER}; needed: one that it serves")
    if not all(programs):
        faults.append("programs: found none beside a colon; needed: PROGRAM : PROGRAM")
    if ranks is not None and len(programs) > 1:
        faults.append(
            f"--ranks: found {ranks} beside {len(programs)} programs; allowed: one program"
        )
    return programs * (ranks or 1), servers
