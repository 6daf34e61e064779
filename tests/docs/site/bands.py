"""How many published numbers lie between the printed ends, and how far these lie apart.

`python -m tests.docs.site.bands out/reproduce.json` prints that of a reproduction.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import get_args

from hcasim.ground.text import plain_table
from hcasim.papers.plan import plan_papers
from hcasim.papers.roles import Role
from hcasim.papers.verdict import Verdict
from tests.docs.site.kinds import Kind, kinds_of

COLUMNS = ("", "numbers", "with ends", "inside", "median width", "middle half of widths")
Key = Callable[[Verdict], str]


@dataclass(frozen=True)
class Coverage:
    """Published numbers beside the ends of what was simulated.

    Parameters:
        verdicts: of values, each number once.
    """

    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Coverage:
        """Return that of all values among some verdicts; what several claims state counts once."""
        found = {one.first: one for one in verdicts if one.kind == "value"}
        return cls(tuple(found.values()))

    @property
    def known(self) -> list[Verdict]:
        """Those whose ends are known."""
        return [one for one in self.verdicts if one.low is not None]

    @property
    def inside(self) -> float:
        """Share of these that lie between them."""
        return sum(map(is_inside, self.known)) / len(self.known) if self.known else 0.0

    @property
    def widths(self) -> list[float]:
        """The upper end over the lower one, of each, the narrowest first."""
        return sorted(one.high / one.low for one in self.known if one.low and one.high)

    def by(self, key: Key) -> dict[str, Coverage]:
        """Return that of those that are alike."""
        found: dict[str, list[Verdict]] = {}
        for one in self.verdicts:
            found.setdefault(key(one), []).append(one)
        return {name: Coverage(tuple(own)) for name, own in sorted(found.items())}

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of a table, behind its name."""
        widths = self.widths
        if not widths:
            return (str(len(self.verdicts)), "0", "", "", "")
        quarter = len(widths) // 4
        half = f"{widths[quarter]:.2f} to {widths[-1 - quarter]:.2f}"
        inside, width = f"{100 * self.inside:.0f} %", f"{median(widths):.2f}"
        return (str(len(self.verdicts)), str(len(widths)), inside, width, half)


def is_inside(one: Verdict) -> bool:
    """Whether what was published lies between the ends; of a range some of it."""
    low, high = one.ends
    return one.low is not None and one.high is not None and one.low <= high and low <= one.high


def rows_of(found: Coverage, kinds: Mapping[str, Kind]) -> list[tuple[str, ...]]:
    """Return a row for each role, and for each kind of what is predicted."""
    roles = found.by(lambda one: one.role)
    rows = [(role, *roles[role].cells) for role in get_args(Role) if role in roles]
    if "predicted" in roles:
        own = roles["predicted"].by(lambda one: kinds[one.id])
        rows += [(f"predicted: {kind}", *own[kind].cells) for kind in get_args(Kind) if kind in own]
    return [*rows, ("all", *found.cells)]


def read(file: Path) -> list[Verdict]:
    """Return the verdicts of a reproduction."""
    claims = json.loads(file.read_text(encoding="utf-8"))["claims"]
    return [Verdict.model_validate(one, strict=False) for one in claims]


def main(words: Sequence[str]) -> str:
    """Return the table of a reproduction, and with --by-evidence that of what binds."""
    found = Coverage.of(read(Path(words[0])))
    rows = rows_of(found, kinds_of(plan_papers()))
    rows += [(f"evidence: {name}", *one.cells) for name, one in found.by(_evidence).items()]
    return plain_table("Published numbers between the ends at 90 %", COLUMNS, rows, COLUMNS[1:])


def _evidence(one: Verdict) -> str:
    return one.evidence or "unknown"


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]))
