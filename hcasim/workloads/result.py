"""What a benchmark returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hcasim.workloads.cost import Cost


@dataclass(frozen=True)
class Result:
    """One measured point.

    Attributes:
        row: the numbers, by column.
        counters: what the adapters and buses counted, by name.
        breakdown: where the time went, if that was asked for.
        cost: what simulating it cost, if that was asked for.
        inputs: digests of what a program has read; None if that is not known.
    """

    row: dict[str, Any]
    counters: dict[str, int] = field(default_factory=dict)
    breakdown: dict[str, Any] = field(default_factory=dict)
    cost: Cost | None = None
    inputs: dict[str, str] | None = None
