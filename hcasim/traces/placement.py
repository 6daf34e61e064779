"""Where the processes of an MPI benchmark ran, which its output does not say."""

from __future__ import annotations

from hcasim.catalog.algorithms import NAMES
from hcasim.ground.errors import nearest, one_of
from hcasim.traces.source import Unreadable
from hcasim.traces.tool_output import Hints, Options

PAIR = 2
"""Processes of a test between two."""


def of_pair(hints: Hints) -> Options:
    """Return the options of a test of two processes: on two nodes unless known otherwise."""
    together = (hints.processes or 1) > 1 or hints.nodes == 1
    return {"processes": PAIR} if together else {}


def of_all(
    workload: str,
    told: Options,
    hints: Hints,
    processes: int | None = None,
    *,
    in_pairs: bool = False,
) -> Options:
    """Return nodes and processes on each of a test of all processes, and its algorithm if known.

    Parameters:
        workload: such as "osu_alltoall".
        told: what the output says, if hcasim made it.
        hints: what the user knows.
        processes: in all, if the output says it. Two are taken as on two nodes.
        in_pairs: whether it is a test of pairs, which are on two nodes unless known otherwise.

    Raises:
        Unreadable: it is not known, or does not fit together.
    """
    if "nodes" in told:
        for name in ("nodes", "processes"):
            if (wanted := getattr(hints, name)) not in (None, told[name]):
                raise Unreadable(f"found {name} {told[name]}; --{name} says {wanted}")
        nodes, each = told["nodes"], told["processes"]
    else:
        nodes, each = _divided(workload, hints, processes, in_pairs)
    return {"nodes": nodes, "processes": each} | _algorithm(workload, hints)


def _divided(workload: str, hints: Hints, processes: int | None, in_pairs: bool) -> tuple[int, int]:
    nodes, each = hints.nodes, hints.processes
    if (in_pairs or processes == PAIR) and nodes is None and None in (processes, each):
        nodes = PAIR
    if processes is None and nodes is not None and each is not None:
        return nodes, each
    if processes is None or (nodes is None and each is None):
        found = f"found {processes} processes" if processes else "does not say how many took part"
        raise Unreadable(
            f"{workload}: {found}; --nodes says on how many nodes, and --processes how many on each"
        )
    if each is None and nodes is not None:
        each = processes // nodes if processes % nodes == 0 else 1
    each = min(each or 1, processes)
    if processes % each or (nodes is not None and processes > nodes * each):
        given = {"nodes": hints.nodes, "processes": hints.processes}
        said = " and ".join(f"--{name} {one}" for name, one in given.items() if one is not None)
        raise Unreadable(f"{workload}: found {processes} processes, which {said} does not divide")
    return processes // each, each


def _algorithm(workload: str, hints: Hints) -> Options:
    known = NAMES.get(workload.partition("_")[2])
    if not hints.algorithm or known is None:
        return {}
    if hints.algorithm not in known:
        close = nearest(hints.algorithm, known)
        raise Unreadable(
            f"{workload}: found --algorithm {hints.algorithm}; allowed: {one_of(known)}{close}"
        )
    return {"algorithm": hints.algorithm}
