"""Entries of a fit: the parameters they name, what they may hold, and verdicts in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hcasim.catalog import (
    CatalogError,
    FittedValue,
    Machine,
    Testbed,
    find_file,
    load,
    nearest,
    one_of,
)
from hcasim.catalog.fields import Leaf, leaf_paths
from hcasim.catalog.folders import is_known, is_path, unknown_id
from hcasim.catalog.loader import CLASSES
from hcasim.catalog.resolve import models_of, of_its_time, starts_of
from hcasim.ground.errors import Fault, display
from hcasim.ground.units import UnitError

_TOGETHER = "only in combination with "


def prefixes(
    testbed: str, adapter: str, stack: str | None = None, host: str | None = None
) -> list[tuple[str, str]]:
    """Return how the paths of a fit become the settings of a machine of parts with these ids, the
    testbed's stack and host unless there are others."""
    bed = load(testbed, "testbeds").model
    assert isinstance(bed, Testbed)
    name, nodes = next(iter(bed.nodes.items()))
    start = starts_of(bed.nodes)[name]
    parts = [
        ("adapters", adapter, f"{start}adapter."),
        ("hosts", host or nodes.host, f"{start}host."),
    ]
    parts += [("switches", one, "switch.") for one in models_of(bed.network).values()][:1]
    library = stack or nodes.stack or of_its_time(load(adapter, "adapters").model)
    parts.append(("stacks", library, f"{start}stack."))
    found = [(f"{kind}.{identifier(part, kind)}.", prefix) for kind, part, prefix in parts]
    return [*found, (f"testbeds.{identifier(testbed, 'testbeds')}.link.", f"{start}link.")]


def prefixes_of(machine: Machine) -> list[tuple[str, str]]:
    """Return how the paths of a fit become the settings of this machine."""
    return prefixes(machine.id, machine.adapter.id, machine.stack.id, machine.host.id)


def identifier(name: str, kind: str) -> str:
    """Return the id by which a fit names a part.

    Parameters:
        name: its id, or the path of its file.
        kind: of it, such as "adapters".

    Raises:
        CatalogError: no such part, or its id is that of another.
    """
    if not is_path(name):
        return name
    loaded = load(name, kind)
    other = find_file(loaded.model.id, kind)
    if not other.samefile(loaded.file):
        fault = (
            f"found {loaded.model.id!r}, which is that of {display(other)}, too; a fit needs one"
        )
        raise CatalogError([f"{display(loaded.file)}: id: {fault} of its own"])
    return loaded.model.id


def fit_path(starts: Sequence[tuple[str, str]], path: str) -> str:
    """Return the entry of a fit that a what-if path of a machine with these prefixes names, such
    as "adapter.send.latency"; the path if there is none."""
    return next(iter(renamed(path, [(prefix, start) for start, prefix in starts])), path)


def path_in_fit(machine: Machine, path: str) -> str:
    """Return the entry of a fit that a what-if path of this machine names."""
    return fit_path(prefixes_of(machine), path)


def renamed(path: str, starts: Iterable[tuple[str, str]]) -> list[str]:
    """Return a path under each start that takes the place of one that it has."""
    return [new + path.removeprefix(old) for old, new in starts if path.startswith(old)]


def quantity_at(path: str) -> Leaf | Fault:
    """Return the leaf with this path of a fit, or say why there is none to fit."""
    leaf = leaf_at(path)
    if isinstance(leaf, Leaf) and (leaf.base is not int or leaf.choices):
        return Fault("", path, f"{leaf.allowed}, which cannot be fitted", said="not a quantity")
    return leaf


def leaf_at(path: str) -> Leaf | Fault:
    """Return the leaf with this path of a fit, whatever it holds, or say that there is none."""
    kind, _, rest = path.partition(".")
    if kind not in CLASSES:
        return Fault("", kind, one_of(list(CLASSES)), nearest(kind, CLASSES))
    name, inner = _divided(rest, kind)
    if not is_known(name, kind):
        return unknown_id(kind, name)
    leaves = _leaves(kind)
    unknown = Fault("", inner, "", nearest(inner, leaves), said="unknown parameter")
    return leaves.get(inner, unknown)


