"""From the settings of a sweep to its points: each value with each other, or in step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from math import prod
from typing import Any

from hcasim.catalog import CatalogError
from hcasim.catalog.section import Parameter, Value
from hcasim.ground.errors import is_one, nearest, one_of, written
from hcasim.ground.units import UnitError
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import CHOICES
from hcasim.runs.point import Point
from hcasim.runs.program import LAUNCH, Launch
from hcasim.study.sweep.expression import Expression, ExpressionError, read_expression
from hcasim.study.sweep.values import MOST, Times, several, unit_of
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
Planned = tuple[Experiment, list[Point | Launch]]
"""An experiment and its points."""


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

    @property
    def _groups(self) -> list[tuple[str, ...]]:
        """The names of settings that vary together; most are alone."""
        together = {name: group for group in self.zipped for name in group}
        return list(dict.fromkeys(together.get(name, (name,)) for name in self.settings))

    def combinations(self) -> Iterator[Combination]:
        """Each combination of values; the last setting varies fastest."""
        rows = (zip(*(self.settings[n] for n in one), strict=True) for one in self._groups)
        names = [name for one in self._groups for name in one]
        for parts in product(*rows):
            yield dict(zip(names, chain.from_iterable(parts), strict=True))

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return prod(len(self.settings[first]) for first, *_ in self._groups)

    def points(self) -> list[Planned]:
        """Return the experiment of each combination, and its points.

        Raises:
            CatalogError: every fault, and of how many combinations it is.
        """
        found: list[Planned] = []
        faults: dict[str, list[Combination]] = {}
        for combination in self.combinations():
            if len(faults) >= _ENOUGH:
                break
            try:
                found += self._made(combination)
            except (CatalogError, UnitError) as error:
                for fault in getattr(error, "faults", (str(error),)):
                    faults.setdefault(fault, []).append(combination)
        if faults:
            raise CatalogError(self._told(faults))
        if not found:
            raise CatalogError([f"where: no combination of {self.size} fulfils it"])
        return found

    def _told(self, faults: Mapping[str, list[Combination]]) -> list[str]:
        lines = []
        for fault, where in faults.items():
            if len(where) < self.size:
                first = ", ".join(f"{n}={where[0][n]}" for n in self.axes if n in where[0])
                fault += f" ({len(where)} of {self.size} combinations, the first with {first})"
            lines.append(fault)
        rest = len(lines) - _TOLD
        known = f"{rest} or" if len(lines) >= _ENOUGH else rest
        return lines if rest <= 0 else [*lines[:_TOLD], f"... and {known} more faults"]

    def _made(self, combination: Combination) -> list[Planned]:
        made = dict(combination)
        for name, value in combination.items():
            if isinstance(value, Times):
                made[name] = _times(made, name, value)
        for name, expression in self.let.items():
            value = _value(expression, f"let {name}", made)
            if "." in name and not isinstance(value, str | bool):
                value = _text(round(value), _parameter(made, name).unit)
            made[name] = value
        if self.where is not None and not _value(self.where, "where", made):
            return []
        asked = _asked(made)
        if find_workload(asked.workload) is None and not asked.is_program:
            raise CatalogError([unknown_workload(asked.workload)])
        return [(asked, asked.points())]


def _parameter(made: Mapping[str, Any], path: str) -> Parameter[Value]:
    """Return what the description says of a path, without what-if settings."""
    machine = replace(_asked(made), overrides={}).machine()
    known = {one.path: one for one in machine.parameters}
    if path not in known:
        raise CatalogError([f"found {path!r}, which {machine.id} has not{nearest(path, known)}"])
    return known[path]


def _times(made: Mapping[str, Any], path: str, times: Times) -> Any:
    if "." not in path:
        raise CatalogError([f"{path}: found {times}; allowed: of a path of --set only"])
    parameter = _parameter(made, path)
    if isinstance(parameter.value, bool) or not isinstance(parameter.value, int):
        raise CatalogError([f"--set {path}: found {times} of {parameter.text}, which is no number"])
    return _text(round(parameter.value * times.factor), parameter.unit)


def _value(expression: Expression, label: str, made: Mapping[str, Any]) -> Any:
    settings = {}
    for name in expression.names:
        if "." in name:
            settings[name] = _number(made, name)
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


def _number(made: Mapping[str, Any], path: str) -> Any:
    """Return what a path is set to, in base units."""
    parameter = _parameter(made, path)
    if path not in made:
        return parameter.value
    if unit := unit_of(parameter.unit):
        return unit.parse_argument(str(made[path]))
    try:
        return int(made[path])
    except ValueError:
        return str(made[path])


def read_plan(
    settings: Mapping[str, Any],
    zipped: Iterable[Sequence[str]] = (),
    let: Mapping[str, str] | None = None,
    where: str | None = None,
) -> Plan:
    """Read what a sweep varies.

    Parameters:
        settings: by name or path, a value or several as `several` reads them, or None.
        zipped, let, where: as of `Plan`, the last two as text.

    Raises:
        CatalogError: every fault.
    """
    faults: list[str] = []
    values: dict[str, list[Any]] = {}
    groups = tuple(tuple(group) for group in zipped)
    in_step = {name for group in groups for name in group}
    given = {name: one for name, one in settings.items() if one is not None}
    for name, one in given.items():
        if not _is_setting(name):
            faults.append(_unknown(name, "setting", len(faults)))
            continue
        try:
            values[name] = several(one, OPTIONS.get(name), again=name in in_step)
        except ValueError as error:
            faults += [f"{name}: {line}" for line in str(error).splitlines()]
    if "switch" in values:
        values["switch"] = [_SWITCH.get(one, one) for one in values["switch"]]
    faults += _zip_faults(groups, values)
    read: dict[str, Expression] = {}
    # A number is an expression, too.
    every: Mapping[str, Any] = let or {}
    texts = {f"let {n}": t if isinstance(t, str) else written(t) for n, t in every.items()}
    for label, text in {**texts, **({} if where is None else {"where": where})}.items():
        name = label.removeprefix("let ")
        if label != "where" and not _is_setting(name):
            faults.append(_unknown(name, "let", len(faults)))
        elif name in given:
            faults.append(f"{label}: contradicts the values of {name}; leave one out")
        try:
            read[name] = read_expression(text)
        except ExpressionError as error:
            faults.append(f"{label}: {error}")
            continue
        unknown = (used for used in read[name].names if not _is_setting(used))
        faults += [f"{label}: {_unknown(used, 'name', len(faults))}" for used in unknown]
    condition = read.pop("where", None)
    plan = Plan(values, groups, read, condition)
    if not faults and plan.size > MOST:
        faults.append(f"found {plan.size} combinations; allowed: {MOST}, or several sweeps")
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    return plan


def _is_setting(name: str) -> bool:
    return "." in name or name in SETTINGS


def _unknown(name: str, what: str, before: int) -> str:
    hint = nearest(name, SETTINGS, before)
    return f"{what}: found {name!r}; allowed: {one_of(SETTINGS)}, or a path of --set{hint}"


def _zip_faults(groups: Sequence[Sequence[str]], values: Mapping[str, list[Any]]) -> Iterator[str]:
    times = Counter(name for group in groups for name in group)
    for group in groups:
        counts = [len(values.get(name, ())) for name in group]
        once = all(times[name] == 1 for name in group)
        if len(group) < 2 or len({*counts}) > 1 or 0 in counts or not once:
            found = ", ".join(f"{n} of {name}" for n, name in zip(counts, group, strict=True))
            allowed = "two settings or more, each in one group only, with as many values each"
            yield f"zip {','.join(group)}: found {found} values; allowed: {allowed}"


def _asked(made: Mapping[str, Any]) -> Experiment:
    named = {name: one for name, one in made.items() if name not in ("workload", "testbed")}
    if made.get("testbed") is None or is_one(made["testbed"], [""]):
        raise CatalogError(["testbed: found none; allowed: an id or a file"])
    return Experiment.of(made.get("workload", ""), made["testbed"], **named)


def _text(value: int, base: str) -> Any:
    unit = unit_of(base)
    return value if unit is None else unit.format(value)
