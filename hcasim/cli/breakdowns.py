"""Where the time goes and what binds, in tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from hcasim.cli.command import WORDS
from hcasim.cli.results import told
from hcasim.cli.tables import print_table, word

_OWN = ("--explain", "--exact", "--json", "--profile", "--timing")
"""Flags of bench that ask nothing of a machine."""
TELLING = 0.5
"""Share of a message's time from which on a resource is said to limit it."""
_BUS_TITLES = {
    "bus_mmio_writes": "writes of the processor to the adapter",
    "bus_writes": "writes of the adapter to memory",
    "bus_write_bytes": "their bytes",
    "bus_read_requests": "reads of the adapter from memory",
    "bus_read_bytes": "their bytes",
}


def print_breakdown(point: str, breakdown: Mapping[str, Any]) -> None:
    """Print what a point's explanation holds."""
    of = f" of {point}" if point else ""
    where = f", {point}" if point else ""
    point = point or "one call"
    is_typical = breakdown.get("typical", True)
    if "stages" in breakdown:
        one = "" if is_typical else ", one message of many that differ"
        stages = [(one["stage"], one["us"]) for one in breakdown["stages"]]
        _print_shares(f"Where the time{of} goes{one}", stages, breakdown["total_us"])
    elif "steps" in breakdown:
        one = f", {breakdown['what']}" if "what" in breakdown else ""
        one += "" if is_typical else ", one of many that differ"
        heading, columns = f"Where the time{of} goes{one}", ("Rank", "Step")
        steps = [(_who(one), _step(one), one["us"]) for one in breakdown["steps"]]
        _print_shares(heading, steps, breakdown["total_us"], columns)
        _print_ways(breakdown["steps"])
    elif "path" in breakdown:
        _print_path(point, breakdown)
    elif "components" in breakdown:
        names = ("Component", "KiB", "Pinned", "Mapped")
        rows = [
            (one["component"], f"{one['KiB']:.1f}", word(one["pinned"]), word(one["mapped"]))
            for one in breakdown["components"]
        ]
        print_table(f"Where the memory{of} goes", names, rows, right=names[1:2])
    of_message = not breakdown.keys().isdisjoint(("stages", "steps", "path"))
    if "resources" in breakdown and (not of_message or _share_of_limit(breakdown) >= TELLING):
        least = TELLING if "path" in breakdown else 0
        _print_resources(point, breakdown, least, below=of_message)
    if "bus_per_message" in breakdown:
        counts, columns = breakdown["bus_per_message"], ("Bus", "Per message")
        heading = "What a message takes of the bus"
        taken = [(words, f"{counts[name]:.1f}") for name, words in _BUS_TITLES.items()]
        print_table(heading, columns, taken, right=columns[1:], below=True)
    if breakdown.get("caches"):
        _print_caches(f"Caches of the adapters{where}", breakdown["caches"])


def _share_of_limit(breakdown: Mapping[str, Any]) -> float:
    """How much of the time the resource that limits was busy or waited for."""
    binds = breakdown.get("binds", "")
    found = (one for one in breakdown["resources"] if one["name"] == binds)
    return max((max(one.get("busy", 0.0), one.get("waited", 0.0)) for one in found), default=0.0)


def _print_shares(
    heading: str,
    parts: Iterable[tuple[Any, ...]],
    total_us: float,
    names: Sequence[str] = ("Stage",),
    *,
    below: bool = False,
) -> None:
    """Print parts of a time, each a row of its names and its us, and their total."""
    parts = [*parts, (*[""] * (len(names) - 1), "total", total_us)]
    rows = [
        (*words, f"{us:.3f}", f"{100 * us / total_us:.1f} %" if total_us else "")
        for *words, us in parts
    ]
    print_table(heading, (*names, "us", "Share"), rows, right=("us", "Share"), below=below)


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
    rows = [
        (name, *(f"{of[name]:.3f}" if name in of else "" for of in ways.values())) for name in names
    ]
    headings = [f"{kind} (us)" for kind in ways]
    heading = "What adapters and links do of it"
    print_table(heading, ("Stage", *headings), rows, right=headings, below=True)


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
    path, algorithm = breakdown["path"], breakdown["algorithm"]
    columns = ("Rank", "Waits for", "On the way (us)", "At work (us)", "Since the start (us)")
    rows, now = [], 0.0
    for hop in _hops(path):
        now += hop.way_us + hop.work_us
        way = f"{hop.way_us:.3f}" if hop.waited_for else ""
        rows.append((str(hop.rank), hop.waited_for, way, f"{hop.work_us:.3f}", f"{now:.3f}"))
    by = f", {algorithm}" if algorithm else ""
    print_table(
        f"Critical path of {point}{by}, begun by all at once", columns, rows, right=columns[2:]
    )
    spent: dict[str, float] = {}
    for step in path:
        name = f"{step['step']} on the way" if "to" in step else step["step"]
        spent[name] = spent.get(name, 0.0) + step["us"]
    total_us = breakdown["total_us"]
    _print_shares("What it consists of", spent.items(), total_us, ("Step",), below=True)
    click.echo(
        "\nThe path ends with the last process; the latency of the table is the mean over all."
    )
    _print_ways(path)


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


def _print_resources(
    point: str, breakdown: Mapping[str, Any], least: float, *, below: bool
) -> None:
    """Print what is busy or waited for, the most first, from a share of the time on."""
    columns, shares = ("Resource", "Busy (% of time)", "Waited for (% of time)"), ("busy", "waited")
    found = [
        (most, (one["name"], *(f"{100 * one[n]:.1f}" if n in one else "" for n in shares)))
        for one in breakdown["resources"]
        if (most := max(one.get(name, 0.0) for name in shares)) >= least
    ]
    found.sort(key=lambda one: -one[0])
    rows = [row for _, row in found if {*row[1:]} - {"", "0.0"}]
    binds = breakdown["binds"]
    limit = f"What limits {point}: {binds}" if binds else f"Nothing is saturated at {point}"
    print_table(limit, columns, rows, right=columns[1:], below=below)
    if also := breakdown.get("also"):
        click.echo(f"\nAbout as busy, so that all of them have to be faster: {_listed(also)}.")
    options = [f"--{name.replace('_', '-')}" for name in breakdown.get("options", ())]
    if tries := [*options, *(f"--set {path}" for path in breakdown.get("parameters", ()))]:
        click.echo(f"\nWhat to try: {_listed(tries)}.")
    if stages := [(one["stage"], one["us"]) for one in breakdown.get("operation", ())]:
        heading = "What an operation takes in the mean, the longest stage first"
        _print_shares(heading, stages, sum(us for _, us in stages), below=True)
    context = click.get_current_context(silent=True)
    if not binds and context is not None and context.info_name == "bench":
        words = [word for word in context.meta.get(WORDS, ()) if word not in _OWN]
        click.echo(f"\nWhich parameters matter: {told(['sensitivity', *words])}")


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _print_caches(heading: str, caches: Iterable[Mapping[str, Any]]) -> None:
    columns = ("Cache", "Table in", "Accesses", "Misses", "Hit rate", "Fetch (us)", "Waited (us)")
    rows = [
        (
            *(str(one[name]) for name in ("name", "table", "accesses", "misses")),
            f"{100 * one['hit_rate']:.1f} %" if "hit_rate" in one else "",
            *(f"{one[name]:.3f}" for name in ("fetch_us", "waited_us")),
        )
        for one in caches
    ]
    print_table(heading, columns, rows, right=columns[2:], below=True)
