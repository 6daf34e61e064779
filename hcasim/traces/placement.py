"""Where the processes of an MPI benchmark ran, which its output does not say."""

from __future__ import annotations

from dataclasses import replace

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


def of_pairs(workload: str, told: Options, hints: Hints, pairs: int | None) -> Options:
    """Return nodes and processes on each of a test of several pairs: two nodes unless known
    otherwise.

    Parameters:
        workload: such as "osu_mbw_mr".
        told: what the output says, if hcasim made it.
        hints: what the user knows.
        pairs: if the output says it.

    Raises:
        Unreadable: it is not known, or does not fit together.
    """
    if pairs is None and "nodes" not in told and hints.processes is None:
        raise Unreadable(
            f"{workload}: does not say how many pairs there were; "
            "--processes says how many processes were on each of two nodes, or of --nodes"
        )
    if hints.nodes is None and (pairs is None or hints.processes is None) and "nodes" not in told:
        hints = replace(hints, nodes=PAIR)
    return of_all(workload, told, hints, None if pairs is None else PAIR * pairs)


def of_all(workload: str, told: Options, hints: Hints, processes: int | None = None) -> Options:
    """Return nodes and processes on each of a test of all processes, and its algorithm if known.

    Parameters:
        workload: such as "osu_alltoall".
        told: what the output says, if hcasim made it.
        hints: what the user knows.
        processes: in all, if the output says it. Two are taken as on two nodes.

    Raises:
        Unreadable: it is not known, or does not fit together.
    """
    if "nodes" in told:
        placed = {name: told[name] for name in ("nodes", "processes")}
        for name, found in placed.items():
            if (wanted := getattr(hints, name)) not in (None, found):
                raise Unreadable(f"found {name} {found}; --{name} says {wanted}")
    else:
        placed = _divided(workload, hints, processes)
    return placed | _algorithm(workload, hints)


def _divided(workload: str, hints: Hints, processes: int | None) -> Options:
    nodes, each = hints.nodes, hints.processes
    if processes is None:
        if nodes is None or each is None:
            raise Unreadable(
                f"{workload}: does not say how many processes took part; "
                "--nodes says on how many nodes, and --processes how many on each"
            )
        return {"nodes": nodes, "processes": each}
    if nodes is None and each is None:
        if processes == PAIR:
            return {"nodes": PAIR, "processes": 1}
        raise Unreadable(
            f"{workload}: found {processes} processes; "
            "--nodes says on how many nodes they ran, or --processes how many on each"
        )
    if each is None and nodes is not None:
        each = processes // nodes if processes % nodes == 0 else 1
    each = min(each or 1, processes)
    if processes % each or (nodes is not None and processes > nodes * each):
        given = {"nodes": nodes, "processes": hints.processes}
        said = " and ".join(f"--{name} {one}" for name, one in given.items() if one is not None)
        raise Unreadable(f"{workload}: found {processes} processes, which {said} does not divide")
    return {"nodes": processes // each, "processes": each}


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
