"""What reads foreign words, and the samples that are damaged to try it."""

import contextlib
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import hcasim as hc
from hcasim.apps.replay import read_schedule
from hcasim.calibrate.file.reading import read_calibration
from hcasim.catalog import CatalogError, load, resolve
from hcasim.catalog.folders import VARIABLE
from hcasim.ground.reading import render_toml
from hcasim.papers.loader import load_scenario
from hcasim.runs.point import Point
from hcasim.runs.store import Store
from hcasim.traces import FORMATS, Hints, Source, import_trace, parse_trace, render
from hcasim.workloads import WORKLOADS, Options, Result
from hcasim.workloads.checks import check
from tests.chakra_traces import ALL_REDUCE, COLLECTIVE, COMPUTE, RECV, SEND, encode, node
from tests.limits import promptly
from tests.unit.calibrate.calibrations import contents
from tests.unit.traces.outputs import TEXTS

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/unit/traces/data"
_STRANGE = (
    *("", "-1", "0", "nan", "-nan", "inf", "1e999", "1e-300", "9" * 5000, "٣", "½", "\0", "\u2028"),
    *("{", "}", "[", "]", "#", '"', "'", '"""', "=", ".", ",", "[" * 2000, "{a=" * 500, "\x1b[31m"),
    *("true", "0x" + "f" * 5000, "1979-05-27", "../", "/dev/zero", "[/]", "a." * 50, "\ud800"),
)


@dataclass(frozen=True)
class Target:
    """What is tried.

    Parameters:
        samples: what is damaged, by name.
        read: raises CatalogError if it refuses what it is given; else nothing. It gets the name
            of the sample, its damaged content, dice and a folder of its own.
    """

    samples: Mapping[str, bytes]
    read: Callable[[str, bytes, random.Random, Path], None]


def attempt(target: Target, seed: int, folder: Path) -> bool:
    """Damage a sample and have it read, promptly.

    Parameters:
        seed: of all that is left to chance.
        folder: for files.

    Returns:
        Whether it was read; else it was refused.
    """
    dice = random.Random(seed)
    name = dice.choice(sorted(target.samples))
    content = damaged(target.samples, name, dice)
    try:
        with promptly():
            target.read(name, content, dice, folder)
        faults = []
    except CatalogError as error:
        faults = error.faults or [""]
    assert all(fault.strip() for fault in faults)
    return not faults


def damaged(samples: Mapping[str, bytes], name: str, dice: random.Random) -> bytes:
    """Return a sample with one to four damages: of bytes, of words or of lines."""
    content = samples[name]
    for _ in range(dice.randint(1, 4)):
        lines = content.split(b"\n")
        place = dice.randrange(len(lines))
        line = lines[place]
        at = dice.randint(0, len(line))
        strange = dice.choice(_STRANGE).encode("utf-8", "surrogatepass")
        match dice.randrange(9):
            case 0:
                lines = [*lines[:place], line[:at]]
            case 1:
                lines.insert(dice.randrange(len(lines)), line)
            case 2:
                lines[place] = line[:at] + strange + line[at:]
            case 3:
                words = line.split(b" ")
                words[dice.randrange(len(words))] = strange
                lines[place] = b" ".join(words)
            case 4:
                other = samples[dice.choice(sorted(samples))].split(b"\n")
                lines[place] = dice.choice(other)
            case 5:
                dice.shuffle(lines)
            case 6:
                lines[place] = line[:at] + bytes([dice.randrange(256)]) + line[at + 1 :]
            case 7:
                lines[place] = line[:at] + line[at:] * dice.randint(2, 50)
            case _:
                del lines[place]
        content = b"\n".join(lines)
    return content


