"""From the settings of a sweep to its points: each value with each other, or in step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

from hcasim.catalog import CatalogError
from hcasim.catalog.provenance import Parameter, Value
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.units import UNITS, Unit, UnitError
from hcasim.runs.experiment import Experiment
from hcasim.runs.launch import LAUNCH, Launch
from hcasim.runs.machine import CHOICES
from hcasim.runs.point import Point
from hcasim.study.sweep.expression import Expression, ExpressionError, read_expression
from hcasim.study.sweep.values import MOST, Times, several
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import OPTIONS

SETTINGS = ("workload", "testbed", *CHOICES, *LAUNCH, *OPTIONS)
"""All that a sweep may vary but the paths of --set."""
_TOLD = 20
"""Faults that are told one by one."""
_ENOUGH = 1000
"""Faults after which no other is looked for."""
_SWITCH = {"false": False, "off": False, "no": False, "none": False, "true": True}

Combination = dict[str, Any]


@dataclass(frozen=True)
class Planned:
    """A point with the settings that were made for it.

    Parameters:
        made: by name, as they were worked out.
        point: what to simulate.
    """

    made: Mapping[str, Any]
    point: Point | Launch


@dataclass
class Plan:
    """What a sweep varies.

    Parameters:
        settings: all values of each setting, by its name or path.
        zipped: names of settings whose values are taken in step.
        let: settings that follow from others.
        where: what a combination has to fulfil.
    """

    settings: dict[str, list[Any]]
    zipped: tuple[tuple[str, ...], ...] = ()
    let: dict[str, Expression] = field(default_factory=dict)
    where: Expression | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """The settings that have several values, and those that follow from them."""
        return (*(name for name, values in self.settings.items() if len(values) > 1), *self.let)

    def combinations(self) -> Iterator[Combination]:
        """Each combination of values; the last setting varies fastest."""
        together = {name: group for group in self.zipped for name in group}
        dimensions: list[list[Combination]] = []
        done: set[str] = set()
        for name in self.settings:
            if name in done:
                continue
            group = together.get(name, (name,))
            done.update(group)
            rows = zip(*(self.settings[one] for one in group), strict=True)
            dimensions.append([dict(zip(group, row, strict=True)) for row in rows])
        for parts in product(*dimensions):
            yield {name: value for part in parts for name, value in part.items()}

    @property
    def size(self) -> int:
        """How many combinations there are."""
        others = {name for group in self.zipped for name in group[1:]}
        return prod(len(values) for name, values in self.settings.items() if name not in others)


def read_plan(
    settings: Mapping[str, Any],
    zipped: Iterable[Sequence[str]] = (),
    let: Mapping[str, str] | None = None,
    where: str | None = None,
) -> Plan:
    """Read what a sweep varies.

    Parameters:
        settings: by name or path, a value or several as `several` reads them; those that are None
            are left out.
        zipped: groups of names whose values are taken in step.
        let: expressions by name.
        where: an expression.

    Raises:
        CatalogError: every fault.
    """
    faults: list[str] = []
    values: dict[str, list[Any]] = {}
    groups = tuple(tuple(group) for group in zipped)
    in_step = {name for group in groups for name in group}
    for name, given in settings.items():
        if given is None:
            continue
        if "." not in name and name not in SETTINGS:
            faults.append(_unknown(name, "setting"))
            continue
        try:
            values[name] = several(given, OPTIONS.get(name), again=name in in_step)
        except ValueError as error:
            faults += [f"{name}: {line}" for line in str(error).splitlines()]
        if name == "switch" and name in values:
            values[name] = [_SWITCH.get(one, one) for one in values[name]]
    faults += _zip_faults(groups, values)
    read: dict[str, Expression] = {}
    condition = None
    for name, text in (let or {}).items():
        if "." not in name and name not in SETTINGS:
            faults.append(_unknown(name, "let"))
        elif name in settings and settings[name] is not None:
            faults.append(f"let {name}: contradicts the values of {name}; leave one out")
        try:
            read[name] = read_expression(str(text))
        except ExpressionError as error:
            faults.append(f"let {name}: {error}")
    if where is not None:
        try:
            condition = read_expression(str(where))
        except ExpressionError as error:
            faults.append(f"where: {error}")
    for name, one in [*read.items(), *([("where", condition)] if condition else [])]:
        label = name if name == "where" else f"let {name}"
        faults += [
            f"{label}: {_unknown(used, 'name')}"
            for used in one.names
            if "." not in used and used not in SETTINGS
        ]
    plan = Plan(values, groups, read, condition)
    if not faults and plan.size > MOST:
        faults.append(f"found {plan.size} combinations; allowed: {MOST}, or several sweeps")
    if faults:
        raise CatalogError(dict.fromkeys([*faults, *_further(values)]))
    return plan


def _further(values: Mapping[str, list[Any]]) -> Iterable[str]:
    """Say what is wrong with the first values of settings, while others cannot be read at all."""
    if values.keys() >= {"workload", "testbed"}:
        try:
            Planner(Plan({name: every[:1] for name, every in values.items()})).points()
        except CatalogError as error:
            return error.faults
    return ()


def _unknown(name: str, what: str) -> str:
    hint = nearest(name, SETTINGS)
    return f"{what}: found {name!r}; allowed: {one_of(SETTINGS)}, or a path of --set{hint}"


def _zip_faults(groups: Sequence[Sequence[str]], values: Mapping[str, list[Any]]) -> list[str]:
    faults = []
    seen: set[str] = set()
    for group in groups:
        label = f"zip {','.join(group)}"
        if len(group) < 2:
            faults.append(f"{label}: allowed: two settings or more")
        for name in group:
            if name not in values:
                hint = nearest(name, values)
                faults.append(f"{label}: found {name!r}, which has no values here{hint}")
            elif name in seen:
                faults.append(f"{label}: found {name!r} twice; allowed: once")
            seen.add(name)
        counts = {name: len(values[name]) for name in group if name in values}
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{count} of {name}" for name, count in counts.items())
            faults.append(f"{label}: found {found} values; allowed: as many of each")
    return faults


class Planner:
    """Makes the points of a plan; machines that are alike are put together once.

    Parameters:
        plan: what varies.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._parameters: dict[Any, dict[str, Parameter[Value]]] = {}

    def points(self) -> list[Planned]:
        """Return all points.

        Raises:
            CatalogError: every fault, and of how many combinations it is.
        """
        found: list[Planned] = []
        faults: dict[str, list[Combination]] = {}
        total = 0
        for combination in self._plan.combinations():
            if len(faults) >= _ENOUGH:
                total = self._plan.size
                break
            total += 1
            try:
                found += self._point(combination)
            except CatalogError as error:
                for fault in error.faults:
                    faults.setdefault(fault, []).append(combination)
            except (ExpressionError, UnitError) as error:
                faults.setdefault(str(error), []).append(combination)
        if faults:
            raise CatalogError(self._told(faults, total))
        if not found:
            raise CatalogError([f"where: no combination of {total} fulfils it"])
        return found

    def again(self, planned: Planned, settings: Mapping[str, str]) -> list[Point | Launch]:
        """Return the points of a combination with what-if settings before those of its own.

        Raises:
            CatalogError: there can be no such machine.
        """
        return [one.point for one in self._prepared({**settings, **planned.made})]

    def _told(self, faults: Mapping[str, list[Combination]], total: int) -> list[str]:
        lines = []
        for fault, where in faults.items():
            if len(where) < total:
                first = ", ".join(f"{n}={where[0][n]}" for n in self._plan.axes if n in where[0])
                fault += f" ({len(where)} of {total} combinations, the first with {first})"
            lines.append(fault)
        rest = len(lines) - _TOLD
        known = f"{rest} or" if len(lines) >= _ENOUGH else rest
        return lines if rest <= 0 else [*lines[:_TOLD], f"... and {known} more faults"]

    def _point(self, combination: Combination) -> list[Planned]:
        made = dict(combination)
        for name, value in combination.items():
            if isinstance(value, Times):
                made[name] = self._times(made, name, value)
        for name, expression in self._plan.let.items():
            value = self._value(expression, f"let {name}", made)
            made[name] = self._written(made, name, value)
        where = self._plan.where
        if where is not None and not self._value(where, "where", made):
            return []
        return self._prepared(made)

    def _prepared(self, made: Combination) -> list[Planned]:
        asked = _asked(made)
        if find_workload(asked.workload) is None and not asked.is_program:
            raise CatalogError([unknown_workload(asked.workload)])
        if made.get("testbed") is None:
            raise CatalogError(["testbed: found none; allowed: an id or a file"])
        return [Planned(made, point) for point in asked.points()]

    def _parameter(self, made: Mapping[str, Any], path: str) -> Parameter[Value]:
        """What the description says of a path, without what-if settings."""
        if "testbed" not in made:
            raise CatalogError(["testbed: found none; allowed: an id or a file"])
        machine = replace(_asked(made), overrides={}).machine()
        known = self._parameters.setdefault(id(machine), {p.path: p for p in machine.parameters})
        if path not in known:
            known |= {p.path: p for p in machine.parameters}
        if path not in known:
            raise CatalogError(
                [f"found {path!r}, which {machine.id} has not{nearest(path, known)}"]
            )
        return known[path]

    def _times(self, made: Mapping[str, Any], path: str, times: Times) -> Any:
        if "." not in path:
            raise CatalogError([f"{path}: found {times}; allowed: of a path of --set only"])
        parameter = self._parameter(made, path)
        if isinstance(parameter.value, bool) or not isinstance(parameter.value, int):
            raise CatalogError(
                [f"--set {path}: found {times} of {parameter.text}, which is no number"]
            )
        return _text(round(parameter.value * times.factor), parameter.unit)

    def _value(self, expression: Expression, label: str, made: Mapping[str, Any]) -> Any:
        settings = {}
        for name in expression.names:
            if "." in name:
                settings[name] = self._number(made, name)
            elif name in made:
                settings[name] = made[name]
            elif name in OPTIONS and (workload := find_workload(made.get("workload"))):
                settings[name] = getattr(workload.defaults, name)
            else:
                raise CatalogError([f"{label}: found {name!r}, which is not set here"])
        try:
            return expression.value(settings)
        except ExpressionError as error:
            raise CatalogError([f"{label}: {error}"]) from None

    def _number(self, made: Mapping[str, Any], path: str) -> Any:
        """What a path is set to, in base units."""
        parameter = self._parameter(made, path)
        if path not in made:
            return parameter.value
        unit = unit_of(parameter.unit)
        if unit is not None:
            return unit.parse_argument(str(made[path]))
        try:
            return int(made[path])
        except ValueError:
            return str(made[path])

    def _written(self, made: Mapping[str, Any], name: str, value: Any) -> Any:
        if "." not in name or isinstance(value, str | bool):
            return value
        return _text(round(value), self._parameter(made, name).unit)


def _asked(made: Mapping[str, Any]) -> Experiment:
    named = {name: one for name, one in made.items() if name not in ("workload", "testbed")}
    return Experiment.of(made.get("workload", ""), made.get("testbed", ""), **named)


def unit_of(base: str) -> Unit | None:
    """Return the dimension whose values are kept in a unit, if it is one."""
    return next((unit for unit in UNITS.values() if unit.base == base), None)


def _text(value: int, base: str) -> Any:
    unit = unit_of(base)
    return value if unit is None else unit.format(value)
