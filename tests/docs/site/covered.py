"""What the sentences of the four papers cover, beside what the claims about them test."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from math import inf
from pathlib import Path
from typing import NamedTuple

from hcasim.papers.claim import Claim
from hcasim.papers.plan import Line, Plan
from hcasim.papers.scenario import Scenario
from tests.docs.examples import ROOT

FILE = ROOT / "tests/published/sentences.csv"

ADAPTERS = ("PCI-X", "PCIe|PCI-EX")
SAME = (
    "binding MVAPICH LAM InfiniCon N-N H-H MemFree flag.set flag.clear 2.6.5 G5 OSX Opteron "
    "deregistration intra inter"
)
OTHERS = r"""
PCI-X > =mt23108  PCIe|PCI-EX > =mt252  1 process > processes=1  2 processes > processes=2
[Ss]end/[Rr]eceive > =send_lat  RDMA write > =(write|window|mpi|osu)  RDMA read > =read_lat
atomics|fetch-and-add > =fetch_add  atomics|compare-and-swap > =cmp_swap
uni-?directional > _bw  bi-directional|both-way(?! hotspot) > _bibw  ping-pong > _lat
[Bb]oth ports|two(-| )ports? > ports=2|two-ports  strip > striping|two-ports
(1|[Oo]ne) port|against one > ^(?!.*(ports=2|two-ports))  Dell > ^(?!.*(-g5|-opteron))
\bMPI > =(osu|imb|nas|multi|hotspot|overlap|netpipe_mpi)  four nodes > nodes=4
\b(raw |VAPI|verbs) > =(window|write_lat|send_lat|netpipe )  Mem\b > mode=mem\b
n=128 > qps=128\b  n=1\b > qps=1\b  with -I > invalidate=True  without -I > ^(?!.*invalidate)
\bregistration > =registration  both-way hotspot > =hotspot_both
receive hotspot|overlap, receive > =(hotspot_rec|overlap_irec)
send hotspot|overlap, send > =(hotspot_se|overlap_ise)
\bIS\b > =nas_is  \bFT\b > =nas_ft  \bMG\b > =nas_mg  \bLU\b > =nas_lu  \bCG\b > =nas_cg
"""
WORDS = dict(one.split(" > ") for one in re.split(r"\n|  ", OTHERS.strip()))
WORDS |= {one: one for one in SAME.split()}
"""What names a series in a sentence, and what is found then in all that a series says of itself."""


class Sentence(NamedTuple):
    """What a statement is about, as its words say or, where they do not, as its figure shows.

    Parameters:
        id: of the statement.
        kind: number, order, trend, range or cause; what is no measurement is a setting, an axis or
            context.
        sizes: one in bytes, "4..64", "65536..", "largest" of all, "all", "some", or empty if it
            names none: it is about all that its figure has.
        series: of the figure.
        cause: what tests the cause that it names, if it does: a claim, "itself" where its own claim
            compares with and without, "refuted" where there is no such effect, or "untested"; why.
    """

    id: str
    kind: str
    sizes: str
    series: str
    cause: str = ""

    def covers(self, size: int) -> bool:
        """Whether it says something of messages of a size."""
        if self.sizes in ("", "all", "largest"):
            return True
        if self.sizes == "some":
            return False
        low, dots, high = self.sizes.partition("..")
        least = float(low or 0)
        return least <= size <= (float(high or inf) if dots else least)


def read_sentences(file: Path = FILE) -> dict[str, Sentence]:
    """Return what each statement of the four papers covers, by its id."""
    with file.open(encoding="utf-8", newline="") as rows:
        return {row["id"]: Sentence(**row) for row in csv.DictReader(rows)}


class Read(NamedTuple):
    """What a claim reads: series, and the sizes or other values of x at which it reads each."""

    lines: list[tuple[Line, set[int]]]

    @property
    def series(self) -> list[str]:
        """Their names."""
        return [*dict.fromkeys(line.name for line, _ in self.lines)]

    @property
    def x(self) -> list[int]:
        """All x at which one is read."""
        return sorted({at for _, points in self.lines for at in points})

    @property
    def every(self) -> list[int]:
        """All x at which one is simulated."""
        return sorted({at for line, _ in self.lines for at in line.x})


def lines_of(plans: Iterator[Plan] | list[Plan]) -> dict[str, Line]:
    """Return the lines of plans by their names: "liu2004/fig06:pcie"."""
    return {one.scenario.qualified(line.name): line for one in plans for line in one.lines}


def read_by(scenario: Scenario, claim: Claim, lines: Mapping[str, Line]) -> Read:
    """Return what a claim of a scenario reads."""
    found: dict[str, tuple[Line, set[int]]] = {}
    for measure in claim.measure:
        for side in chain.from_iterable(scenario.readings(measure, lines)):
            for line in side[0]:
                name = line.scenario.qualified(line.name)
                found.setdefault(name, (line, set()))[1].update(side[1])
    return Read([*found.values()])


def missed_by(sentence: Sentence, read: Read) -> Iterator[str]:
    """Yield what a sentence covers and a claim does not read: named series, and simulated sizes.

    An x that is no size is covered if the sentence names no size.
    """
    known = [_words(line) for line, _ in read.lines]
    for part in sentence.series.split(";"):
        named = [word for word in WORDS if re.search(word, part)]
        adapters = [word for word in named if word in ADAPTERS]
        for word in named:
            # Two adapters in one part are compared, one has all that is named.
            both = {word, *(adapters if len(adapters) == 1 else ())}
            if not any(all(re.search(WORDS[one], words) for one in both) for words in known):
                yield f"{part.strip()}: {word}"
    for line, points in read.lines:
        by_size = line.axis == "size" or sentence.sizes in ("", "all", "largest")
        covered = {at for at in line.x if sentence.covers(at)} if by_size else points
        if sentence.sizes != "some" and not (covered and covered <= points):
            yield f"{line.name}: {sorted(covered - points) or 'no size of it'}"


def _words(line: Line) -> str:
    """Return all that a series says of itself."""
    places = {"workload": line.jobs[0].workload, "testbed": line.scenario.testbed_of(line.name)}
    told = line.series.model_dump(exclude_none=True) | places | {"name": line.name}
    return " ".join(f"{key}={value}" for key, value in told.items())
