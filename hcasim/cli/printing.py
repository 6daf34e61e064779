"""A benchmark's result as text: its table, where the time goes and what binds, and its cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import WORDS
from hcasim.cli.output import print_notes, print_table, word
from hcasim.cli.results import told
from hcasim.ground.quantities import (
    BOUND_BY,
    EVIDENCE,
    RESTS_ON,
    band_fields,
    heading,
    quantity_of,
    title,
    written,
)
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark
    from hcasim.workloads.result import Cost

WORTH_SAYING = 0.5
"""Percent of error from which on a table says it."""
_OWN = ("--explain", "--exact", "--json", "--profile", "--timing")
"""Flags of bench that ask nothing of a machine."""
TELLING = 0.5
"""Share of a message's time from which on a resource is said to limit it."""
RARE = 0.1
"""Rate below which the bandwidth says more."""
_TOLD = [*map(title, RESTS_ON)]
_BUS_TITLES = {
    "bus_mmio_writes": "writes of the processor to the adapter",
    "bus_writes": "writes of the adapter to memory",
    "bus_write_bytes": "their bytes",
    "bus_read_requests": "reads of the adapter from memory",
    "bus_read_bytes": "their bytes",
}
_Step = Mapping[str, Any]


def print_text(result: Benchmark) -> None:
    """Print a benchmark as a table, with what it explains and what it cost."""
    from hcasim.runs.table import cell
    from hcasim.workloads import WORKLOADS

    machine, rows = result.machine, result.curve.rows
    quantities = (name for name in rows[-1] if quantity_of(name) == name)
    ends = [name for name in quantities if "_min_" in name or "_max_" in name]
    fields = dict.fromkeys((*result.shown, *ends))
    columns = (*(AXES[name].title for name in result.axes), *map(heading, fields))
    names = (*result.axes, *fields)
    lines = [[cell(row.get(name), name) for name in names] for row in rows]
    modes = [p for p in machine.parameters if p.path.endswith("adapter.firmware_mode")]
    loud = {mode.value for mode in modes if mode.value != "tavor" or mode.evidence == "assumed"}
    adapters: dict[str, None] = {}
    for node in WORKLOADS[result.workload].nodes(machine, result.options):
        one, _ = machine.place(node)
        mode = f" ({one.firmware_mode})" if one.firmware_mode in loud else ""
        adapters[one.adapter.id + mode] = None
    what_if = "".join(f", {path}={value}" for path, value in machine.overrides.items())
    title = f"{result.workload} on {machine.id}, {' and '.join(adapters)}{what_if}"
    print_table(title, columns, lines, right=[one for one in columns if one not in _TOLD])
    if len(rows) == 1 or result.shown == result.fields:
        click.echo(in_words(rows[0], result.fields))
    points = [_named(point) for point in result.points]
    _print_error([row.get("error_percent", 0.0) for row in rows], points, result.options.exact)
    print_notes(result.notes)
    for point, breakdown in zip(points, result.breakdowns, strict=False):
        click.echo()
        print_breakdown(point, breakdown)
    print_profile(result.costs, points, timing=result.wall_seconds is not None)


def in_words(row: Mapping[str, Any], fields: Iterable[str]) -> str:
    """Say what was measured, between which ends it lies and why: "5.91 M/s (2.40 to 8.51 at 90 %:
    bound by node0.cpu0, assumed)"."""
    known = [name for name in fields if band_fields(name)[0] in row]
    if not known:
        return "How far off this may be is not known."
    # Of what is rare the rate says little.
    name = "rate_Mps" if "rate_Mps" in known and row["rate_Mps"] >= RARE else known[0]
    value, low, high = (written(row[key], name) for key in (name, *band_fields(name)))
    unit = "" if name.endswith("_Mps") else title(name).partition("(")[2].rstrip(")")
    why = f"bound by {row[BOUND_BY]}, {row[EVIDENCE]}"
    return f"{value} {unit}".strip() + f" ({low} to {high} at 90 %: {why})"


def _print_error(errors: Sequence[float], names: Sequence[str], exact: bool) -> None:
    worst = max(errors)
    if worst >= WORTH_SAYING:
        where = f" at {names[errors.index(worst)]}, better elsewhere" if len(errors) > 1 else ""
        hint = "" if exact else "; --exact runs it all"
        click.echo(f"Averaged, and known to ± {worst:.1f} %{where}{hint}.")


_ONE = {"nodes": "node", "clients": "client", "processes": "process"}


def _named(point: Mapping[str, int]) -> str:
    """A point in words: "4096 B", "4096 B, 128 QPs" or "64 KiB, 50 % reuse"."""
    from hcasim.ground.units import format_size

    def words(name: str, value: int) -> str:
        if name in ("size", "window_bytes"):
            return f"{'' if name == 'size' else 'window of '}{format_size(value)}"
        if name == "reuse":
            return f"{value} % reuse"
        if value == 1:
            return f"1 {_ONE.get(name, 'QP')}"
        return f"{value} {name if name in _ONE else 'QPs'}"

    return ", ".join(words(name, value) for name, value in point.items())


def print_profile(costs: Collection[Cost], points: Sequence[str] = (), *, timing: bool) -> None:
    """Print what points cost, if anybody has asked: each, if it has words, and all together."""
    from hcasim.workloads.result import total

    if not costs:
        return

    def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        shown = slice(None if timing else -2)
        cells = [[*map(str, row[shown])] for row in rows]
        print_table(title, columns[shown], cells, right=columns[1:], below=True)

    cost = total(costs)
    lines = [*zip(points, costs, strict=True)] if len(points) > 1 else []
    lines.append(("all" if lines or not points else points[0], cost))
    columns = ("Of", "Events", "Packets", "Left out", "Seconds", "Packets/s")
    rows = [
        (
            *(name, one.events, one.packets, one.left_out),
            *(f"{one.wall_s:.3f}", f"{one.packets_per_s:.0f}"),
        )
        for name, one in lines
    ]
    show("What simulating cost", columns, rows)
    order = cost.dearest if timing else cost.busiest
    spent: list[tuple[str, Any, float]]
    spent = [(name, cost.calls[name], cost.seconds[name]) for name in order]
    if timing:
        spent += [("queue of events", "", cost.queue_s), ("set-up", "", cost.setup_s)]
    shares = [(*one, f"{took:.3f}", f"{100 * took / cost.wall_s:.1f} %") for *one, took in spent]
    title = "By block, with what it has others do at once"
    show(title, ("Block", "Events", "Seconds", "Share"), shares)


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
