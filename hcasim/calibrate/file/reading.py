"""Reading a calibration file: whatever is wrong with it is found before any of it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path

from hcasim.calibrate.entries import (
    entry_faults,
    fit_path,
    leaf_at,
    partners,
    prefixes,
    quantity_at,
    renamed,
)
from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import (
    CatalogError,
    Testbed,
    list_ids,
    load,
    nearest,
    one_of,
    read_toml,
    resolve,
)
from hcasim.catalog.fields import Leaf
from hcasim.catalog.fits import Made, check_fit
from hcasim.catalog.folders import is_known
from hcasim.catalog.link import mtu_fault
from hcasim.catalog.part import BUS, BUS_KIND
from hcasim.ground.errors import Fault, display, name_fault, refuse
from hcasim.ground.reading import MEASURED, leads_to, read_file
from hcasim.ground.units import UnitError

_ALLOWED = "a calibration file, as `hcasim calibrate ... -o FILE` writes"
_OF_TRACES = ("interval", "bounds", "start", "verdict", "samples")
"""What each value of a fit to traces has."""
PARTS = {"testbed": "testbeds", "adapter": "adapters", "stack": "stacks", "host": "hosts"}
"""What a fit to traces names of the machine, and the kind of each."""


def read_calibration(file: str | PathLike[str]) -> Calibration:
    """Read a calibration file; a fit of the catalogue is one, too.

    Raises:
        CatalogError: every fault of its form, or every fault of what it says.
    """
    refuse(name_fault("file", file, "the path of a file"))
    file = Path(file)
    where = display(file)
    try:
        table = read_toml(file)
    except CatalogError as error:
        told = _other_form(file)
        raise CatalogError([told.at(where)] if told else error.faults) from None
    refuse("" if table else Fault(where, "", _ALLOWED, text="an empty file"))
    refuse(*check_fit(file, table))
    fit = Calibration.at(file, table)
    if fit.made is not None:
        _find_machine(file, fit.made)
    wrong = [*_value_faults(fit), *_setting_faults(fit), *_made_faults(fit)]
    refuse(*(one.at(": ".join(filter(None, (where, one.place)))) for one in wrong))
    refuse(*(one.at(f"{where}: {one.place}") for one in _contradictions(fit)))
    return fit


def _find_machine(file: Path, made: Made) -> None:
    """Look beside the file for a testbed and an adapter that no folder of the catalogue has."""
    names = []
    for name, kind in PARTS.items():
        found = getattr(made, name)
        beside = file.absolute().with_name(f"{found.replace('/', '')}.toml")
        foreign = (
            leads_to(beside, Path.is_file)
            and beside != file.absolute()
            and not is_known(found, kind)
        )
        names.append(str(beside) if foreign else found)
    with suppress(CatalogError):
        # From here on all their parts are known by their ids.
        resolve(names[0], adapter=names[1], stack=names[2] or None, host=names[3] or None)


def _other_form(file: Path) -> Fault | None:
    """Say what a file in another form is that a user may have at hand."""
    from hcasim.traces.schema import SCHEMA

    try:
        text = read_file(file, MEASURED).decode("utf-8-sig").lstrip()
    except (CatalogError, ValueError):
        return None
    if text.startswith("{") and f'"{SCHEMA}"' in text.partition("\n")[0]:
        words = f"hcasim calibrate {file.name} --testbed ID --free PATH -o FILE"
        return Fault("", "a trace", "", said=f"found a trace; `{words}` makes a calibration of it")
    return Fault("", "JSON", _ALLOWED, text="JSON") if text.startswith("{") else None


def _value_faults(fit: Calibration) -> Iterator[Fault]:
    """Say which fitted values are no parameters, not allowed, or contradict themselves."""
    for path, entry in fit.entries.items():
        leaf, key = quantity_at(path), f"entries.{path}"
        if isinstance(leaf, Fault):
            yield _within(key, leaf)
        elif entry.tied_to:
            try:
                leaf.read(entry.value)
            except UnitError as error:
                yield error.fault.at(f"{key}.tied_to")
        else:
            yield from (one.at(f"{key}.{one.place}") for one in entry_faults(leaf, entry))
            lacks = (k for k in _OF_TRACES if fit.made is not None and not getattr(entry, k))
            yield from (Fault(f"{key}.{k}", None, "", said="missing") for k in lacks)
        for partner in partners(entry.verdict):
            if partner not in fit.entries:
                found, hint = (
                    f"found {partner!r}, which is not fitted",
                    nearest(partner, fit.entries),
                )
                yield Fault(f"{key}.verdict", partner, "", hint, said=found)
    counts = {path: len(one.samples) for path, one in fit.entries.items() if one.samples}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {path}" for path, count in counts.items())
        yield Fault("entries", counts, "as many of each", text=f"samples: {found}")


def _within(key: str, fault: Fault) -> Fault:
    """Return a fault with a key of the file as its place; its own place goes into its words."""
    inner = f"{fault.place}: " if fault.place else ""
    return Fault(key, fault.found, fault.allowed, fault.hint, said=inner + fault.said)


def _starts(made: Made | None) -> list[tuple[str, str]]:
    """Return the prefixes of the machine that was fitted if the catalogue has it."""
    needed = ("testbed", "adapter")
    if made is None or any(
        not is_known(getattr(made, name), kind) and (name in needed or getattr(made, name))
        for name, kind in PARTS.items()
    ):
        return []
    return prefixes(made.testbed, made.adapter, made.stack or None, made.host or None)


def _setting_faults(fit: Calibration) -> Iterator[Fault]:
    """Say which settings of the base description are unknown, not allowed, or fitted, too."""
    starts = _starts(fit.made)
    buses = [fit_path(starts, path) for path in (BUS, BUS_KIND)]
    for path, text in fit.settings.items():
        if path in fit.entries:
            yield Fault(f"settings.{path}", text, "one of them", said="found, and fitted, too")
        if path in buses:
            continue  # the bus of another adapter, which a machine looks up
        leaf = leaf_at(path)
        if isinstance(leaf, Fault):
            full = fit_path(starts, path)
            if full != path and (full in buses or isinstance(leaf_at(full), Leaf)):
                hint = f"; did you mean {full!r}?"
                leaf = Fault("", path, "", hint, said="unknown parameter")
            yield _within(f"settings.{path}", leaf)
            continue
        try:
            leaf.read_argument(text)
        except UnitError as error:
            yield error.fault.at(f"settings.{path}")


def _made_faults(fit: Calibration) -> Iterator[Fault]:
    """Say what is missing of how a fit was made, and what the catalogue does not have."""
    made, papers = fit.made, list_ids("calibrations")
    if made is None:
        if fit.id not in papers:
            fits = f"the id of a fit to published numbers, {one_of(papers)}"
            allowed = f"that of a fit to traces, or {fits}"
            yield Fault("", fit.id, allowed, nearest(fit.id, papers), "no table made")
        elif not fit.entries:
            yield Fault("", {}, _ALLOWED, text="no fitted value")
        return
    if not made.converged:
        allowed = "true, for a part of a search is no fit"
        yield Fault("made.converged", False, allowed, text="false")
    for name, kind in PARTS.items():
        known, found = list_ids(kind), getattr(made, name)
        if found and not is_known(found, kind):
            given = f", or the {name} of a file that lies beside this one or is given as --{name}"
            yield Fault(f"made.{name}", found, f"{one_of(known)}{given}", nearest(found, known))
    if is_known(made.testbed, "testbeds"):
        bed = load(made.testbed, "testbeds").model
        assert isinstance(bed, Testbed)
        kinds = ["infiniband"] if bed.link.kind == "infiniband" else ["infiniband", "ethernet"]
        if wrong := mtu_fault(made.mtu, repr(made.mtu), *kinds):
            yield wrong.at("made.mtu")


def _contradictions(fit: Calibration) -> Iterator[Fault]:
    """Say what makes the machine that was fitted contradict itself."""
    made = fit.made
    if made is None:
        return
    starts = _starts(made)
    changed: dict[str, str] = {}
    keys: dict[str, str] = {}
    values = {f"settings.{path}": (path, text) for path, text in fit.settings.items()}
    values |= {f"entries.{path}": (path, str(one.value)) for path, one in fit.entries.items()}
    for key, (path, text) in values.items():
        names = renamed(path, starts)
        if not names:
            allowed = one_of([f"{one}*" for one, _ in starts])
            machine = f"{made.testbed} with {made.adapter}"
            yield Fault(key, path, allowed, said=f"no part of {machine}, as made says")
            continue
        changed[names[0]], keys[names[0]] = text, key
    try:
        resolve(
            made.testbed,
            adapter=made.adapter,
            stack=made.stack or None,
            host=made.host or None,
            overrides=changed,
            mtu=made.mtu,
            switch=made.switch or not made.no_switch,
        )
    except CatalogError as error:
        for fault in error.faults:
            paths, rest = settings_of(fault)
            place = ", ".join(keys.get(path, path) for path in paths) or "made"
            yield Fault(place, [changed.get(path) for path in paths], "", said=rest)


def settings_of(fault: str) -> tuple[list[str], str]:
    """Return which what-if settings a fault of a machine is about, if any, and the rest of it."""
    if not fault.startswith("--set "):
        return [], fault
    names, _, rest = fault.removeprefix("--set ").partition(": ")
    paths = names.split(", ")
    # Of all that was set, what contradicts itself is in one section.
    section = rest.partition(":")[0]
    return [path for path in paths if path.startswith(f"{section}.")] or paths, rest
