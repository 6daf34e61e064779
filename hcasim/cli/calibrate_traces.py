"""`hcasim calibrate TRACE...`: its words turned into a fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcasim.cli.command import read_settings
from hcasim.cli.output import note
from hcasim.cli.outputs import Output, output_faults
from hcasim.ground.errors import CatalogError as Faults

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hcasim.calibrate.objective import Budget, Run
    from hcasim.calibrate.report import FitReport
    from hcasim.calibrate.request import Prepared
    from hcasim.runs.store import Store

_BUDGET = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s?)")


@dataclass(frozen=True)
class Asked:
    """A fit that has no faults and was not begun.

    Parameters:
        find: searches, with what simulates points.
        files: what to write, the fit first, each with its text.
        remedy: what helps a search that does not end.
    """

    find: Callable[[Run], FitReport]
    files: Sequence[tuple[Path | None, Callable[[FitReport], str]]]
    remedy: str


def of_traces(
    words: tuple[str, ...],
    testbed: str | None,
    output: Output,
    given: dict[str, Any],
    store: Store | None,
) -> Asked:
    """Return the search that traces and the words of the command ask for.

    Parameters:
        words: files.
        testbed: id or file.
        output: the fit.
        given: the other options by name.
        store: what is kept of a search that is cut off.
    """
    from hcasim.calibrate.fit import fit_traces
    from hcasim.calibrate.freeing import RULE
    from hcasim.calibrate.page import document
    from hcasim.pages import write

    traces = [(f"the trace {word}", Path(word)) for word in words]
    outputs = [output, Output("--report", given["report"], [".html", ".htm"])]
    prepared = _prepared(words, testbed, given, [*output_faults(outputs, traces)])
    for text in prepared.notes:
        note(text)
    for path, entry in prepared.fit.entries.items():
        low, high = entry.bounds or ("", "")
        note(f"free: {path} from {entry.start}, {low} to {high}")
    if not all("=" in one for one in given["free"]):
        note(RULE)
    note(
        f"{len(prepared.gathered.observations)} points at each evaluation; about "
        f"{prepared.evaluations} evaluations are expected"
    )
    remedy = "narrower bounds or fewer free parameters"
    if prepared.request.budget is not None:
        goes_on = "" if store is None else f", with which it goes on from {store.folder}"
        remedy = f"a larger --budget{goes_on}"
    return Asked(
        lambda run: fit_traces(prepared, run),
        [
            (output.file, lambda found: found.to_toml()),
            (given["report"], lambda found: write(document(found), ".html")),
        ],
        remedy,
    )


def _prepared(
    words: tuple[str, ...], testbed: str | None, given: dict[str, Any], faults: list[str]
) -> Prepared:
    """Turn the arguments into a fit, or say every fault, those of the files with them."""
    from hcasim.calibrate.request import Request, prepare_fit
    from hcasim.catalog import CatalogError, list_ids, one_of
    from hcasim.ground.units import UnitError, parse_size
    from hcasim.runs.experiment import Experiment

    if testbed is None:
        allowed = one_of(list_ids("testbeds"))
        faults.append(f"--testbed: missing, which the traces are compared with; allowed: {allowed}")
    numbers: dict[str, Any] = {}
    for name, read in (("seed", _count), ("floor", _percent), ("budget", _budget)):
        if given[name] is not None:
            try:
                numbers[name] = read(given[name])
            except ValueError as error:
                faults.append(f"--{name}: found {given[name]!r}; allowed: {error}")
    if given["mtu"] is not None:
        try:
            numbers["mtu"] = parse_size(given["mtu"])
        except UnitError as error:
            faults.append(f"--mtu: {error}")
    settings = read_settings(given["settings"], faults)
    chosen = {name: given[name] for name in ("intervals", "loss") if given[name] is not None}
    base = Experiment.of(
        "",
        testbed or "",
        adapter=given["adapter"],
        stack=given["stack"],
        host=given["host"],
        mtu=numbers.pop("mtu", None),
        switch=False if given["no_switch"] else None,
        overrides=settings,
    )
    request = Request(
        traces=tuple(Path(word) for word in words),
        base=base,
        free=given["free"],
        holdout=tuple(dict.fromkeys(given["holdout"])),
        allow_mismatch=bool(given["allow_mismatch"]),
        **chosen,
        **numbers,
    )
    if testbed is not None:
        try:
            prepared = prepare_fit(request)
        except CatalogError as error:
            faults += error.faults
    if faults:
        raise Faults(faults)
    return prepared


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("a whole number")
    return int(text)


def _percent(text: str) -> float:
    try:
        return float(text) / 100
    except ValueError:
        raise ValueError("percent, such as 1 or 0.5") from None


def _budget(text: str) -> Budget:
    from hcasim.calibrate.objective import Budget

    match = _BUDGET.fullmatch(text.strip())
    if match is None or not float(match[1]) or ("." in match[1] and not match[2]):
        raise ValueError("a number of evaluations, such as 200, or of seconds, such as 90s")
    return Budget(seconds=float(match[1])) if match[2] else Budget(evaluations=int(match[1]))
