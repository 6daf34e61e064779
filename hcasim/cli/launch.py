"""`hcasim launch`: real programs of verbs on simulated adapters."""

from __future__ import annotations

from typing import Any

import click

from hcasim.cli.command import Command, option, settings_option
from hcasim.cli.experiment import machine_options, read_experiment
from hcasim.cli.output import note
from hcasim.cli.tracing import Tracing, trace_options
from hcasim.ground.errors import CatalogError, refuse
from hcasim.ground.quantities import title


@click.command("launch", cls=Command)
@click.argument("words", metavar="PROGRAM [ARGUMENT]... [: PROGRAM [ARGUMENT]...]...", nargs=-1)
@machine_options()
@option(
    "-n --nodes N",
    "Nodes that run the program, one process on each.",
    type=click.IntRange(min=1),
)
@option("--until TIME", "End the programs at this simulated time, such as 2s (default: never).")
@flag("--explain", "Also say what was busy from the first request on, on standard error.")
@settings_option
@trace_options
@profile_option
@timing_option
def command(
    words: tuple[str, ...],
    nodes: int | None,
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

    Programs run as ordinary users, in simulated time; what they print is theirs. The exit code is
    that of the first program that failed, or 124 if the time was up. With several testbeds, as in
    `--testbed liu2004,val`, the programs run on each, one after the other.
    """
    from hcasim.launch import launch
    from hcasim.runs.machine import find_machine

    tracing, faults = Tracing(given), list[str]()
    choices = read_experiment(given, faults)
    programs = _programs(words, nodes, faults)
    testbed = given["testbed"]
    try:
        machine = find_machine(testbed, choices, mpi=False)
    except CatalogError as error:
        raise CatalogError([*faults, *tracing.faults, *error.faults]) from None
    most = machine.nodes
    if len(programs) > most:
        faults.append(
            f"programs: found {len(programs)}; allowed: 1 to {most}, the nodes of {testbed}"
        )
    refuse(*faults, *tracing.faults)
    with tracing.listening(f"{title(programs[0][0])} on {testbed}") as listen:
        found = launch(machine, programs, listen)
    for one, code in zip(found.programs, found.codes, strict=True):
        if code:
            ended = f"signal {-code}" if code < 0 else f"exit code {code}"
            note(f"{one[0]} ended with {ended}")
    click.get_current_context().exit(
        next((code if code > 0 else 128 - code for code in found.codes if code), 0)
    )


def _programs(words: tuple[str, ...], nodes: int | None, faults: list[str]) -> list[list[str]]:
    """The programs that words name, one for each node."""
    programs: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            programs.append([])
        else:
            programs[-1].append(word)
    if not all(programs):
        faults.append("programs: found none before or behind a colon; needed: PROGRAM : PROGRAM")
    if nodes is not None and len(programs) > 1:
        faults.append(
            f"--nodes: found {nodes} beside {len(programs)} programs; allowed: one program"
        )
    return programs * (nodes or 1)
