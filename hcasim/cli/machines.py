"""The options that say which machine a command simulates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from hcasim.cli.naming import ADAPTER, HOST, STACK, SWITCH, TESTBED

Decorated = Callable[..., Any]

_OPTIONS = (
    click.option(
        "--adapter",
        metavar="ID",
        type=ADAPTER,
        help="In every node instead of its own: id or file.",
    ),
    click.option(
        "--host",
        metavar="ID",
        type=HOST,
        help="Of every node instead of its own: id or file.",
    ),
    click.option(
        "--stack",
        metavar="ID",
        type=STACK,
        help="Software in every node instead of its own: id or file.",
    ),
    click.option(
        "--firmware-mode",
        metavar="MODE",
        help="Of the adapter: tavor, mem or memfree (default: the adapter's).",
    ),
    click.option(
        "--mtu",
        metavar="BYTES",
        help="InfiniBand: 256, 512, 1K, 2K or 4K; Ethernet: 576 to 9216 (default: the testbed's).",
    ),
    click.option(
        "--no-switch", is_flag=True, default=None, help="Two hosts back to back, without a switch."
    ),
    click.option(
        "--switch",
        is_flag=False,
        flag_value="",
        metavar="[ID]",
        type=SWITCH,
        help="Instead of the testbed's, or between two hosts; without an ID as the testbed has it.",
    ),
)


def machine_options(command: Decorated | None = None, *, testbed: bool | None = True) -> Decorated:
    """Give a command the options of a machine.

    Parameters:
        command: which; without it, what gives a command such options is returned.
        testbed: whether one must be named; None if arguments of the command name it.
    """
    if command is None:
        return lambda one: machine_options(one, testbed=testbed)
    for option in reversed(_OPTIONS):
        command = option(command)
    if testbed is None:
        return command
    told = "The machine: id, such as liu2004, or file."
    named = click.option("--testbed", required=testbed, metavar="ID", type=TESTBED, help=told)
    return named(command)


def switch_faults(given: dict[str, Any]) -> list[str]:
    """Say what is wrong with --switch beside --no-switch; without that there is a switch then."""
    if given["switch"] is None:
        return []
    both, given["no_switch"] = given["no_switch"], False
    return ["--no-switch: contradicts --switch; leave one out"] if both else []


def switch_choice(given: dict[str, Any]) -> bool | str:
    """What was chosen, as `hcasim.catalog.resolve` takes it."""
    return not given["no_switch"] and (given["switch"] or True)
