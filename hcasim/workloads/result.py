"""What a benchmark returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """One measured point.

    Attributes:
        row: the numbers, by column.
        counters: what the adapters and buses counted, by name.
        breakdown: where the time went, if that was asked for.
    """

    row: dict[str, Any]
    counters: dict[str, int] = field(default_factory=dict)
    breakdown: dict[str, Any] = field(default_factory=dict)
