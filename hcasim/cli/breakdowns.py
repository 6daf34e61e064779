"""Where the time goes and what binds, in tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from hcasim.cli.command import WORDS
from hcasim.cli.results import told
from hcasim.cli.tables import print_table

_OWN = ("--explain", "--exact", "--json", "--profile", "--timing")
"""Flags of bench that ask nothing of a machine."""
TELLING = 0.5
"""Share of a message's time from which on a resource is said to limit it."""


def print_breakdown(point: str, breakdown: Mapping[str, Any]) -> None:
    """Print what a point's explanation holds."""
    of = f" of {point}" if point else ""
    where = f", {point}" if point else ""
    point = point or "one call"
    if "stages" in breakdown:
        one = "" if breakdown.get("typical", True) else ", one message of many that differ"
        _print_stages(f"Where the time{of} goes{one}", breakdown)
        if _share_of(breakdown, breakdown.get("binds", "")) >= TELLING:
            click.echo()
            _print_resources(point, breakdown)
    elif "steps" in breakdown:
        one = f", {breakdown['what']}" if "what" in breakdown else ""
        one += "" if breakdown["typical"] else ", one of many that differ"
        _print_steps(f"Where the time{of} goes{one}", breakdown)
        if _share_of(breakdown, breakdown["binds"]) >= TELLING:
            click.echo()
            _print_resources(point, breakdown)
    elif "path" in breakdown:
        _print_path(point, breakdown)
        if _share_of(breakdown, breakdown["binds"]) >= TELLING:
            click.echo()
            _print_resources(point, breakdown, TELLING)
    elif "components" in breakdown:
        columns = ("Component", "KiB", "Pinned", "Mapped")
        rows = [
            (one["component"], f"{one['KiB']:.1f}", _yes(one["pinned"]), _yes(one["mapped"]))
            for one in breakdown["components"]
        ]
        print_table(f"Where the memory{of} goes", columns, rows, right=columns[1:2])
    elif "resources" in breakdown:
        _print_resources(point, breakdown)
    if "bus_per_message" in breakdown:
        click.echo()
        _print_bus("What a message takes of the bus", breakdown["bus_per_message"])
    if breakdown.get("caches"):
        click.echo()
        _print_caches(f"Caches of the adapters{where}", breakdown["caches"])


def _share_of(breakdown: Mapping[str, Any], name: str) -> float:
    """How much of the time a resource was busy or waited for."""
    found = (one for one in breakdown.get("resources", ()) if one["name"] == name)
    return max((max(one.get("busy", 0.0), one.get("waited", 0.0)) for one in found), default=0.0)


def _print_stages(heading: str, breakdown: Mapping[str, Any]) -> None:
    total = breakdown["total_us"]
    stages = [(one["stage"], one["us"]) for one in breakdown["stages"]]
    columns = ("Stage", "us", "Share")
    rows = [(name, f"{us:.3f}", _percent(us, total)) for name, us in stages]
    rows.append(("total", f"{total:.3f}", "100.0 %"))
    print_table(heading, columns, rows, right=columns[1:])


def _print_steps(heading: str, breakdown: Mapping[str, Any]) -> None:
    """Print the steps of a message."""
    total, steps = breakdown["total_us"], breakdown["steps"]
    columns = ("Rank", "Step", "us", "Share")
    rows = [
        (_who(one), _step(one), f"{one['us']:.3f}", _percent(one["us"], total)) for one in steps
    ]
    rows.append(("", "total", f"{total:.3f}", "100.0 %"))
    print_table(heading, columns, rows, right=columns[2:])
    _print_ways(steps)


def _print_ways(steps: Iterable[Mapping[str, Any]]) -> None:
    """Print the stages of what goes through the adapters, packets of one kind together."""
    ways: dict[str, dict[str, float]] = {}
    names: dict[str, None] = {}
    for step in steps:
        for stage in step.get("stages", ()):
            of = ways.setdefault(step["step"], {})
            of[stage["stage"]] = of.get(stage["stage"], 0.0) + stage["us"]
            names[stage["stage"]] = None
    if not ways:
        return
    told = [
        (name, *(f"{of[name]:.3f}" if name in of else "" for of in ways.values())) for name in names
    ]
    click.echo()
    headings = [f"{kind} (us)" for kind in ways]
    print_table("What adapters and links do of it", ("Stage", *headings), told, right=headings)


@dataclass
class _Hop:
    """A stay of a critical path at a rank, and what the rank has waited for before."""

    rank: int
    waited_for: str = ""
    way_us: float = 0.0
    work_us: float = 0.0


def _hops(path: Iterable[Mapping[str, Any]]) -> list[_Hop]:
    found: list[_Hop] = []
    for step in path:
        here = found[-1] if found else _Hop(-1)
        if "to" not in step:
            if not found:
                here = _Hop(step["rank"])
                found.append(here)
            here.work_us += step["us"]
        elif here.rank == step["to"] and not here.work_us:
            # What follows data on their way comes with them.
            here.waited_for = _cause(step)
            here.way_us += step["us"]
        else:
            found.append(_Hop(step["to"], _cause(step), step["us"]))
    return found


def _cause(step: Mapping[str, Any]) -> str:
    if step["rank"] == step["to"]:
        return f"completion of its {step['step']}"
    return f"{step['step']} of rank {step['rank']}"


