"""The tables of perftest: their columns, and the samples before a line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from hcasim.ground.errors import one_of
from hcasim.ground.faults import shown
from hcasim.traces.perftest.figures import BANDWIDTH_UNITS
from hcasim.traces.printed import Figure, Hints, Unreadable, agree
from hcasim.traces.schema import Measured

HEAD = re.compile(r"\s*#bytes(?!\s+#repetitions)\s.*")
"""The head of a table."""
_COLUMN = re.compile(
    r"#bytes|#iterations|#sl|tps average|CPU_Util\[%+\]|[0-9.]+% percentile\[\S+\]"
    r"|(?:BW peak|BW average|BW Port[12]|MsgRate Port[12]|MsgRate"
    r"|t_min|t_max|t_typical|t_avg|t_stdev)\s?\[\S+\]"
)
_UNITS = {"t_": ["usec"], "9": ["usec"], "MsgRate": ["Mpps"], "BW": [*BANDWIDTH_UNITS]}
"""Those of a column, by its beginning."""
_TAIL = 2
"""Longest samples that versions since 2017 leave out of a line and of -H, but not of -U."""


@dataclass
class Listing:
    """The samples of -U, in the order of time, or of -H, sorted."""

    line: int
    unit: str
    values: list[Figure] = field(default_factory=list)
    open: bool = True

    @property
    def is_sorted(self) -> bool:
        numbers = [one.value for one in self.values]
        return numbers == sorted(numbers)


def read_columns(line: str) -> tuple[list[str], str]:
    """Return the columns of a table and the unit of its bandwidths.

    Raises:
        Unreadable: other columns or units than perftest's.
    """
    rest = _COLUMN.sub(" ", line).split()
    if rest:
        raise Unreadable(f"head of the table: found {shown(' '.join(rest))}, which is no column")
    names, units = [], []
    for text in _COLUMN.findall(line):
        base, _, bracket = text.partition("[")
        base, unit = base.strip(), bracket.rstrip("]")
        allowed = next((those for start, those in _UNITS.items() if base.startswith(start)), [unit])
        if unit not in allowed:
            raise Unreadable(f"{base}: found {shown(unit)}; allowed: {one_of(allowed)}")
        if base.startswith("BW"):
            units.append(BANDWIDTH_UNITS[unit])
        names.append(_name(base))
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice or names[:1] != ["#bytes"] or "#iterations" not in names:
        raise Unreadable("head of the table: found other columns than perftest's")
    if not times_of(names) and "BW_average" not in names:
        raise Unreadable("head of the table: found no time and no average bandwidth")
    if len(set(units)) > 1:
        raise Unreadable(f"head of the table: found bandwidths in {one_of(sorted(set(units)))}")
    return names, units[0] if units else ""


def _name(base: str) -> str:
    """Name a column without its unit."""
    if base.endswith("% percentile"):
        return f"percentile_{base.partition('%')[0]}"
    if "Port" in base:
        what, _, port = base.partition(" Port")
        return f"{what}_port{port}"
    return {"tps average": "tps", "BW peak": "BW_peak", "BW average": "BW_average"}.get(base, base)


def times_of(columns: list[str]) -> list[str]:
    """Return the columns of times that count."""
    return [name for name in columns if name in ("t_typical", "t_avg")]


def sampled(
    printed: Measured, listing: Listing, iters: int, cells: dict[str, Figure], hints: Hints
) -> Measured:
    """Put the samples in the place of their statistics, if both say the same."""
    samples = listing.values
    if len(samples) not in (iters - 1, iters - 1 - _TAIL):
        raise Unreadable(
            f"found {len(samples)} samples above for {iters} iterations; "
            f"allowed: {iters - 1}: lines are missing"
        )
    middle = cells["t_typical"]
    kept = sorted(one.value for one in samples)
    possible = [
        (min(medians), max(medians))
        for tail in (0, _TAIL)
        if (some := kept[: len(kept) - tail])
        for medians in [(some[(len(some) - 1) // 2], some[len(some) // 2])]
    ]
    rough = Decimal("1e-5")
    if not any(
        agree(middle.between(), (low * (1 - rough), high * (1 + rough))) for low, high in possible
    ):
        raise Unreadable(f"found a typical time of {middle.text}, which is not that of the samples")
    cycles = hints.cpu_mhz or Decimal(1)
    values = [float(one.value / cycles * 1000) for one in samples]
    form: dict[str, object] = {"samples": tuple(values)}
    if len(samples) != iters - 1 or (listing.is_sorted and len(samples) > _TAIL):
        form = {"histogram": tuple(sorted(Counter(values).items()))}
    same = {"quantity": printed.quantity, "unit": printed.unit, "printed": printed.printed}
    return Measured.model_validate(same | form)
