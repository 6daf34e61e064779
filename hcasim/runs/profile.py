"""What simulating cost, in the form of the documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hcasim.workloads.cost import Cost, total


def profile(
    costs: Sequence[Cost], points: Sequence[Mapping[str, int]], *, timing: bool
) -> dict[str, Any]:
    """Return what points cost, together and each; nothing of none.

    Parameters:
        costs: what each point cost.
        points: what tells each from the others.
        timing: whether to say times, which differ from run to run.
    """
    found = profile_of(costs, timing=timing)
    if len(costs) > 1:
        named = zip(points, costs, strict=True)
        found["points"] = [{"point": point, **_counts(one, timing)} for point, one in named]
    return found


def profile_of(costs: Iterable[Cost], *, timing: bool) -> dict[str, Any]:
    """Return what points cost together; nothing of none."""
    every = list(costs)
    if not every:
        return {}
    cost = total(every)
    rest = {"queue_s": cost.queue_s, "setup_s": cost.setup_s} if timing else {}
    blocks = []
    for block in cost.dearest if timing else cost.busiest:
        seconds = cost.seconds[block]
        times = {"seconds": seconds, "share": seconds / cost.wall_s} if timing else {}
        blocks.append({"block": block, "calls": cost.calls[block], **times})
    return {**_counts(cost, timing), **rest, "blocks": blocks}


def _counts(cost: Cost, timing: bool) -> dict[str, Any]:
    times = {"wall_s": cost.wall_s, "packets_per_s": cost.packets_per_s} if timing else {}
    return {
        "events": cost.events,
        "packets": cost.packets,
        "packets_left_out": cost.left_out,
        **times,
    }