def _print_path(point: str, breakdown: Mapping[str, Any]) -> None:
    """Print rank by rank what the end of a collective has waited for, and what it consists of."""
    total, algorithm = breakdown["total_us"], breakdown["algorithm"]
    columns = ("Rank", "Waits for", "On the way (us)", "At work (us)", "Since the start (us)")
    rows, now = [], 0.0
    for hop in _hops(breakdown["path"]):
        now += hop.way_us + hop.work_us
        way = f"{hop.way_us:.3f}" if hop.waited_for else ""
        rows.append((str(hop.rank), hop.waited_for, way, f"{hop.work_us:.3f}", f"{now:.3f}"))
    by = f", {algorithm}" if algorithm else ""
    heading = f"Critical path of {point}{by}, begun by all at once"
    print_table(heading, columns, rows, right=columns[2:])
    spent: dict[str, float] = {}
    for step in breakdown["path"]:
        name = f"{step['step']} on the way" if "to" in step else step["step"]
        spent[name] = spent.get(name, 0.0) + step["us"]
    click.echo()
    told = [*spent.items(), ("total", total)]
    shares = [(name, f"{us:.3f}", _percent(us, total)) for name, us in told]
    print_table("What it consists of", ("Step", "us", "Share"), shares, right=("us", "Share"))
    click.echo(
        "\nThe path ends with the last process; the latency of the table is the mean over all."
    )
    _print_ways(breakdown["path"])


def _who(step: Mapping[str, Any]) -> str:
    return f"{step['rank']} > {step['to']}" if "to" in step else str(step["rank"])


def _step(step: Mapping[str, Any]) -> str:
    count = step.get("count", 1)
    return f"{step['step']}, {count} times" if count > 1 else step["step"]


_BUS_TITLES = {
    "bus_mmio_writes": "writes of the processor to the adapter",
    "bus_writes": "writes of the adapter to memory",
    "bus_write_bytes": "their bytes",
    "bus_read_requests": "reads of the adapter from memory",
    "bus_read_bytes": "their bytes",
}


def _print_bus(heading: str, counts: Mapping[str, float]) -> None:
    columns = ("Bus", "Per message")
    rows = [(words, f"{counts[name]:.1f}") for name, words in _BUS_TITLES.items()]
    print_table(heading, columns, rows, right=columns[1:])


def _print_resources(point: str, breakdown: Mapping[str, Any], least: float = 0) -> None:
    """Print what is busy or waited for, the most first, from a share of the time on."""
    columns = ("Resource", "Busy (% of time)", "Waited for (% of time)")
    shares = ("busy", "waited")
    found = [
        (one["name"], *(100 * one[name] if name in one else None for name in shares))
        for one in breakdown["resources"]
        if max(one.get(name, 0) for name in shares) >= least
    ]
    found.sort(key=lambda row: -max(filter(None, row[1:]), default=0))
    rows = [(name, *("" if one is None else f"{one:.1f}" for one in row)) for name, *row in found]
    told = [row for row in rows if {*row[1:]} - {"", "0.0"}]
    binds = breakdown["binds"]
    limit = f"What limits {point}: {binds}" if binds else f"Nothing is saturated at {point}"
    print_table(limit, columns, told, right=columns[1:])
    _print_settings(breakdown)
    _print_operation(breakdown)
    if not binds and (command := _sensitivity()):
        click.echo(f"\nWhich parameters matter: {command}")


def _print_settings(breakdown: Mapping[str, Any]) -> None:
    """Say what is about as busy as what limits, and what makes more of them."""
    if also := breakdown.get("also"):
        click.echo(f"\nAbout as busy, so that all of them have to be faster: {_listed(also)}.")
    options = [f"--{name.replace('_', '-')}" for name in breakdown.get("options", ())]
    settings = [f"--set {path}" for path in breakdown.get("parameters", ())]
    if options or settings:
        click.echo(f"\nWhat to try: {_listed([*options, *settings])}.")


def _print_operation(breakdown: Mapping[str, Any]) -> None:
    """Print what an operation takes where that limits."""
    stages = [(one["stage"], one["us"]) for one in breakdown.get("operation", ())]
    if not stages:
        return
    total = sum(us for _, us in stages)
    rows = [(name, f"{us:.3f}", _percent(us, total)) for name, us in (*stages, ("total", total))]
    click.echo()
    heading = "What an operation takes in the mean, the longest stage first"
    print_table(heading, ("Stage", "us", "Share"), rows, right=("us", "Share"))


def _sensitivity() -> str:
    """The command that asks on which parameters the result of this one rests."""
    context = click.get_current_context(silent=True)
    words = context.meta.get(WORDS, ()) if context else ()
    if context is None or context.info_name != "bench":
        return ""
    return told(["sensitivity", *(word for word in words if word not in _OWN)])


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _print_caches(heading: str, caches: Iterable[Mapping[str, Any]]) -> None:
    columns = ("Cache", "Table in", "Accesses", "Misses", "Hit rate", "Fetch (us)", "Waited (us)")
    rows = [
        (
            *(str(one[name]) for name in ("name", "table", "accesses", "misses")),
            _share(one, "hit_rate"),
            *(f"{one[name]:.3f}" for name in ("fetch_us", "waited_us")),
        )
        for one in caches
    ]
    print_table(heading, columns, rows, right=columns[2:])


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _percent(us: float, total: float) -> str:
    return f"{100 * us / total:.1f} %" if total else ""


def _share(resource: Mapping[str, Any], name: str) -> str:
    return f"{100 * resource[name]:.1f} %" if name in resource else ""
