"""What the figures of a line of perftest mean: times, bandwidths and message rates."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from hcasim.traces.perftest.run import Run
from hcasim.traces.printed import Figure, Hints, Quantity, Unreadable, agree, ordered
from hcasim.traces.schema import Measured

_ROUND_TRIP = ("read", "atomic")
_MIB = Decimal(2**20)
BANDWIDTH_UNITS = {"MB/sec": "MiB/s", "MiB/sec": "MiB/s", "Gb/sec": "Gbit/s"}
"""The units of perftest as a trace writes them: its MB is 2^20 bytes."""
UNITS = tuple(dict.fromkeys(BANDWIDTH_UNITS.values()))
_PER_SECOND = {"MiB/s": _MIB, "Gbit/s": Decimal(125_000_000)}


def says_nothing(column: str, word: str) -> bool:
    """Whether a figure is a deviation that is not a number, as perftest prints of few samples."""
    return column == "t_stdev" and word in ("nan", "-nan")


def latency(run: Run, cells: Mapping[str, Figure], iters: int, hints: Hints) -> Measured:
    """Return the times of a line.

    Parameters:
        run: which test.
        cells: the figures by their column, such as "t_min".
        iters: iterations.
        hints: how many cycles make a microsecond.

    Raises:
        Unreadable: figures that contradict each other, or cycles whose frequency is not known.
    """
    typical, mean = cells.get("t_typical"), cells.get("t_avg")
    least, most = cells.get("t_min"), cells.get("t_max")
    main = typical or mean
    if main is None:
        raise Unreadable("found no typical and no average time")
    if not main.value:
        raise Unreadable(f"found a time of {main.text}; allowed: more than nothing")
    ordered([("t_min", least), ("t_typical", typical), ("t_max", most)])
    ordered([("t_min", least), ("t_avg", mean), ("t_max", most)])
    ordered((f"{name}% percentile", cells.get(f"percentile_{name}")) for name in ("99", "99.9"))
    _check_rate(run, cells)
    unit = "us"
    figures = dict(cells)
    if hints.cpu_mhz is not None or _look_like_cycles(cells):
        figures, unit = _from_cycles(cells, hints)
    names = {"minimum": "t_min", "maximum": "t_max", "deviation": "t_stdev"}
    parts = {name: figures[column] for name, column in names.items() if column in figures}
    if typical and mean:
        parts["mean"] = figures["t_avg"]
    percentiles = {
        name.removeprefix("percentile_"): one
        for name, one in figures.items()
        if name.startswith("percentile_")
    }
    own = figures["t_typical" if typical else "t_avg"]
    found = Quantity("us", own, typical is None, "", "", iters, parts, percentiles).measured()
    printed = f"{main.text} {'us' if unit == 'us' else 'cycles'}"
    return found.model_copy(update={"printed": printed})


def _check_rate(run: Run, cells: Mapping[str, Figure]) -> None:
    """Transactions per second and their time say the same: half a round trip, or a whole one."""
    if "tps" not in cells or "t_avg" not in cells or not cells["tps"].value:
        return
    trips = 1 if run.workload.split("_")[0] in _ROUND_TRIP else 2
    low, high = cells["tps"].between()
    time = (1_000_000 / high / trips, 1_000_000 / max(low, Decimal(1)) / trips)
    if not agree(cells["t_avg"].between(), time):
        raise Unreadable(
            f"found {cells['t_avg'].text} usec and {cells['tps'].text} a second, "
            f"which is not the same: a {run.title or run.workload} counts "
            f"{'a whole' if trips == 1 else 'half a'} round trip"
        )


def _look_like_cycles(cells: Mapping[str, Figure]) -> bool:
    """Whether the times are whole or half numbers, as those of -C are under a head of usec.

    Times of a simulator may be so by chance, but they are all the same.
    """
    names = ("t_min", "t_max", "t_typical")
    direct = [cells[name].value for name in names if name in cells]
    return len(direct) == 3 and len(set(direct)) > 1 and all(2 * one % 1 == 0 for one in direct)


def _from_cycles(cells: Mapping[str, Figure], hints: Hints) -> tuple[dict[str, Figure], str]:
    if hints.cpu_mhz is None:
        raise Unreadable(
            "found whole and half numbers only, which are cycles (-C) under a head of usec; "
            "--cpu-mhz says how many make a microsecond (1 if they are microseconds)"
        )
    if not _look_like_cycles(cells):
        raise Unreadable("found fractions of a cycle: these are microseconds; leave out --cpu-mhz")
    cycles = hints.cpu_mhz
    times = {
        name: Figure(one.text, one.value / cycles, one.step / cycles)
        for name, one in cells.items()
        if name.startswith(("t_", "percentile_"))
    }
    return times, "us" if cycles == 1 else "cycles"


def bandwidth(
    run: Run, cells: Mapping[str, Figure], size: int, iters: int, unit: str
) -> tuple[Measured, ...]:
    """Return bandwidth and message rate of a line.

    Parameters:
        run: which test.
        cells: the figures by their column: "BW_peak", "BW_average", "MsgRate", those of ports.
        size: bytes of a message.
        iters: iterations.
        unit: "MiB/s" or "Gbit/s".

    Returns:
        Nothing if all digits are 0.

    Raises:
        Unreadable: figures that contradict each other.
    """
    mean, peak, rate = cells["BW_average"], cells.get("BW_peak"), cells.get("MsgRate")
    both_ways = False
    if rate is not None and rate.value:
        times = [
            way for way in ((1, 2) if run.is_two_way else (1,)) if _fits(cells, size, unit, way)
        ]
        if not times:
            other = next((one for one in _PER_SECOND if _fits(cells, size, one, 1)), "")
            guess = f"; as {other} they would" if other else ""
            raise Unreadable(
                f"found {mean.text} {unit} and {rate.text} million messages a second, which do "
                f"not fit together at {size} bytes{guess}"
            )
        both_ways = times == [2]
    found = []
    if mean.value:
        # Without peak, as with -N or -D, it prints 0.
        parts = {"maximum": peak} if peak is not None and peak.value else {}
        found.append(Quantity(unit, mean, count=iters, parts=parts).measured())
    # Versions of 2013 print both directions' bandwidth, and one direction's messages.
    if rate is not None and rate.value and not both_ways:
        found.append(Quantity("M/s", rate, count=iters).measured())
    for port in ("1", "2"):
        if f"BW_port{port}" in cells and cells[f"BW_port{port}"].value:
            found.append(Quantity(unit, cells[f"BW_port{port}"], name=f"port {port}").measured())
            rated = cells.get(f"MsgRate_port{port}")
            if rated is not None and rated.value:
                found.append(Quantity("M/s", rated, name=f"port {port}").measured())
    return tuple(found)


def fitting_units(cells: Mapping[str, Figure], size: int) -> list[str]:
    """Return the units in which bandwidth and message rate fit together."""
    if not cells["MsgRate"].value:
        return []
    return [unit for unit in _PER_SECOND if _fits(cells, size, unit, 1)]


def _fits(cells: Mapping[str, Figure], size: int, unit: str, ways: int) -> bool:
    per_second = cells["BW_average"].between(_PER_SECOND[unit])
    messages = cells["MsgRate"].between(Decimal(1_000_000) * size * ways)
    return agree(per_second, messages)
