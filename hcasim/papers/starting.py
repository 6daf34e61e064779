"""The file that an experiment of one's own begins with: another, and what else may be set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hcasim.catalog.folders import is_path
from hcasim.catalog.starting import comment, dotted, word
from hcasim.ground.quantities import QUANTITIES
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import plan
from hcasim.papers.scenario import AS_IN_ROWS, Options, Scenario, Series
from hcasim.workloads import find_workload
from hcasim.workloads.options import AXES, OPTIONS

PAPER = "own"
_HEAD = (
    "An experiment like {base}, and at first the same. Change what differs. To set what stands in "
    "a comment, take the # before its line away; its value is the one that holds without it. Where "
    "an id of a testbed or an adapter stands, the path of a file may stand, too. Use:"
)
_PLACE = (
    "To find it by its id, {paper}/{name}, put it into scenarios/{paper} of a folder that "
    "HCASIM_PATH names."
)
_MEANINGS = {
    "sizes": (
        "Bytes of a message; of sizes, qps, reuse, processes, clients and nodes one may have "
        "several values: the x axis"
    ),
    "mtu": "Bytes of a packet; without it the testbed's",
    "testbed": "Another than that of all series",
    "workload": "Another than that of all series",
    "firmware_mode": "Which of its interfaces the adapter offers",
    "chipset_flag": "Whether bursts of the host's PCI-X bridge run on",
}
_AXES = (
    "What is drawn: of each row the field, over what has several values. kind may be lines or "
    "bars, yscale linear or log, ymax the upper end."
)
_CLAIMS = "What you state of it, which reproduce judges. This one is an example."


def starting_scenario(name: str, base: str, folder: Path) -> str:
    """Write a scenario that measures the same as another, with comments on what else may be set.

    Parameters:
        name: of the file.
        base: id or file of the other, a file as seen from the current folder.
        folder: where it will lie.

    Returns:
        The text, which is valid as it is; it states nothing.

    Raises:
        CatalogError: no such base, or every fault of its file.
    """
    scenario = load_scenario(base)
    own = f"./{name}.toml"
    lines = [
        *comment(_HEAD.format(base=scenario.id)),
        *(f"##     hcasim {command} {own}" for command in ("run", "show")),
        *comment(_PLACE.format(paper=PAPER, name=name)),
        f"title = {word(f'{name}, like: {scenario.title}')}",
        f"paper = {word(PAPER)}",
        f"figure = {word(name)}",
        f"section = {word('none')}",
        f"testbed = {word(_seen(scenario.testbed, folder))}",
        *comment("The benchmark; hcasim show WORKLOAD has its options."),
        f"workload = {word(scenario.workload)}",
        "",
        "[options]",
        *_settings(scenario.options, Options, _usual(scenario)),
    ]
    for number, (key, series) in enumerate(scenario.series.items()):
        lines += ["", f"[{dotted(('series', key))}]"]
        table = {
            one: _seen(value, folder) if one in ("testbed", "adapter") else value
            for one in Series.model_fields
            if (value := getattr(series, one)) not in (None, "")
        }
        if number:
            lines += (f"{one} = {word(value)}" for one, value in table.items())
        else:
            usual = _usual(scenario)
            # What all series have, or may vary, is no matter of one.
            usual = {one: usual[one] for one in usual if one not in Options.model_fields}
            lines += _settings(table, Series, usual)
    lines += ["", *comment(_AXES), "[axes]"]
    axes = scenario.axes.model_dump(exclude_none=True)
    lines += (f"{key} = {word(value)}" for key, value in axes.items())
    return "\n".join([*lines, *_claim(scenario, name)]) + "\n"


def _seen(name: str, folder: Path) -> str:
    """Name a file as it is seen from the folder of the scenario."""
    return f"./{os.path.relpath(name, folder.resolve())}" if is_path(name) else name


def _usual(scenario: Scenario) -> Mapping[str, Any]:
    """What holds for all series without being set, as far as all understand it."""
    line, *others = plan(scenario).lines
    names = dict.fromkeys(one.jobs[0].workload for one in (line, *others))
    workloads = [one for one in map(find_workload, names) if one is not None]
    understood = frozenset.intersection(*(one.options for one in workloads))
    first, *rest = (one.build({}) for one in workloads)
    usual = {
        name: getattr(first, name)
        for name in OPTIONS
        if name in understood and all(getattr(one, name) == getattr(first, name) for one in rest)
    }
    # It depends on how many queue pairs and buffers there are.
    usual.pop("warmup", None)
    machine = line.jobs[0].machine
    usual |= {"mtu": machine.mtu, "sizes": usual.pop("size", None)}
    usual["firmware_mode"] = machine.groups[0].firmware_mode
    return {name: value for name, value in usual.items() if value not in (None, "")}


def _settings(
    chosen: Options | Mapping[str, Any], model: type[Options | Series], usual: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a line for each setting: what is chosen, and as comments what else may be."""
    found = dict(chosen)
    for key in model.model_fields:
        name = AS_IN_ROWS.get(key, key)
        option = OPTIONS.get(name)
        value = found.get(key)
        if value is None and key not in usual:
            continue
        meaning = _MEANINGS.get(key, "")
        if option is not None:
            allowed = ", ".join(option.words) or ("" if option.is_flag else option.allowed)
            meaning = meaning or option.help
            meaning += f" ({allowed})" * bool(allowed)
        yield from comment(meaning)
        several = value if isinstance(value, tuple) else (value,)
        if value is None:
            yield f"# {key} = {word(usual[key])}"
        elif name in AXES:
            shown = [AXES[name].label(one) if AXES[name].is_size else one for one in several]
            yield f"{key} = {word(shown if len(shown) > 1 else shown[0])}"
        else:
            yield f"{key} = {word(value)}"


def _claim(scenario: Scenario, name: str) -> Iterator[str]:
    """Yield a claim as a comment, if what is drawn is one that claims are about."""
    about = ("latency", "bandwidth", "rate", "memory", "time")
    drawn = scenario.axes.field
    quantity = next((one for one in about if QUANTITIES[one].field == drawn), None)
    if quantity is None:
        return
    series = next(iter(scenario.series))
    table = {
        "id": f"{name.upper()}-1",
        "section": "none",
        "system": scenario.series[series].label,
        "statement": f"{quantity} at the first point",
        "quantity": quantity,
        "kind": "value",
        "published": 1.0,
        "unit": next(iter(QUANTITIES[quantity].units)),
        "relation": "=",
    }
    yield ""
    yield from comment(_CLAIMS)
    yield "# [[claims]]"
    yield from (f"# {key} = {word(value)}" for key, value in table.items())
    yield f'# measure = {{ series = {word(series)}, select = "smallest" }}'