@cache
def _leaves(kind: str) -> Mapping[str, Leaf]:
    leaves = {path: leaf for model in CLASSES[kind] for path, leaf in leaf_paths(model).items()}
    if kind == "testbeds":
        return {name: leaf for name, leaf in leaves.items() if name.startswith("link.")}
    return leaves


def part_of(path: str) -> str:
    """Return the part that a path of a fit belongs to, such as "adapters.mt25208"."""
    kind, _, rest = path.partition(".")
    return f"{kind}.{_divided(rest, kind)[0]}"


def _divided(rest: str, kind: str) -> tuple[str, str]:
    """Divide a path into an id, which may have dots, such as "mvapich-0.9.5", and what follows."""
    words = rest.split(".")
    ways = [(".".join(words[:n]), ".".join(words[n:])) for n in range(1, len(words) + 1)]
    return next((way for way in ways[::-1] if is_known(way[0], kind)), ways[0])


def entry_faults(leaf: Leaf, entry: FittedValue) -> Iterator[Fault]:
    """Say what of an entry is not allowed or contradicts the rest of it, by its keys."""
    numbers: dict[str, list[int]] = {}
    raws: dict[str, tuple[object, ...]] = {
        "value": () if entry.value is None else (entry.value,),
        "interval": entry.interval or (),
        "bounds": entry.bounds or (),
        "start": () if entry.start is None else (entry.start,),
        "samples": tuple(map(leaf.raw, dict.fromkeys(entry.samples))),
    }
    for key, raw in raws.items():
        try:
            numbers[key] = [int(leaf.read(one)) for one in raw]
        except UnitError as error:
            yield error.fault.at(key)
    value, interval, bounds = (numbers.get(key, []) for key in ("value", "interval", "bounds"))
    if bounds and not bounds[0] < bounds[1]:
        found = _range(leaf, bounds)
        yield Fault("bounds", bounds, "a lower and a higher value", text=found)
        return
    for key in ("value", "start", "samples"):
        outside = [one for one in numbers.get(key, ()) if not _within([one], bounds)]
        if outside:
            given = raws[key][numbers[key].index(outside[0])]
            yield Fault(key, given, f"{_range(leaf, bounds)}, as its bounds say")
    if interval and (interval[0] > interval[1] or not _within(interval, bounds)):
        allowed = f"a lower and a higher end{f' within {_range(leaf, bounds)}' if bounds else ''}"
        yield Fault("interval", interval, allowed, text=_range(leaf, interval))
    elif interval and _within(value, bounds) and not _within(value, interval):
        allowed = f"an interval that holds the value, {leaf.format(value[0])}"
        yield Fault("interval", interval, allowed, text=_range(leaf, interval))


def _within(values: list[int], ends: list[int]) -> bool:
    """Whether values lie between two ends, as far as both are known."""
    return not (values and ends) or ends[0] <= min(values) <= max(values) <= ends[1]


def _range(leaf: Leaf, ends: list[int]) -> str:
    return f"{leaf.format(ends[0])} to {leaf.format(ends[1])}"


@dataclass(frozen=True)
class Verdict:
    """What the data say about one parameter.

    Parameters:
        identified: whether they determine it.
        partners: the others of the combinations of which alone something is known; empty if it
            is identified, or if the data say nothing at all.
        known: the only side from which the data limit it: "above", "below" or neither.
        ended: whether the search for it came to an end.
    """

    identified: bool
    partners: tuple[str, ...] = ()
    known: str = ""
    ended: bool = True

    def __str__(self) -> str:
        if not self.ended:
            return "unknown: the search did not end"
        if self.identified:
            return "identified"
        if self.partners:
            return f"{_TOGETHER}{' and '.join(self.partners)}"
        return f"only from {self.known}" if self.known else "not at all"


def partners(verdict: str) -> list[str]:
    """Return with what alone a parameter is known, as its verdict says in a file, in words with
    what is said of ties behind them."""
    if not verdict.startswith(_TOGETHER):
        return []
    return verdict.removeprefix(_TOGETHER).partition(",")[0].split(" and ")
