"""What commands share that set two machines against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from hcasim.cli.bench import benchmark_options
from hcasim.cli.command import (
    jobs_option,
    no_cache_option,
    read_pairs,
    read_settings,
    settings_option,
)
from hcasim.cli.machines import machine_options, switch_choice, switch_faults
from hcasim.workloads.options import OPTIONS

Decorated = Callable[..., Any]
_CHOICES = ("adapter", "host", "stack", "firmware_mode", "mtu")


def side_options(command: Decorated) -> Decorated:
    """Give a command the options of two machines and of a benchmark on both."""
    for letter in ("b", "a"):
        command = click.option(
            f"--{letter}",
            f"with_{letter}",
            metavar="NAME=VALUE",
            multiple=True,
            help=f"Of {letter.upper()} only: an option such as adapter=mt23108, or a path of --set."
            " Repeatable.",
        )(command)
    for give in (jobs_option, no_cache_option, settings_option, benchmark_options):
        command = give(command)
    # The machines are arguments.
    return machine_options(command, testbed=None)


def read_sides(given: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    """Return arguments of `hcasim.compare` and `hcasim.why` from what `side_options` gave.

    Parameters:
        given: the options by name.
        faults: gets a line for each that is wrong.
    """
    faults += switch_faults(given)
    found = {name: given[name] for name in (*_CHOICES, *OPTIONS) if given[name] is not None}
    if given["no_switch"] or given["switch"] is not None:
        found["switch"] = switch_choice(given)
    found["overrides"] = read_settings(given["settings"], faults)
    for letter in ("a", "b"):
        own: dict[str, Any] = {**read_pairs(f"--{letter}", given[f"with_{letter}"], faults)}
        if own.get("switch") in ("no", "off", "false", "none"):
            own["switch"] = False
        found[f"with_{letter}"] = own
    return found | {"jobs": given["jobs"], "cache": not given["no_cache"]}