def _import(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    hints = Hints(
        workload=dice.choice(
            ["", "", "write_lat", "osu_bw", "imb_bcast", "netpipe", "netpipe_bi", "x"]
        ),
        unit=dice.choice(["", "", "MiB/s", "Gbit/s", "Mibit/s"]),
        transport=dice.choice(["", "", "roce", "iwarp"]),
        nodes=dice.choice([None, 1, 2, 10**9]),
        processes=dice.choice([None, 1, 3, 10**9]),
        algorithm=dice.choice(["", "", "ring", "x"]),
    )
    form = dice.choice(FORMATS)
    if dice.random() < 0.6:
        form, hints = "", Hints(nodes=2, processes=2)
    trace = import_trace(Source(name, content), form, hints)
    # What comes out can be written and read.
    again = parse_trace(render(trace).encode(), name)
    assert (again.header, again.points, again.end) == (trace.header, trace.points, trace.end)
    assert trace.points or trace.header.tool.name == "hcasim-probes"


def _load(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    kind, _, base = name.partition("/")
    file = folder / kind / base
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    load(str(file), kind)
    if kind == "testbeds":
        resolve(str(file))


def _scenario(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    file = folder / "scenarios" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    with _path(folder):
        load_scenario(name.removesuffix(".toml"))


@contextlib.contextmanager
def _path(folder: Path) -> Iterator[None]:
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _calibration(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    file = folder / name
    file.write_bytes(content)
    read_calibration(file)


def _schedule(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    """A trace of two processes; where each has a file, the other one's is whole."""
    for other in _SCHEDULES if name.endswith(".et") else ():
        (folder / other).write_bytes(_SCHEDULES[other])
    (folder / name).write_bytes(content)
    read_schedule(folder / ("t.0.et" if name.endswith(".et") else name))


def _result(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    """A result that is compared with the whole one."""
    for file, what in ((f"damaged-{name}", content), (name, _RESULTS[name])):
        (folder / file).write_bytes(what)
    hc.compare(folder / f"damaged-{name}", folder / name)


def _results() -> dict[str, bytes]:
    found = {
        "bench.json": hc.bench("write_lat", "liu2004", size=[4, 64]),
        "sweep.json": hc.sweep("write_lat", "liu2004", size=[4, 64]),
    }
    return {name: json.dumps(one.to_dict(), indent=2).encode() for name, one in found.items()}


def _find_kept(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    (folder / name).write_bytes(content)
    # What was altered is simulated again, and never taken for what was simulated.
    assert Store(folder, "").find([_POINT]) in ({}, {_POINT: _KEPT})


def _options(name: str, content: bytes, dice: random.Random, folder: Path) -> None:
    """The words of options and of what-ifs, as the command line hands them on."""
    faults: list[str] = []
    lines = content.decode("utf-8", "replace").split("\n")
    pairs = [line.partition("=") for line in dice.sample(lines, min(3, len(lines)))]
    given = {key: value for key, _, value in pairs if key in Options.__dataclass_fields__}
    what_if = {key: value for key, _, value in pairs if key and key not in given}
    read = WORKLOADS[name].read(given, faults)
    faults += check(WORKLOADS[name], None, read)
    if not faults:
        WORKLOADS[name].each_point(read)
    resolve("liu2004", overrides=what_if)
    if faults:
        raise CatalogError(faults)


def _kept() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        Store(Path(folder), "").keep(_POINT, _KEPT)
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def _files(folder: str, pattern: str = "*.toml") -> dict[str, bytes]:
    top = ROOT / folder
    return {str(one.relative_to(top)): one.read_bytes() for one in sorted(top.rglob(pattern))}


_SCHEDULES = {
    "two.goal": b"""num_ranks 2

rank 0 {
a: calc 1000 cpu 0
b: send 4096b to 1 tag 3
b requires a
}

rank 1 {
a: recv 4096b from 0 tag 3
b: calc 500
b irequires a
}
""",
} | {
    f"t.{rank}.et": encode(
        [
            node(1, COMPUTE, micros=30),
            node(2, (SEND, RECV)[rank], [1], comm_size=64, comm_src=0, comm_dst=1, comm_tag=5),
            node(3, COLLECTIVE, [2], comm_type=ALL_REDUCE, comm_size=4096),
        ]
    )
    for rank in range(2)
}
"""Of each form one that is read as it is."""
_RESULTS = _results()
_POINT = Point("write_lat", resolve("liu2004"), Options(size=8))
_KEPT = Result({"latency_us": 1 / 3, "size": 8})
_WORDS = (
    *("size=4..64K", "qps=1,4", "reuse=100,50", "window=64", "iters=10", "tx_depth=128"),
    *("mode=striping", "verb=write", "completion=memory", "pattern=a", "nodes=2..4"),
    *("adapter.send.latency=1 us", "adapter.bus.lanes=4", "adapter.bus=mt23108"),
    *("network.kind=ring", "host.pcix_bridge.streaming=true", "trunk.speed=DDR"),
)


def _words(workload: str) -> bytes:
    known = ("size", "qps", "reuse", *WORKLOADS[workload].options)
    return "\n".join(
        one for one in _WORDS if "." in one.partition("=")[0] or one.partition("=")[0] in known
    ).encode()


TARGETS = {
    "importers": Target(
        {one.name: one.read_bytes() for one in sorted(DATA.rglob("*.*"))}
        | {name: text.encode() for name, text in TEXTS.items()},
        _import,
    ),
    "descriptions": Target(_files("models"), _load),
    "scenarios": Target(_files("scenarios"), _scenario),
    "calibrations": Target(
        _files("calibration/fits") | {"traces.toml": render_toml(contents()).encode()},
        _calibration,
    ),
    "schedules": Target(_SCHEDULES, _schedule),
    "results": Target(_RESULTS, _result),
    "kept": Target(_kept(), _find_kept),
    "options": Target({name: _words(name) for name in WORKLOADS}, _options),
}
"""By name, all that reads files or words of users."""
