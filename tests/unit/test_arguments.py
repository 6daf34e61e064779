"""Arguments of the Python interface that are nothing that they may be are refused in words."""

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hcasim as hc

LIU, FIG = "liu2004", "liu2004/fig03"
NEITHER = "allowed: an id, or the path of a file"
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    *(
        (
            name,
            words,
            {"overrides": given},
            f"overrides: found {given!r}; allowed: a dictionary such as",
        )
        for name, words in (("machine", (LIU,)), ("bench", ("write_lat", LIU)), ("run", (FIG,)))
        for given in (["adapter.bus.lanes"], ("a", 1), "adapter.bus.lanes=4", 3, {3: 4})
    ),
    *(
        (name, words, {part: 3}, f"{part}: found 3; {NEITHER}")
        for name, words in (("machine", (LIU,)), ("run", (FIG,)), ("reproduce", (FIG,)))
        for part in ("adapter", "testbed")
        if (name, part) != ("machine", "testbed")
    ),
    ("machine", (None,), {}, f"testbed: found None; {NEITHER}"),
    ("machine", (LIU,), {"switch": 2}, "switch: found 2; allowed: True, False or an id"),
    ("machine", (LIU,), {"firmware_mode": ["mem"]}, 'firmware_mode: found ["mem"]; allowed: tavor'),
    ("bench", (None, LIU), {}, "workload: found None; allowed: write_lat, "),
    ("bench", (["write_lat"], LIU), {}, "workload: found ['write_lat']; allowed: write_lat, "),
    ("bench", ("write_lat", None), {}, "testbed: found none; allowed: an id or a file"),
    ("bench", ("write_lat", LIU), {"adapter": 3}, f"adapter: found 3; {NEITHER}"),
    ("bench", ("write_lat", LIU), {"size": []}, "size: found []; allowed: a size such as 8"),
    ("bench", ("write_lat", LIU), {"size": [-1]}, "size: found -1; allowed: 1 B to 2 GiB"),
    *(
        (name, words, {"jobs": jobs}, f"jobs: found {jobs!r}; allowed: a whole number from 1, or")
        for name, words in (("bench", ("write_lat", LIU)), ("run", (FIG,)), ("reproduce", (FIG,)))
        for jobs in ("two", 0, -1, 1.5, True)
    ),
    *(("run", (given,), {}, f"scenario: found {given!r}; {NEITHER}") for given in ([], None, 3)),
    *(
        ("run", (FIG,), {"series": given}, f"series: found {given!r}; allowed: some of pcie, ")
        for given in (3, [], [3], [["pcie"]])
    ),
    ("run", (FIG,), {"sizes": []}, "sizes: found []; allowed: a size such as 8"),
    ("run", (FIG,), {"cache": "no"}, "cache: found 'no'; allowed: True or False"),
    ("reproduce", (None,), {}, "identifiers: found None; allowed: papers, collections, "),
    ("reproduce", ([FIG, 3],), {}, "identifiers: found 3; allowed: papers, collections, "),
    ("list_ids", ([],), {}, "kind: found []; allowed: adapters, "),
    ("list_scenarios", (3,), {}, "paper: found 3; allowed: the name of a paper"),
    ("load_trace", (None,), {}, "file: found None; allowed: the path of a file"),
    ("calibration", (b"x",), {}, "file: found b'x'; allowed: the path of a file"),
    ("schema", ([],), {}, "schema: found []; allowed: adapter, "),
    ("list_ids", (np.array([1, 2]),), {}, "kind: found array([1, 2]); allowed: adapters, "),
    ("machine", (LIU,), {"stack": 3}, f"stack: found 3; {NEITHER}"),
    ("app", ("is.S", LIU, 2), {"arguments": 5}, "arguments: found 5; allowed: a list of text"),
    ("app", ("is.S", LIU, 2), {"algorithms": "x"}, "algorithms: found 'x'; allowed: a dictionary"),
    ("app", ("is.S", LIU, 2), {"listen": 5}, "listen: found 5; allowed: a function, or None"),
    ("run", (FIG,), {"progress": 5}, "progress: found 5; allowed: a function, or None"),
    ("sensitivity", (FIG,), {"only": 5}, "only: found 5; allowed: a list of text"),
    ("sensitivity", (FIG,), {"ranges": "x"}, "ranges: found 'x'; allowed: a dictionary such as"),
    ("sensitivity", (FIG,), {"ranges": {"a.b": 5}}, "ranges: a.b: found 5; allowed: text such as"),
    (
        "sensitivity",
        (FIG,),
        {"calibration": 5},
        "calibration: found 5; allowed: a fit that hcasim.calibration",
    ),
    ("sweep", ("write_lat", LIU), {"let": "x"}, "let: found 'x'; allowed: a dictionary such as"),
    ("sweep", ("write_lat", LIU), {"zipped": 5}, "zipped: found 5; allowed: a list of groups"),
    ("sweep", ("write_lat", LIU), {"zipped": [5]}, "zipped: found 5; allowed: a list of text"),
]


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(("name", "words", "options", "fault"), WRONG)
def test_it_says_what_was_found_and_what_is_allowed(
    name: str, words: tuple[Any, ...], options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(hc.CatalogError) as caught:
        getattr(hc, name)(*words, **options)
    assert caught.value.faults[0].startswith(fault)


def _odd(method: str) -> object:
    """An object whose method of a name is broken."""

    def fail(*given: object) -> None:
        raise TypeError

    return type("Odd", (), {method: fail, "__hash__": object.__hash__})()


ODD = [
    *map(_odd, ("__repr__", "__fspath__", "__eq__", "__iter__", "__len__", "__getattr__")),
    type("Odd", (), {"__fspath__": lambda self: b"x"})(),
    type("Odd", (), {"__hash__": None})(),
]


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(
    ("name", "words", "part"),
    [
        ("bench", ("write_lat",), "testbed"),
        ("bench", (), "workload"),
        ("bench", ("write_lat", LIU), "size"),
        ("app", (LIU, 2), "program"),
        ("app", ("is.S", LIU), "ranks"),
        ("app", ("is.S", LIU, 2), "rate"),
        ("app", ("is.S", LIU, 2), "map_by"),
        ("sweep", (LIU,), "workload"),
        ("sweep", ("write_lat",), "testbed"),
        ("sweep", ("write_lat", LIU), "where"),
        ("compare", (LIU,), "a"),
        ("why", (LIU, "val", "write_lat"), "quantity"),
        ("sensitivity", (FIG,), "method"),
        ("check", (LIU,), "published"),
        ("check", ("x.csv", LIU), "folder"),
        ("timeline", ("write_lat", LIU), "file"),
        ("timeline", ("write_lat", LIU, "x.json"), "time"),
        ("timeline", ("write_lat", LIU, "x.json"), "nodes"),
        ("schema", (), "name"),
        ("list_ids", (), "kind"),
        ("workload", (), "options"),
        ("workload", (), "defaults"),
    ],
)
def test_objects_that_can_hardly_be_asked_are_refused(
    name: str, words: tuple[Any, ...], part: str
) -> None:
    function = getattr(hc, name)
    others = [one for one in signature(function).parameters if one != part]
    for one in ODD:
        with pytest.raises(hc.CatalogError) as caught:
            function(**dict(zip(others, words, strict=False)), **{part: one})
        assert str(caught.value)


@pytest.mark.usefixtures("simulated")
def test_what_is_like_what_is_allowed_is_taken() -> None:
    found = hc.run(FIG, series="pcie", x=np.array([8, 64]), jobs=np.int64(1), cache=np.True_)
    assert list(found.curves) == ["pcie"]
    assert hc.reproduce({FIG: 1}.keys(), jobs=1).replays[0].scenario.id == FIG
    assert hc.machine(Path(LIU), switch=np.False_).id == LIU


def test_all_wrong_arguments_are_said_at_once() -> None:
    with pytest.raises(hc.CatalogError) as caught:
        hc.machine(3, adapter=4, overrides=[5], switch=6)
    starts = [fault.partition(":")[0] for fault in caught.value.faults]
    assert starts == ["testbed", "adapter", "overrides", "switch"]
