"""What `bench` takes from a calibration file: values, samples, and how the machine was set up."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcasim.cli.output import note

if TYPE_CHECKING:
    from hcasim.calibrate.file.calibration import Calibration

_PARTS = ("adapter", "stack", "host")
"""What may be chosen instead of the testbed's."""


def calibrated(
    file: Path | None, count: int | None, given: dict[str, Any], faults: list[str]
) -> tuple[Calibration | None, dict[str, str], list[dict[str, str]]]:
    """Return the calibration of a file, the settings that it makes, and those of each sample."""
    if file is None:
        return None, {}, []
    from hcasim.calibrate.entries import identifier
    from hcasim.calibrate.file.reading import read_calibration
    from hcasim.catalog import CatalogError, resolve
    from hcasim.workloads import find_workload

    workload = find_workload(given["workload"])
    mpi = workload is not None and workload.mpi
    known = machine = None
    with suppress(CatalogError):
        # Files that are given by their paths are known by their ids from here on. What is wrong
        # with the machine is said when the points are prepared.
        machine = resolve(given["testbed"], **{part: given[part] for part in _PARTS}, mpi=mpi)
    try:
        known = read_calibration(file)
        if machine is None:
            return known, {}, []
        testbed = identifier(given["testbed"], "testbeds")
        adapter = identifier(given["adapter"] or machine.adapter.id, "adapters")
        _take_base(known, testbed, adapter, given)
        stack = identifier(given["stack"] or machine.stack.id, "stacks")
        host = identifier(given["host"] or machine.host.id, "hosts")
        base = known.overrides(testbed, adapter, stack=stack, host=host)
        by_hand = _by_hand(given)
        note_unused(known, testbed, adapter, stack, host, by_hand)
        chosen = () if count is None else known.chosen_samples(count)
        samples = [known.overrides(testbed, adapter, one, stack, host) for one in chosen]
        left = base.keys() - by_hand
        if samples and all(one[path] == base[path] for one in samples for path in left):
            note("--uncertainty: nothing that is left of the calibration is uncertain")
        return known, base, samples
    except CatalogError as error:
        faults += error.faults
        return known, {}, []


def fitted(
    file: Path, asked: dict[str, Any], overrides: dict[str, Any], faults: list[str]
) -> dict[str, str]:
    """Return the values of a calibration; what is asked for takes on its MTU and missing switch."""
    names = ("workload", "testbed", "adapter", "host", "stack")
    given = {name: asked.get(name) for name in (*names, "mtu")}
    several = [one for one in names if "," in (given[one] or "") or isinstance(given[one], list)]
    if several:
        found = f"found with several of {', '.join(several)}"
        faults.append(f"--calibration: {found}; allowed: one workload on one machine")
        return {}
    given["settings"] = [f"{path}=" for path in overrides]
    given["switch"] = asked.get("switch")
    given["no_switch"] = False if "switch" in asked else None
    _, base, _ = calibrated(file, None, given, faults)
    if given["mtu"] is not None:
        asked["mtu"] = given["mtu"]
    if given["no_switch"] or given["switch"]:
        asked["switch"] = not given["no_switch"] and given["switch"]
    return base


def fit_sides(
    file: Path | None,
    workload: str | None,
    sides: tuple[str, str],
    asked: dict[str, Any],
    faults: list[str],
) -> None:
    """Give each side that is a machine the values of a calibration; what is set by hand stays."""
    from hcasim.study.comparison.sides import is_result

    for letter, testbed in zip("ab", sides, strict=True):
        if file is None or faults or is_result(testbed):
            continue
        own, by_hand = asked[f"with_{letter}"], asked["overrides"]
        side = {**asked, **own, "workload": workload, "testbed": testbed}
        before = dict(side)
        base = fitted(file, side, {**by_hand, **{n: v for n, v in own.items() if "." in n}}, faults)
        taken = {
            name: side[name] for name in ("mtu", "switch") if side.get(name) != before.get(name)
        }
        base = {path: value for path, value in base.items() if path not in by_hand}
        asked[f"with_{letter}"] = {**base, **taken, **own}


def blamed(
    faults: Iterable[str], calibration: Calibration | None, given: dict[str, Any]
) -> list[str]:
    """Return faults of a machine; those of what the calibration has set name its file."""
    if calibration is None:
        return [*faults]
    from hcasim.calibrate.file.reading import settings_of
    from hcasim.ground.errors import display

    by_hand = _by_hand(given)
    found = []
    for fault in faults:
        paths, rest = settings_of(fault)
        own = [path for path in paths if path not in by_hand]
        words = ", ".join(path for path in paths if path in by_hand)
        where = f"{display(calibration.file)}: {', '.join(own)}"
        found.append(f"{where}{f', with --set {words}' if words else ''}: {rest}" if own else fault)
    return found


def _by_hand(given: dict[str, Any]) -> set[str]:
    return {setting.partition("=")[0].strip() for setting in given["settings"]}


def note_unused(
    calibration: Calibration,
    testbed: str,
    adapter: str,
    stack: str | None = None,
    host: str | None = None,
    by_hand: Collection[str] = (),
) -> None:
    """Say what was fitted and is no part of a machine, and what is used without its partners."""
    from hcasim.calibrate.entries import fit_path, partners, prefixes
    from hcasim.ground.errors import display

    file, starts = display(calibration.file), prefixes(testbed, adapter, stack, host)
    known = tuple(start for start, _ in starts)
    foreign = [path for path in calibration.entries if not path.startswith(known)]
    if foreign:
        paths = ", ".join(foreign)
        note(f"{file}: was fitted and is no part of {testbed} with {adapter}: {paths}")
    gone = {*foreign, *(fit_path(starts, path) for path in by_hand)}
    for path in (one for one in calibration.entries if one not in gone):
        lost = [one for one in partners(calibration.entries[path].verdict) if one in gone]
        if lost:
            others = " and ".join(lost)
            note(f"{file}: {path} was known only in combination with {others}, which is not used")


def _take_base(calibration: Calibration, testbed: str, adapter: str, given: dict[str, Any]) -> None:
    """Take on MTU and switch of what was calibrated where the words leave them open."""
    from hcasim.ground.errors import display

    switched = given["switch"] is not None or given["no_switch"] is not None
    kept = {name for name, one in given.items() if one is not None}
    kept |= {"switch", "no_switch"} if switched else set()
    found = {name: value for name, value in calibration.base().items() if name not in kept}
    words = " ".join("--no-switch" if n == "no_switch" else f"--{n} {v}" for n, v in found.items())
    made, file = calibration.made, display(calibration.file)
    if not found or made is None:
        return
    if calibration.is_of(testbed, adapter):
        given |= {name: value if value is True else str(value) for name, value in found.items()}
        note(f"{file}: was fitted with {words}, which holds here, too")
    else:
        machine = f"{made.testbed} with {made.adapter}"
        note(f"{file}: was fitted to {machine} with {words}, which is not taken on here")
