"""Default runs against whole ones: workloads, machines and options are drawn.

Default runs of incast, permutation, neighbour, open_loop, training, fault and NVMe are whole ones:
three of four of these draws are of perftest instead. Those of all_to_all are ten times as long as
others in long runs, because only of long ones a part is run.

Run any of them: python -m tests.fuzz.pairs FILE [SEEDS [PROCESSES]]; also `make pairs`.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import inf
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import quantiles
from time import process_time
from typing import Any, NamedTuple

from hcasim import CatalogError
from hcasim.catalog import list_ids
from hcasim.catalog.loader import each_file_once
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.point import Point
from hcasim.workloads import WORKLOADS, Workload
from hcasim.workloads.options import OPTIONS, Options

SHORT = 400
"""Packets of a whole run in the suite, so that it takes a fraction of a second."""
LONG = 30_000
LONGER = 10
"""Times that runs of all_to_all are longer, if they are not SHORT."""
FEWEST = 4
"""Iterations of a case."""
TOLERANCE = 0.1
"""Percent by which a result may be off beside the error that it states."""
REFUSED = 0.1
"""Share of the cases that may be refused."""

_INFINIBAND = (
    *("mt25208", "mt25218", "mt25218-ddr", "connectx3", "connect_ib", "connectx4"),
    *("connectx4-x8", "connectx5", "connectx6", "connectx7"),
)
_ETHERNET = ("connectx4", "connectx4-x8", "connectx5", "connectx6", "connectx7", "bluefield-3")
_CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "liu2004": {"adapter": ("mt23108", "mt25208")},
    "pair": {"adapter": _INFINIBAND, "switch": ("quantum", "infiniscale-iii", "switch-ib")},
    "pair-roce": {
        "adapter": _ETHERNET,
        "switch": ("spectrum", "spectrum-2", "spectrum-3", "spectrum-lossless"),
    },
}
"""Choices of a testbed beside its own."""
_HOSTS = (
    *("epyc-rome", "epyc-genoa", "skylake-sp", "ice-lake-sp", "haswell-e5-2683v3"),
    *("sandy-bridge-e5", "generic-modern"),
)
_BUSES = ("pcie-bench-haswell", "pcie-bench-broadwell", "bus-alone", "pair", "sur2005")
_FAMILIES: dict[str, tuple[int, tuple[str, ...]]] = {
    "perftest": (24, ()),
    "latency": (12, ()),
    "windows": (10, ()),
    "rdma_bench": (10, ()),
    "flows": (10, ()),
    "mpi": (20, ("ucx-hdr", "sur2005", "rashti2007", "liu2004", "infinihost3-ddr", "cloud-hdr")),
    "bus": (6, _BUSES),
    "nvmf": (3, ("nvmf",)),
    "netpipe": (2, ()),
    "probe": (1, ()),
    "training": (1, ()),
    "put": (1, ()),
    "fault": (1, ()),
    "memory": (1, ()),
    "footprint": (1, ("apt", "cib", "val")),
}
"""By family its share of the cases, and the testbeds that most of them are on."""
_WHOLE = ("flows", "training", "fault", "nvmf")
"""Families whose default runs are whole ones."""
_SIZES = (1, 8, 64, 100, 256, 1000, 1024, 2048, 4096, 5000, 8192, 16384, 65536, 1 << 18, 1 << 20)
_USUAL: dict[str, tuple[Any, ...]] = {
    "qps": (1, 1, 2, 2, 3, 4, 5, 8, 16, 64, 300),
    "reuse": (0, 25, 50, 75, 90),
    "window": (1, 2, 4, 16, 64),
    "tx_depth": (1, 2, 3, 4, 8, 16, 17, 32, 64),
    "connection": ("UC", "UD", "DC"),
    "pattern": ("random", "zipf"),
    "region": (1 << 16, 1 << 18, 1 << 21, 1 << 24, 1 << 26),
    "verb": ("write", "send", "read"),
    "window_bytes": (4096, 1 << 16, 1 << 18, 1 << 22),
}
"""Options that every other case has."""
_SELDOM: dict[str, tuple[Any, ...]] = {
    "reply_size": (8, 64),
    "rx_depth": (128, 1024),
    "post_list": (2, 3, 4, 8, 16),
    "cq_mod": (1, 2, 3, 4, 8, 16, 64),
    "work": (0, 50, 1000),
    "locks": (True,),
    "rounds": (True,),
    "counter": (True,),
    "sl": (1,),
    "fault": ("not-ready", "key"),
    "silent_for": (1, 5),
    "timeout": (8, 12, 18),
    "retry_cnt": (0, 1, 3),
    "rnr_retry": (1, 3),
    "min_rnr_timer": (1, 20),
    "mode": ("striping", "binding"),
    "processes": (2, 3, 4),
    "client_processes": (2, 4),
    "clients": (2, 3),
    "loopback": (True,),
    "nodes": (2, 3, 4, 6),
    "shift": (1,),
    "senders": (1, 2),
    "stagger": (1, 20),
    "burst": (4, 16),
    "pause": (10, 1000),
    "rings": (1,),
    "compute": (0, 1, 10),
    "background": ("open_loop",),
    "load": (10, 60),
    "flow_sizes": ("storage", "websearch"),
    "seed": (2, 3),
    "dimensions": (2,),
    "access": ("sequential",),
    "memory": ("gpu", "adapter"),
    "page_size": (65536, 1 << 21),
    "buffers": (2, 10, 100),
    "completion": ("memory", "cq"),
    "invalidate": (True,),
    "cache": ("host-warm", "device-warm"),
    "iommu": ("on", "off"),
    "path": ("command",),
    "depth": (16, 1024),
    "op": ("cmp_swap",),
    "inline_size": (0, 100),
}
_MAY_BE_ZERO = (
    "_count",
    "_percent",
    "_KiB",
    "paused_us",
    "adaptive_us",
    "background_MBps",
    "regular_us",
    "interval_us",
)
_SMALLER = ("size", "background_size", "window", "qps", "processes", "clients", "nodes")
"""Options that say how many packets an iteration has, in the order in which they are lowered."""


class Case(NamedTuple):
    """A benchmark, what it runs on, and its options."""

    workload: str
    machine: dict[str, str]
    options: dict[str, Any]

    def point(self) -> Point:
        """Return what is simulated.

        Raises:
            CatalogError: there is no such machine, or it does not allow the options.
        """
        (found,) = Experiment.of(self.workload, **self.machine, **self.options).benchmark()
        return found

    def packets(self, iters: int) -> float:
        """About how many packets a whole run of so many iterations has."""
        workload, point = WORKLOADS[self.workload], self.point()
        options = replace(point.options, iters=iters, exact=True)
        if not workload.options & {"client", "nodes"}:
            each = options.window if "window" in workload.options else 1
            return (iters + options.warmup) * each * -(-options.size // 2048)
        kind, found = family(workload), workload.packets(options, min(point.machine.mtu, 2048))
        # Of these an iteration is a request of each queue pair, or of each thread.
        each = {
            "perftest": options.qps,
            "rdma_bench": 1 / options.window,
            "nvmf": 3 * options.qps / options.window,
        }
        return each.get(kind, 1) * found


def family(workload: Workload) -> str:
    """The module or package that runs a workload."""
    found = str(workload.program).partition(".")[0]
    return "perftest" if found == "flows" and workload.flows is None else found


@cache
def _by_family() -> dict[str, list[str]]:
    found = defaultdict(list)
    for one in WORKLOADS.values():
        # Kernels of NAS are whole programs, whose length is not drawn.
        if "nas_class" not in one.options:
            found[family(one)].append(one.name)
    return dict(found)


def packets_of(seed: int) -> int:
    """Packets of the whole run of a case, from SHORT to LONG, drawn by their logarithm."""
    return round(SHORT * (LONG / SHORT) ** Random(f"packets {seed}").random())


def draw(seed: int, packets: int) -> Case:
    """A case of which the whole run has about so many packets.

    What the machine or the workload refuses is left out.
    """
    dice = Random(seed)
    (kind,) = dice.choices([*_FAMILIES], [share for share, _ in _FAMILIES.values()])
    name = dice.choice(_by_family()[kind])
    # Dice of its own leave the cases of other families as they are.
    other = Random(f"whole {seed}")
    if kind in _WHOLE and other.random() < 0.75:
        kind = "perftest"
        name = other.choice(_by_family()[kind])
    if name == "all_to_all" and packets > SHORT:
        packets *= LONGER
    case = next(filter(_is_legal, _machines(dice, name, _FAMILIES[kind][1])))
    understood = WORKLOADS[name].options
    for option in OPTIONS:
        among = _USUAL.get(option, _SELDOM.get(option, ()))
        value = dice.choice(among) if among else None
        asked = dice.random() < (0.5 if option in _USUAL else 0.2)
        if option == "size":
            value = dice.randint(1, 100_000) if dice.random() < 0.1 else dice.choice(_SIZES)
            asked = True
        if option in understood and asked and value is not None:
            case = _changed(case, option, value)
    if "warmup" in understood:
        case = _changed(case, "warmup", dice.choice((0, 3, 10, 50)))
    return _shortened(case, packets)


def _machines(dice: Random, workload: str, usual: tuple[str, ...]) -> Iterator[Case]:
    while True:
        testbed = dice.choice(("pair", "pair-roce", "own", "own"))
        if usual and dice.random() < 0.8:
            testbed = dice.choice(usual)
        elif testbed == "own":
            testbed = dice.choice(list_ids("testbeds"))
        machine = {"testbed": testbed}
        for choice, among in _CHOICES.get(testbed, {}).items():
            if choice != "switch" or dice.random() < 0.4:
                machine[choice] = dice.choice(among)
        if testbed.startswith("pair") and dice.random() < 0.6:
            machine["host"] = dice.choice(_HOSTS)
        # NetPIPE without a size measures all of its own.
        sized = "size" in WORKLOADS[workload].options
        yield Case(workload, machine, {"size": 8} if sized else {})


def _is_legal(case: Case) -> bool:
    try:
        point = case.point()
    except CatalogError:
        return False
    # Where packets are lost the default run is the whole one.
    return not point.machine.loses


def _changed(case: Case, option: str, value: Any) -> Case:
    """A case with an option, unless that is not allowed."""
    found = case._replace(options={**case.options, option: value})
    return found if _is_legal(found) else case


def _shortened(case: Case, packets: int) -> Case:
    """A case that is made smaller until its whole run has about so many packets."""
    understood = WORKLOADS[case.workload].options
    if "iters" not in understood:
        return case
    if "warmup" in understood and case.packets(1) > packets / 4:
        case = _changed(case, "warmup", 0)
    for option in _SMALLER:
        while option in understood and case.packets(FEWEST) > packets:
            value = getattr(case.point().options, option)
            smaller = _changed(case, option, value // 2) if value > 1 else case
            if smaller == case:
                break
            case = smaller
    rest = case.packets(0)
    iters = int((packets - rest) / max(1, case.packets(1) - rest))
    lists = case.options.get("post_list", 1)
    return _changed(case, "iters", -(-max(FEWEST, min(5000, iters)) // lists) * lists)


class Pair(NamedTuple):
    """A default run beside a whole one of the same case.

    Attributes:
        refused: why there is none.
        faults: what is wrong with the default run.
        off: greatest difference in percent.
        stated: the error that the default run states, in percent.
        values: what they have measured: the column, by default, and whole.
        seconds: of a processor, of the default run and of the whole one.
    """

    refused: str = ""
    faults: tuple[str, ...] = ()
    off: float = 0.0
    stated: float = 0.0
    values: tuple[tuple[str, float, float], ...] = ()
    seconds: tuple[float, float] = (0.0, 0.0)


def _run(point: Point, exact: bool) -> tuple[dict[str, Any], float]:
    start = process_time()
    options: Options = replace(point.options, exact=exact)
    row = dict(replace(point, options=options).run().row)
    return row, process_time() - start


def compare(case: Case, most: float = inf) -> Pair:
    """Run a case both ways.

    Args:
        most: percent of error that the default run may state.
    """
    try:
        point = case.point()
        (short, fast), (full, slow) = (_run(point, exact) for exact in (False, True))
    except CatalogError as error:
        return Pair(refused=str(error))
    stated = short.pop("error_percent", 0.0)
    full.pop("error_percent", None)
    faults = []
    if other := short.keys() ^ full.keys():
        faults.append(f"columns of one run alone: {', '.join(sorted(other))}")
    named = WORKLOADS[case.workload].fields
    values = tuple(
        (name, short[name], full[name]) for name in named if {name} <= short.keys() & full.keys()
    )
    offs = {name: _off(name, found, whole) for name, found, whole in values}
    faults += [
        f"{name}: {off:+.3f} %, stated {stated:.3f} %"
        for name, off in offs.items()
        if not abs(off) <= stated + TOLERANCE
    ]
    faults += [
        f"{name}: measured {value}" for name, value, _ in values if _is_nonsense(name, value)
    ]
    if stated > most:
        faults.append(f"states {stated:.3f} %, more than {most} %")
    worst = max(offs.values(), key=abs, default=0.0)
    return Pair("", tuple(faults), worst, stated, values, (fast, slow))


def _off(name: str, found: float, whole: float) -> float:
    """Percent by which a result is off; of a share of the time, percentage points."""
    if name.endswith("_percent"):
        return found - whole
    return 100 * (found / whole - 1) if whole else 0.0 if found == whole else inf


def _is_nonsense(name: str, value: float) -> bool:
    if name.startswith("slowdown"):
        # Nothing is faster beside others than alone.
        return not 1 - TOLERANCE / 100 <= value < inf
    return not (0 < value < inf or (value == 0 and name.endswith(_MAY_BE_ZERO)))


def difference(case: Case, most: float = inf) -> str:
    """What is wrong with the error that a default run states; nothing if it holds.

    Args:
        most: percent that it may state.

    Raises:
        CatalogError: it is refused.
    """
    pair = compare(case, most)
    if pair.refused:
        raise CatalogError([pair.refused])
    return f"{case}: {'; '.join(pair.faults)}" if pair.faults else ""


def attempt(seed: int, _folder: Path) -> bool:
    """Try one; return whether it was not refused.

    Raises:
        AssertionError: the result is further off than it says.
    """
    try:
        wrong = difference(draw(seed, packets_of(seed)))
    except CatalogError:
        return False
    assert not wrong, wrong
    return True


@each_machine_once()
def _record(asked: tuple[int, Any]) -> Any:
    """What came of a seed, now or, if the case is the same, in an earlier run."""
    (seed, known), case = asked, None
    try:
        case = draw(seed, packets_of(seed))
        if known and known["case"] == json.loads(json.dumps(case._asdict())):
            return known
        pair = compare(case)
    # Whatever comes is a fault.
    except Exception as error:  # noqa: BLE001
        pair = Pair(faults=(f"{type(error).__name__}: {error}",))
    return {"seed": seed, "case": case and case._asdict(), **pair._asdict()}


def main(file: str, seeds: int = 1500, processes: int | None = None) -> int:
    """Run many, keep what came of each as a line of a file, and say what failed.

    Those that are in the file already are not run again.
    """
    path, records = Path(file), []
    path.touch()
    # The last line may be cut off.
    found = [json.loads(one) for one in path.read_text().splitlines() if one.endswith("}")]
    known = {one["seed"]: one for one in found}
    asked = [(seed, known.get(seed)) for seed in range(seeds)]
    with path.open("a") as kept, each_file_once(), get_context("fork").Pool(processes) as pool:
        for one in pool.imap(_record, asked):
            records.append(one)
            if one != known.get(one["seed"]):
                print(json.dumps(one), file=kept, flush=True)
            if one["faults"]:
                print(f"{one['seed']}: {one['case']}: {'; '.join(one['faults'])}", flush=True)
            if len(records) % 50 == 0:
                print(f"{len(records)} of {seeds}", flush=True)
    print("\n".join(summary(records)))
    refused = sum(bool(one["refused"]) for one in records)
    return int(refused > REFUSED * seeds or any(one["faults"] for one in records))


def summary(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a table by workload, what was refused, and how many failed."""
    ran = defaultdict(list)
    for one in records:
        if one["refused"]:
            yield f"{one['seed']}: {one['case']}: refused: {one['refused']}"
        elif one["case"]:
            ran[one["case"]["workload"]].append(one)
    yield f"{'workload':20} pairs failed  stated % (median, 95th)  time default/exact"
    for name, every in sorted(ran.items()):
        stated = [one["stated"] for one in every]
        parts = quantiles(stated * 2, n=20, method="inclusive")
        short, full = (sum(one["seconds"][at] for one in every) for at in (0, 1))
        failed = sum(bool(one["faults"]) for one in every)
        share = short / full if full else 1.0
        yield f"{name:20} {len(every):5} {failed:6}  {parts[9]:8.3f} {parts[18]:8.3f}  {share:8.3f}"
    failed = sum(bool(one["faults"]) for one in records)
    refused = sum(bool(one["refused"]) for one in records)
    yield f"{len(records)} pairs, {refused} refused, {failed} failed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
