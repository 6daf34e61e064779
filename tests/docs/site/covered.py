"""What the sentences of the four papers cover, beside what the claims about them test."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import NamedTuple

from hcasim.papers.claim import Claim
from hcasim.papers.plan import Line, Plan
from hcasim.papers.scenario import Scenario
from tests.docs.examples import ROOT

FILE = ROOT / "tests/published/sentences.csv"


class Sentence(NamedTuple):
    """What a statement is about, as its words say or, where they do not, as its figure shows.

    Parameters:
        id: of the statement.
        kind: number, order, trend, range or cause; what is no measurement is a setting, an axis or
            context.
        sizes: one in bytes, "4..64", "65536..", "largest" of all, "all", "some", or empty if it is
            not about sizes.
        series: of the figure.
    """

    id: str
    kind: str
    sizes: str
    series: str

    def covers(self, size: int) -> bool:
        """Whether it says something of messages of a size."""
        if self.sizes in ("all", "largest"):
            return True
        if self.sizes in ("", "some"):
            return False
        low, dots, high = self.sizes.partition("..")
        least = float(low or 0)
        return least <= size <= (float(high or inf) if dots else least)


def read_sentences(file: Path = FILE) -> dict[str, Sentence]:
    """Return what each statement of the four papers covers, by its id."""
    with file.open(encoding="utf-8", newline="") as rows:
        return {row["id"]: Sentence(**row) for row in csv.DictReader(rows)}


class Read(NamedTuple):
    """What a claim reads: series, and the sizes or other values of x at which it reads them."""

    series: tuple[str, ...]
    x: tuple[int, ...]
    every: tuple[int, ...]
    """All at which its own series are simulated."""


def lines_of(plans: Iterator[Plan] | list[Plan]) -> dict[str, Line]:
    """Return the lines of plans by their names: "liu2004/fig06:pcie"."""
    return {one.scenario.qualified(line.name): line for one in plans for line in one.lines}


def read_by(scenario: Scenario, claim: Claim, lines: Mapping[str, Line]) -> Read:
    """Return what a claim of a scenario reads."""
    series: dict[str, None] = {}
    x: set[int] = set()
    every: set[int] = set()
    for measure in claim.measure:
        for (own, points), (other, there) in scenario.readings(measure, lines):
            series |= dict.fromkeys(one.name for one in (*own, *other))
            x.update(points, there)
            every.update(at for one in own for at in one.x)
    return Read(tuple(series), tuple(sorted(x)), tuple(sorted(every)))
