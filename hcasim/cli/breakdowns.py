"""Where the time goes and what binds, in tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from hcasim.cli.command import WORDS
from hcasim.cli.output import print_table, word
from hcasim.cli.results import told

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
_Step = Mapping[str, Any]


def print_breakdown(point: str, breakdown: Mapping[str, Any]) -> None:
    """Print what a point's explanation holds."""
    of, where = (f" of {point}", f", {point}") if point else ("", "")
    point = point or "one call"
    typical = breakdown.get("typical", True)
    if "stages" in breakdown:
        many = "" if typical else ", one message of many that differ"
        stages = _times(breakdown["stages"])
        _print_shares(f"Where the time{of} goes{many}", stages, breakdown["total_us"])
    elif "steps" in breakdown:
        what = f", {breakdown['what']}" if "what" in breakdown else ""
        what += "" if typical else ", one of many that differ"
        steps = [(_who(one), _step(one), one["us"]) for one in breakdown["steps"]]
        names = ("Rank", "Step")
        _print_shares(f"Where the time{of} goes{what}", steps, breakdown["total_us"], names)
        _print_ways(breakdown["steps"])
    elif "path" in breakdown:
        _print_path(point, breakdown)
    elif "components" in breakdown:
        rows = [
            (one["component"], f"{one['KiB']:.1f}", word(one["pinned"]), word(one["mapped"]))
            for one in breakdown["components"]
        ]
        columns = ("Component", "KiB", "Pinned", "Mapped")
        print_table(f"Where the memory{of} goes", columns, rows, right=("KiB",))
    of_message = not breakdown.keys().isdisjoint(("stages", "steps", "path"))
    if "resources" in breakdown and (not of_message or _share_of_limit(breakdown) >= TELLING):
        _print_resources(point, breakdown, below=of_message)
    if "bus_per_message" in breakdown:
        counts = breakdown["bus_per_message"]
        taken = [(words, f"{counts[name]:.1f}") for name, words in _BUS_TITLES.items()]
        heading, names = "What a message takes of the bus", ("Bus", "Per message")
        print_table(heading, names, taken, right=names[1:], below=True)
    if breakdown.get("caches"):
        _print_caches(f"Caches of the adapters{where}", breakdown["caches"])


def _share_of_limit(breakdown: Mapping[str, Any]) -> float:
    """How much of the time the resource that limits was busy or waited for."""
    found = [one for one in breakdown["resources"] if one["name"] == breakdown.get("binds", "")]
    return max((one.get(name, 0.0) for one in found for name in ("busy", "waited")), default=0.0)


def _times(stages: Iterable[_Step]) -> list[tuple[str, float]]:
    return [(one["stage"], one["us"]) for one in stages]


def _print_shares(
    heading: str,
    parts: Iterable[tuple[Any, ...]],
    total_us: float,
    names: Sequence[str] = ("Stage",),
    *,
    below: bool = False,
) -> None:
    """Print parts of a time, each a row of its names and its us, and their total."""
    total = (*[""] * (len(names) - 1), "total", total_us)
    rows = [
        (*words, f"{us:.3f}", f"{100 * us / total_us:.1f} %" if total_us else "")
        for *words, us in (*parts, total)
    ]
    print_table(heading, (*names, "us", "Share"), rows, right=("us", "Share"), below=below)


def _print_ways(steps: Iterable[_Step]) -> None:
    """Print the stages of what goes through the adapters, packets of one kind together."""
    spent: dict[str, dict[str, float]] = {}
    kinds: dict[str, str] = {}
    for step in steps:
        for stage, us in _times(step.get("stages", ())):
            kinds[step["step"]] = f"{step['step']} (us)"
            of = spent.setdefault(stage, {})
            of[step["step"]] = of.get(step["step"], 0.0) + us
    if kinds:
        rows = [
            (stage, *(f"{of[kind]:.3f}" if kind in of else "" for kind in kinds))
            for stage, of in spent.items()
        ]
        names = ("Stage", *kinds.values())
        heading = "What adapters and links do of it"
        print_table(heading, names, rows, right=names[1:], below=True)


def _print_path(point: str, breakdown: Mapping[str, Any]) -> None:
    """Print rank by rank what the end of a collective has waited for, and what it consists of."""
    path, algorithm = breakdown["path"], breakdown["algorithm"]
    columns = ("Rank", "Waits for", "On the way (us)", "At work (us)", "Since the start (us)")
    # A stay at a rank: what it has waited for, how long that was on the way, and its own work.
    stays: list[list[Any]] = []
    spent: dict[str, float] = defaultdict(float)
    for step in path:
        rank, us = step.get("to", step["rank"]), step["us"]
        spent[step["step"] + " on the way" * ("to" in step)] += us
        # What follows data on their way comes with them.
        goes_on = stays and ("to" not in step or (stays[-1][0] == rank and not stays[-1][3]))
        if not goes_on:
            stays.append([rank, "", 0.0, 0.0])
        if "to" in step:
            own = step["rank"] == rank
            kind = step["step"]
            stays[-1][1] = f"completion of its {kind}" if own else f"{kind} of rank {step['rank']}"
        stays[-1][2 if "to" in step else 3] += us
    rows, now = [], 0.0
    for rank, cause, way_us, work_us in stays:
        now += way_us + work_us
        way = f"{way_us:.3f}" if cause else ""
        rows.append((str(rank), cause, way, f"{work_us:.3f}", f"{now:.3f}"))
    by = f", {algorithm}" if algorithm else ""
    heading = f"Critical path of {point}{by}, begun by all at once"
    print_table(heading, columns, rows, right=columns[2:])
    heading, total_us = "What it consists of", breakdown["total_us"]
    _print_shares(heading, spent.items(), total_us, ("Step",), below=True)
    last = "The path ends with the last process; the latency of the table is the mean over all."
    click.echo(f"\n{last}")
    _print_ways(path)


def _who(step: _Step) -> str:
    return f"{step['rank']} > {step['to']}" if "to" in step else str(step["rank"])


def _step(step: _Step) -> str:
    count = step.get("count", 1)
    return f"{step['step']}, {count} times" if count > 1 else step["step"]


def _print_resources(point: str, breakdown: Mapping[str, Any], *, below: bool) -> None:
    """Print what is busy or waited for, the most first; of a path what limits it, if anything."""
    columns, shares = ("Resource", "Busy (% of time)", "Waited for (% of time)"), ("busy", "waited")
    least = TELLING if "path" in breakdown else 0

    def most(one: _Step) -> float:
        return max(float(one.get(name, 0)) for name in shares)

    rows = [
        (one["name"], *(f"{100 * one[name]:.1f}" if name in one else "" for name in shares))
        for one in sorted(breakdown["resources"], key=most, reverse=True)
        if most(one) >= least
    ]
    rows = [row for row in rows if {*row[1:]} - {"", "0.0"}]
    binds = breakdown["binds"]
    limit = f"What limits {point}: {binds}" if binds else f"Nothing is saturated at {point}"
    print_table(limit, columns, rows, right=columns[1:], below=below)
    if also := breakdown.get("also"):
        click.echo(f"\nAbout as busy, so that all of them have to be faster: {_listed(also)}.")
    options = [f"--{name.replace('_', '-')}" for name in breakdown.get("options", ())]
    if tries := [*options, *(f"--set {path}" for path in breakdown.get("parameters", ()))]:
        click.echo(f"\nWhat to try: {_listed(tries)}.")
    if stages := _times(breakdown.get("operation", ())):
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
