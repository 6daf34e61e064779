"""What programs take for what they compute between two calls."""

from __future__ import annotations

from math import isfinite
from typing import Final, NamedTuple

from hcasim.ground.errors import FaultError, nearest
from hcasim.workloads import WORKLOADS

TOOL: Final = "perftest"
_PREFIX: Final = "ib_"
_MOST: Final = 1000
_ALLOWED: Final = f"{TOOL}, 0, or a factor of real processor time, such as 1.0"


class Computing(NamedTuple):
    """What is charged for computing.

    Attributes:
        factor: of the real processor time that it takes.
        tool: whose loop programs have: "perftest", "" for none, or None for what their names say.
    """

    factor: float = 0.0
    tool: str | None = None

    def cycles(self, name: str) -> int:
        """What a program works for each request, on stacks whose work is in cycles."""
        if self.tool is None and name.startswith(_PREFIX):
            workload = WORKLOADS.get(name.removeprefix(_PREFIX))
            return workload.defaults.work if workload else 0
        return WORKLOADS["write_bw"].defaults.work if self.tool else 0


def read_computing(text: str) -> Computing:
    """What a word asks for; FaultError if that is nothing."""
    if text == TOOL:
        return Computing(tool=TOOL)
    try:
        factor = float(text)
    except ValueError:
        raise FaultError(text, _ALLOWED, nearest(text, [TOOL])) from None
    if not isfinite(factor) or not 0 <= factor <= _MOST:
        raise FaultError(text, f"a factor from 0 to {_MOST}")
    return Computing(factor, "")
