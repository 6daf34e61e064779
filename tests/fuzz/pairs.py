"""Default runs against whole ones, of machines and options that are drawn."""

from math import inf
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from hcasim import CatalogError, bench

SHORT = 400
"""Packets of a whole run in the suite, so that it takes a fraction of a second."""
LONG = (4000, 16_000, 30_000, 100_000)
FEWEST = 4
"""Iterations of a case."""
TOLERANCE = 0.1
"""Percent by which a result may be off beside the error that it states."""

_INFINIBAND = (
    *("mt25208", "mt25218", "mt25218-ddr", "connectx3", "connect_ib", "connectx4"),
    *("connectx4-x8", "connectx5", "connectx6", "connectx7"),
)
_ETHERNET = ("connectx4", "connectx4-x8", "connectx5", "connectx6", "connectx7")
_OWN = (
    *("liu2004", "sur2005", "rashti2007", "benjegerdes2004", "infinihost3-ddr", "apt", "cib"),
    *("val", "cloud-hdr", "k8s-roce", "uc-roce", "h20", "fat-tree-64", "qdr-containers"),
)
_HOSTS = (
    *("epyc-rome", "epyc-genoa", "skylake-sp", "ice-lake-sp", "haswell-e5-2683v3"),
    "sandy-bridge-e5",
)
_STREAMS = (
    *("write_bw", "read_bw", "send_bw", "write_bibw", "read_bibw", "send_bibw", "atomic_bw"),
)
_OTHERS = (
    *("window_bw", "window_bibw", "write_lat", "send_lat", "read_lat", "rc_swarm"),
    *("rw_tput_sender", "rw_tput_receiver"),
)
_SIZES = (1, 8, 64, 100, 256, 1000, 1024, 2048, 4096, 5000, 8192, 16384, 65536, 1 << 18, 1 << 20)


class Case(NamedTuple):
    """A benchmark, what it runs on, and its options."""

    workload: str
    machine: dict[str, str]
    options: dict[str, Any]


def draw(seed: int, packets: int) -> Case:
    """A case of which the whole run has about so many packets."""
    dice = Random(seed)
    machine = _machine(dice)
    streams = dice.random() < 0.75
    workload = dice.choice(_STREAMS if streams else _OTHERS)
    size = dice.randint(1, 100_000) if dice.random() < 0.1 else dice.choice(_SIZES)
    qps = together = dice.choice((1, 1, 1, 2, 2, 3, 4, 5, 8, 16, 64))
    size = min(size, max(1, packets // (FEWEST * qps)) * 2048)
    size = 8 if workload == "atomic_bw" else size
    options: dict[str, Any] = {"qps": qps} | ({} if workload == "atomic_bw" else {"size": size})
    if streams:
        options |= _stream(dice, workload, size)
    elif workload.startswith("window"):
        together = options["window"] = dice.choice((1, 4, 16, 64))
        options["verb"] = "write" if "bi" in workload else dice.choice(("write", "send", "read"))
    elif workload.endswith("lat"):
        together = 1
    if dice.random() < 0.3:
        options["page_size"] = dice.choice((4096, 65536, 1 << 21))
    lists = options.get("post_list", 1)
    iters = min(5000, max(FEWEST, packets // (together * -(-size // 2048))))
    options["iters"] = -(-iters // lists) * lists
    if not streams:
        options["warmup"] = dice.choice((0, 3, 10, 50))
    return Case(workload, machine, options)


def _machine(dice: Random) -> dict[str, str]:
    testbed = dice.choice(("pair", "pair-roce", "own", "own"))
    if testbed == "own":
        machine = {"testbed": dice.choice(_OWN)}
        if machine["testbed"] == "liu2004":
            machine["adapter"] = dice.choice(("mt23108", "mt25208"))
        return machine
    adapter = dice.choice(_INFINIBAND if testbed == "pair" else _ETHERNET)
    machine = {"testbed": testbed, "adapter": adapter}
    if adapter.startswith("connect") and dice.random() < 0.7:
        machine["host"] = dice.choice(_HOSTS)
    return machine


def _stream(dice: Random, workload: str, size: int) -> dict[str, Any]:
    depth = dice.choice((1, 2, 3, 4, 8, 16, 17, 32, 64, 128, 128, 128))
    options: dict[str, Any] = {"tx_depth": depth}
    lists = [count for count in (2, 3, 4, 8, 16, 32) if count <= depth]
    if lists and dice.random() < 0.4:
        options["post_list"] = dice.choice(lists)
    elif dice.random() < 0.3:
        options["cq_mod"] = dice.choice((1, 2, 3, 4, 8, 16, 64))
    if not workload.startswith("send") and dice.random() < 0.25:
        options["region"] = max(size, dice.choice((1 << 18, 1 << 21, 1 << 24, 1 << 26)))
        options["access"] = dice.choice(("sequential", "random"))
    return options


def difference(case: Case, most: float = inf) -> str:
    """What is wrong with the error that a default run states; nothing if it holds.

    Args:
        most: percent that it may state.

    Raises:
        CatalogError: there is no such machine.
    """
    short, full = (
        bench(case.workload, **case.machine, **case.options, exact=exact, jobs=1).curve.rows[0]
        for exact in (False, True)
    )
    column = "latency_us" if "latency_us" in full else "rate_Mps"
    off = 100 * (short[column] / full[column] - 1)
    stated = short.get("error_percent", 0.0)
    held = abs(off) <= stated + TOLERANCE and stated <= most
    return "" if held else f"{case}: {off:+.3f} %, stated {stated:.3f} %"


def attempt(seed: int, _folder: Path) -> bool:
    """Try one; return whether there was such a machine.

    Raises:
        AssertionError: the result is further off than it says.
    """
    case = draw(seed, Random(seed).choice(LONG))
    try:
        wrong = difference(case)
    except CatalogError:
        return False
    assert not wrong, wrong
    return True
