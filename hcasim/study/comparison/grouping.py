"""Causes put together by part of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hcasim.catalog import CatalogError
from hcasim.ground.errors import nearest
from hcasim.study.comparison.answer import Cause

PART = "part"
SECTION = "section"
_PARTS = ("adapter", "host", "stack", "link")
"""What each group of nodes has of its own."""


def grouped(causes: Sequence[Cause], groups: Sequence[str]) -> list[Cause]:
    """Put causes together that belong to one part, in the order of the first of each.

    Parameters:
        causes: one for each path or option.
        groups: "part" for the adapter, the host and so on, "section" for their blocks, such as
            adapter.bus, or what paths begin with; of several the longest that fits counts.

    Raises:
        CatalogError: a beginning that no path has.
    """
    prefixes = [one.rstrip(".") for one in groups if one not in (PART, SECTION)]
    paths = [one.name for one in causes]
    faults = [
        f"group: found {one!r}, with which nothing begins that can be exchanged; "
        f"allowed: {PART}, {SECTION}, or the beginning of a path that differs{_near(one, paths)}"
        for one in prefixes
        if not any(_is_below(path, one) for path in paths)
    ]
    if faults:
        raise CatalogError(faults)
    found: dict[str, list[Cause]] = {}
    for one in causes:
        found.setdefault(_group(one.name, groups, prefixes), []).append(one)
    return [_together(name, members) for name, members in found.items()]


def _near(name: str, paths: Iterable[str]) -> str:
    begun = (".".join(path.split(".")[:n]) for path in paths for n in range(1, path.count(".") + 2))
    return nearest(name, [*dict.fromkeys([PART, SECTION, *begun])])


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}.")


def _group(path: str, groups: Sequence[str], prefixes: Sequence[str]) -> str:
    fitting = [one for one in prefixes if _is_below(path, one)]
    if fitting:
        return max(fitting, key=len)
    names = path.split(".")
    # Where nodes are of several groups, their parts stand below the name of the group.
    depth = 2 if len(names) > 2 and names[1] in _PARTS else 1
    if SECTION in groups and len(names) > depth + 1:
        return ".".join(names[: depth + 1])
    return ".".join(names[:depth]) if {PART, SECTION} & {*groups} else path


def _together(name: str, members: Sequence[Cause]) -> Cause:
    if len(members) == 1:
        (one,) = members
        return Cause(name, one.members, one.a, one.b)
    paths = tuple(path for one in members for path in one.members)
    return Cause(name, paths, f"{len(members)} values", f"{len(members)} others")
