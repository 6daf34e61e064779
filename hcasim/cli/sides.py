"""What commands share that set two machines against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from hcasim.cli.bench import benchmark_options
from hcasim.cli.command import jobs_option, no_cache_option, read_settings, settings_option
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
    for give in (jobs_option, no_cache_option, settings_option, benchmark_options, machine_options):
        command = give(command)
    # The machines are arguments.
    parameters: list[Any] = command.__click_params__  # type: ignore[attr-defined]
    parameters[:] = [one for one in parameters if one.name != "testbed"]
    return command


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
        found[f"with_{letter}"] = _pairs(f"--{letter}", given[f"with_{letter}"], faults)
    return found | {"jobs": given["jobs"], "cached": not given["no_cache"]}


def _pairs(option: str, given: Iterable[str], faults: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = (part.strip() for part in one.partition("="))
        name = name if "." in name else name.replace("-", "_")
        if not (name and equals and value):
            faults.append(f"{option}: found {one!r}; allowed: NAME=VALUE")
        elif found.setdefault(name, value) != value:
            faults.append(f"{option}: found {name} twice, as {found[name]} and {value}")
    if found.get("switch") in ("no", "off", "false", "none"):
        found["switch"] = False
    return found
