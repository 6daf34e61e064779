"""Which parameter explains how much of a difference between two machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import flag_fault, one_of, refuse, settings_fault
from hcasim.runs.executor import Progress, on_scheduler
from hcasim.runs.machine import each_machine_once
from hcasim.runs.store import usual_store
from hcasim.study.comparison.answer import Answer, Cause, Share, Why
from hcasim.study.comparison.files import is_result
from hcasim.study.comparison.mixed import Mixed
from hcasim.study.comparison.shares import shapley
from hcasim.study.comparison.side import requested
from hcasim.study.sensitivity.subject import unit_of
from hcasim.workloads import find_workload, unknown_workload

OTHERS = "others"
TOP = 7
"""Differences that get a share of their own, unless the user says otherwise."""
_RESULT = "found a result; allowed: a testbed by id or file, which can be changed"
MOST = 11
"""More would need more than 2^12 machines."""


def why(
    a: str | PathLike[str] | Machine,
    b: str | PathLike[str] | Machine,
    workload: str,
    *,
    with_a: Mapping[str, Any] | None = None,
    with_b: Mapping[str, Any] | None = None,
    quantity: str | None = None,
    top: int = TOP,
    group: str | Sequence[str] = (),
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **settings: Any,
) -> Why:
    """Ask which parameters explain how two machines differ in a benchmark.

    Each parameter and option that differs is first exchanged alone, in A and in B. Those that move
    the numbers most, all others together, and what no parameter says are then exchanged in every
    combination, which gives each its share of the difference.

    Parameters:
        a: a testbed by id or file.
        b: the same.
        workload: the benchmark.
        with_a: settings of the first side only, by name or by path of --set.
        with_b: settings of the second side only.
        quantity: which of what the workload measures; its first without it.
        top: so many causes get a share of their own, 11 at most.
        group: causes that count as one: "part" for the adapter, the host and so on, each as a whole
            where the machines have others; "section" for blocks such as adapter.bus; or what paths
            begin with; one or several.
        jobs: processes to use; all processors without it.
        scheduler: address or file of a Dask scheduler whose workers simulate, in place of `jobs`.
        progress: is told how many points are done.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        settings: of both sides: arguments of `hcasim.bench`.

    Raises:
        CatalogError: every fault of the request.
    """
    refuse(
        flag_fault("cache", cache),
        *(settings_fault(one) for one in (with_a, with_b)),
        *(f"{n}: {_RESULT}" for n, given in (("a", a), ("b", b)) if is_result(given)),
        _top_fault(top),
        _group_fault(group),
    )
    known = find_workload(workload)
    faults = [] if known else [unknown_workload(workload)]
    if known and quantity is not None and str(quantity) not in known.fields:
        faults.append(f"quantity: found {quantity!r}; allowed: {one_of(list(known.fields))}")
    sides = []
    for label, given, own in (("a", a, with_a or {}), ("b", b, with_b or {})):
        try:
            sides.append(requested(given, workload, settings, own, label))
            if known:
                sides[-1].benchmark()
        except CatalogError as error:
            faults += error.faults
    if faults or known is None:
        raise CatalogError(dict.fromkeys(faults))
    store = usual_store() if cache else None
    field = quantity or known.fields[0]
    with each_machine_once(), on_scheduler(scheduler):
        groups = (group,) if isinstance(group, str) else tuple(group)
        mixed = Mixed(sides[0], sides[1], field, groups, jobs, progress, store)
        return _explained(mixed, top)


def _top_fault(top: object) -> str:
    fits = isinstance(top, int) and not isinstance(top, bool) and 1 <= top <= MOST
    return "" if fits else f"top: found {top!r}; allowed: 1 to {MOST}"


def _group_fault(group: object) -> str:
    every = [group] if isinstance(group, str) else group
    fits = isinstance(every, list | tuple) and all(isinstance(one, str) and one for one in every)
    return "" if fits else f"group: found {group!r}; allowed: words such as part or adapter.bus"


def _explained(mixed: Mixed, top: int) -> Why:
    causes = mixed.causes
    every = [member for one in causes for member in one.members]

    def without(one: Cause) -> set[str]:
        return set(every) - set(one.members)

    none, full, *rest = mixed(
        [(), every, *(one.members for one in causes), *(without(one) for one in causes)]
    )
    alone, last = rest[: len(causes)], rest[len(causes) :]
    spans = [abs(y - x) or abs(x) or 1.0 for x, y in zip(none, full, strict=True)]

    def weight(place: int) -> float:
        moved = zip(none, full, alone[place], last[place], spans, strict=True)
        return max(max(abs(v - x), abs(y - w)) / span for x, y, v, w, span in moved)

    order = sorted(range(len(causes)), key=lambda place: (-weight(place), causes[place].name))
    chosen = [causes[place] for place in order[:top]]
    others = [causes[place] for place in order[top:]]
    if len(others) == 1:
        chosen += others
    elif others:
        members = tuple(member for one in others for member in one.members)
        chosen.append(Cause(OTHERS, members, f"{len(others)} more"))
    coalitions = [
        [m for n, one in enumerate(chosen) if bits >> n & 1 for m in one.members]
        for bits in range(1 << len(chosen))
    ]
    worth = mixed(coalitions)
    all_in = len(coalitions) - 1
    answers = []
    for place, (name, told) in enumerate(zip(mixed.names, mixed.breakdowns(), strict=True)):
        values = [one[place] for one in worth]
        shares = [
            Share(one, values[1 << n] - values[0], values[-1] - values[all_in ^ 1 << n], part)
            for n, (one, part) in enumerate(zip(chosen, shapley(values), strict=True))
        ]
        shares.sort(key=lambda one: -abs(one.share))
        unit = unit_of(mixed._field)
        answers.append(Answer(name, unit, values[0], values[-1], tuple(shares), told))
    a, b = (one.testbed for one in mixed._sides)
    title = f"{mixed.workload}: from {a} to {b}"
    return Why(title, tuple(answers), mixed.together, mixed.simulated)
