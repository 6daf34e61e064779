"""The file that a description or an experiment of one's own begins with: its base, as comments."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic import BaseModel

from hcasim.catalog.fields import Leaf, PlainKey, Table, keys_of
from hcasim.catalog.folders import a_model, is_path
from hcasim.catalog.loader import load
from hcasim.catalog.model_file import Loaded
from hcasim.catalog.section import Description
from hcasim.ground.quantities import QUANTITIES
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import plan
from hcasim.papers.scenario import AS_IN_ROWS, Options, Scenario
from hcasim.workloads import WORKLOADS
from hcasim.workloads.options import AXES, OPTIONS

_WIDTH = 98
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_MODEL = (
    "What differs from {base} stands here; all else is inherited, fitted values with their "
    "evidence, too. To change a value, take the # before its line away. A value has its unit, its "
    "evidence (spec, datasheet, driver or assumed; chosen also has a list of claims) and a source "
    "that says where it comes from. If you write a [section], these lines stay before it. Use:"
)
PAPER = "own"
_SCENARIO = (
    "An experiment like {base}, and at first the same. Change what differs. To set what stands in "
    "a comment, take the # before its line away; its value is the one that holds without it. Where "
    "an id of a testbed or an adapter stands, the path of a file may stand, too. To find it by its "
    "id, own/{name}, put it into scenarios/own of a folder that HCASIM_PATH names. Use:"
)
_OPTIONS = (
    "Of all series; a [series] may have its own. Of sizes, qps, reuse, processes, clients and "
    "nodes one may have several values: the x axis."
)
_AXES = (
    "What is drawn: of each row the field, over what has several values. kind may be lines, bars "
    "or table, yscale linear or log, ymax the upper end, frames the parts side by side."
)
_CLAIMS = "What you state of it, which reproduce judges. This one is an example."


def starting_file(kind: str, name: str, base: str, folder: Path) -> str:
    """Return a file that is the same as another, with comments on what may be changed.

    Parameters:
        kind: one of `hcasim.catalog.MODELS`, or "scenarios": the file then measures the same, and
            states nothing.
        name: of the file, and of a model its id.
        base: id or file of the other, a file as seen from the current folder.
        folder: where it will lie.

    Raises:
        CatalogError: no such base, or every fault of its file.
    """
    if kind == "scenarios":
        lines = _scenario(name, load_scenario(base), folder)
    else:
        loaded = load(base, kind)
        base = _seen(str(loaded.file), folder) if is_path(base) else base
        lines = _model(a_model(kind).split()[1], name, base, loaded)
    return "\n".join(lines) + "\n"


def _model(noun: str, name: str, base: str, loaded: Loaded) -> Iterator[str]:
    own = f"./{name}.toml"
    uses = [f"show {own}"]
    if noun in ("adapter", "testbed"):
        bed = own if noun == "testbed" else f"ID --adapter {own}"
        uses.append(f"bench write_lat --testbed {bed}")
    yield from _head(_MODEL.format(base=loaded.model.id), uses)
    yield ""
    title = f"{name}, based on: {loaded.model.title}"
    yield from _used({"id": name, "title": title, "based_on": base})
    yield from _keys(loaded, type(loaded.model), loaded.values, ())


def _keys(
    loaded: Loaded, model: type[BaseModel], values: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[str]:
    """Yield the lines of a section: its own keys, and below them its sections."""
    parameters = {one.path: one for one in loaded.parameters}
    skipped = {"kind", *Description.model_fields}
    own = {name: key for name, key in keys_of(model).items() if name in values.keys() - skipped}
    for name, key in own.items():
        place = (*path, name)
        text = model.model_fields[name].description or ""
        if isinstance(key, Leaf):
            one = parameters[".".join(place)]
            base = f", from {one.inherited_from}" if one.inherited_from else ""
            yield ""
            yield from _comment(f"{text or name}: {key.allowed}")
            yield from _comment(f"{one.evidence}{base}: {one.source}")
            value = f"value = {_word(key.raw(one.value))}"
            yield f'# {_dotted(place)} = {{ {value}, evidence = "assumed", source = "what if" }}'
        elif isinstance(key, PlainKey) and values[name]:
            yield ""
            yield from _comment(text)
            yield f"# {_dotted(place)} = {_word(values[name])}"
    for name, key in own.items():
        if isinstance(key, Table):
            for part, inside in key.parts(name, values[name]).items():
                section = key.models[inside.get("kind", "")]
                yield from _keys(loaded, section, inside, (*path, *part.split(".")))


def _scenario(name: str, scenario: Scenario, folder: Path) -> Iterator[str]:
    own = f"./{name}.toml"
    yield from _head(_SCENARIO.format(base=scenario.id, name=name), (f"run {own}", f"show {own}"))
    title, testbed = f"{name}, like: {scenario.title}", _seen(scenario.testbed, folder)
    yield from _used({"title": title, "paper": PAPER, "figure": name, "section": "none"})
    yield from _used({"testbed": testbed, "workload": scenario.workload})
    yield from ("", *_comment(_OPTIONS), "[options]")
    chosen = scenario.options.model_dump(exclude_none=True)
    yield from _used({key: _labelled(key, value) for key, value in chosen.items()})
    for key, value in _usual(scenario).items():
        if key in Options.model_fields and key not in chosen:
            option = OPTIONS.get(AS_IN_ROWS.get(key, key))
            if option is not None:
                allowed = ", ".join(option.words) or ("" if option.is_flag else option.allowed)
                yield from _comment(option.help + f" ({allowed})" * bool(allowed))
            yield f"# {key} = {_word(value)}"
    for key, series in scenario.series.items():
        table = series.model_dump(exclude_none=True, exclude_defaults=True)
        seen = {one: _seen(table[one], folder) for one in ("testbed", "adapter") if one in table}
        yield from ("", f"[{_dotted(('series', key))}]", *_used(table | seen))
    yield from ("", *_comment(_AXES), "[axes]")
    yield from _used(scenario.axes.model_dump(exclude_none=True))
    yield from _claim(scenario, name)


def _labelled(key: str, value: object) -> object:
    """Write sizes as papers do."""
    if key != "sizes" or not isinstance(value, tuple):
        return value
    labels = [AXES["size"].label(one) for one in value]
    return labels if len(labels) > 1 else labels[0]


def _head(words: str, uses: Iterable[str]) -> Iterator[str]:
    yield from _comment(words)
    yield from (f"##     hcasim {use}" for use in uses)


def _comment(text: str) -> list[str]:
    # Two signs tell words from what can be used.
    return [f"## {line}" for line in wrap(text, _WIDTH)]


def _used(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_dotted((key,))} = {_word(value)}" for key, value in table.items())


def _dotted(path: tuple[str, ...]) -> str:
    """Write a path as the key of a TOML file."""
    return ".".join(one if _BARE.fullmatch(one) else _word(one) for one in path)


def _word(value: object) -> str:
    """Write a value as TOML, whose words, numbers and lists are those of JSON."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_used(value))} }}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _seen(name: str, folder: Path) -> str:
    """Name a file as it is seen from the folder of the scenario."""
    return f"./{os.path.relpath(name, folder.resolve())}" if is_path(name) else name


def _usual(scenario: Scenario) -> Mapping[str, Any]:
    """What holds for all series without being set, as far as all understand it."""
    points = [line.jobs[0] for line in plan(scenario).lines]
    workloads = [WORKLOADS[name] for name in {one.workload for one in points}]
    understood = frozenset.intersection(*(one.options for one in workloads))
    built = [vars(one.build({})) for one in workloads]
    # The warm-up depends on how many queue pairs and buffers there are.
    alike = {name for name in understood - {"warmup"} if len({one[name] for one in built}) == 1}
    usual = {name: built[0][name] for name in OPTIONS if name in alike}
    usual |= {"mtu": points[0].machine.mtu, "sizes": usual.pop("size", None)}
    return {name: value for name, value in usual.items() if value not in (None, "")}


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
    yield from _comment(_CLAIMS)
    yield "# [[claims]]"
    yield from (f"# {line}" for line in _used(table))
    yield f'# measure = {{ series = {_word(series)}, select = "smallest" }}'
