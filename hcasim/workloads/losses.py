"""A benchmark over links that lose packets: what its result adds, and when there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hcasim.ground.errors import CatalogError
from hcasim.mpi.message import MPIError
from hcasim.verbs import VerbsError, WCStatus
from hcasim.workloads.explain import TELLING
from hcasim.workloads.limits import is_timer, whole
from hcasim.workloads.options import ACKNOWLEDGED
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run


def with_losses(run: Run, program: Callable[[Run], Result]) -> Result:
    """Run a benchmark, and say in its result if most of the time goes by until timers expire.

    Raises:
        CatalogError: nothing more is to come although the benchmark waits for something, or
            requests have had no answer however often they were sent again.
    """
    try:
        found = program(run)
    except (MPIError, VerbsError) as error:
        if isinstance(error, VerbsError) and error.errno != WCStatus.RETRY_EXC_ERR.name:
            raise
        raise CatalogError([f"{run.name}: {error}"]) from error
    except RuntimeError:
        if not run.sim.over:
            raise
        raise CatalogError([f"{run.name}: {_failed(run) or missing(run)}"]) from None
    if fault := _failed(run):
        raise CatalogError([f"{run.name}: {fault}"])
    name, share = _longest(run, "latency_us" in found.row)
    told = found.breakdown
    return replace(found, breakdown=_shared(told) if share < TELLING else _timed(told, name, share))


def _failed(run: Run) -> str:
    """What is wrong if requests have ended without an answer."""
    if not run.is_built:
        # Those of the MPI library raise errors of their own.
        return ""
    nodes = run.cluster.nodes
    failed = sum([one.adapter.counts["req_transport_retries_exceeded"] for one in nodes])
    if not failed:
        return ""
    return f"RETRY_EXC_ERR: {failed} requests had no answer, however often they were sent again"


def missing(run: Run) -> str:
    """Say that a message that is waited for does not come."""
    kind = run.options.connection
    again = "" if kind in ACKNOWLEDGED else f"; messages of {kind} are not sent again"
    return f"no process can go on: what one waits for was lost or corrupted{again}"


def _longest(run: Run, in_turn: bool) -> tuple[str, float]:
    """The timers of the adapter that were waited for longest, and their share of all time.

    It is that of all adapters if operations follow each other: they wait for one after the other.
    """
    every = run.sim.resources.waiting_ps().items()
    timers = [(waited, name) for name, waited in every if is_timer(name)]
    waited, name = max(timers, default=(0, ""))
    if in_turn:
        waited = sum([one for one, _ in timers])
    return name, min(1.0, waited / max(1, run.sim.now))


def _timed(told: dict[str, Any], name: str, share: float) -> dict[str, Any]:
    """A breakdown in which timers bind; an operation that it follows is none of many alike."""
    if not told:
        return told
    others = [one for one in told.get("resources", ()) if one["name"] != name]
    resources = [{"name": name, "waited": share}, *others]
    return {**told, "binds": name, "also": (), "resources": resources, "typical": False}


def _shared(told: dict[str, Any]) -> dict[str, Any]:
    """A breakdown in which the link binds, rather than what leads one queue pair to it.

    Both are busy with what is sent again, and no longer equally.
    """
    binds = told.get("binds", "")
    also = [one for one in told.get("also", ()) if whole(one) == one]
    if whole(binds) == binds or not also:
        return told
    others = [one for one in (binds, *told["also"]) if one != also[0]]
    return {**told, "binds": also[0], "also": others}
