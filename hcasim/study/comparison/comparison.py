"""Two machines, or two results, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError
from hcasim.ground.quantities import band_fields
from hcasim.ground.text import brief, html_table
from hcasim.runs.table import Table
from hcasim.study.comparison.difference import Difference, differences, parts
from hcasim.study.comparison.document import CompareDocument, ComparedPart, ComparedPoint
from hcasim.study.comparison.side import Side
from hcasim.workloads import find_workload
from hcasim.workloads.options import AXES, varying

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Pair:
    """What both sides give at one point.

    Parameters:
        at: where, such as {"size": 8}.
        a: what the first side measured; empty where it has no such point.
        b: the same of the second.
        bands: of the ratio of each quantity, the 5 and 95 % quantiles over samples, if both were
            measured on the same.
    """

    at: Mapping[str, int]
    a: Mapping[str, float]
    b: Mapping[str, float]
    bands: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def ratio(self, field: str) -> float | None:
        """Return B's quantity over A's; None where either is missing or A's is 0."""
        a, b = self.a.get(field), self.b.get(field)
        return b / a if a and b is not None else None

    def is_beyond(self, field: str) -> bool | None:
        """Whether the sides differ by more than bands allow; None without bands.

        On the same samples the ratio is 1 outside its band; otherwise both bands lie apart.
        """
        if field in self.bands:
            least, most = self.bands[field]
            return not least <= 1 <= most
        low, high = band_fields(field)
        if not all(name in side for name in (low, high) for side in (self.a, self.b)):
            return None
        return self.a[high] < self.b[low] or self.b[high] < self.a[low]

    def document(self, fields: Iterable[str]) -> ComparedPoint:
        """Return it in the form of the schema `compare`."""
        every = [*fields]
        return ComparedPoint(
            at=dict(self.at),
            a=dict(self.a),
            b=dict(self.b),
            ratio={name: self.ratio(name) for name in every},
            bands=dict(self.bands),
            beyond={n: told for n in every if (told := self.is_beyond(n)) is not None},
        )


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """Two sides and what differs.

    Parameters:
        a: the first side.
        b: the second side.
        bands: point by point of the first side, those of the ratios; empty without samples of both.
        drawn: paths of what was drawn at random for bands.
        samples: how many machines bands are made of, of each side.
    """

    a: Side
    b: Side
    bands: tuple[Mapping[str, tuple[float, float]], ...] = ()
    drawn: tuple[str, ...] = ()
    samples: int = 0

    def __repr__(self) -> str:
        return brief(self, self.a.machine.id, self.b.machine.id, differences=len(self.differences))

    @property
    def differences(self) -> list[Difference]:
        """The parameters that differ."""
        return differences(self.a.machine, self.b.machine)

    @property
    def parts(self) -> dict[str, tuple[str, str]]:
        """What the machines are made of, where that differs."""
        return parts(self.a.machine, self.b.machine)

    @property
    def labels(self) -> tuple[str, str]:
        """Names of the two sides, by what tells them apart."""
        told = self.parts
        if not told:
            return "A", "B"
        words = [[pair[side] for pair in told.values() if pair[side]] for side in (0, 1)]
        return f"A: {', '.join(words[0])}", f"B: {', '.join(words[1])}"

    @property
    def title(self) -> str:
        """What was measured, and on what."""
        return f"{self.a.workload or 'machines'}: {' and '.join(self.labels)}"

    @property
    def measured(self) -> tuple[str, ...]:
        """What both have measured."""
        if not (self.a.rows and self.b.rows):
            return ()
        found = find_workload(self.a.workload)
        about = found.fields if found is not None else ()
        return tuple(name for name in about if name in self.a.rows[0] and name in self.b.rows[0])

    @property
    def axes(self) -> tuple[str, ...]:
        """What varies."""
        rows = [*self.a.rows, *self.b.rows]
        found = [one.name for one in varying(rows)] if len(rows) > 1 else []
        return tuple(found or [name for name in AXES if rows and name in rows[0]][:1])

    @property
    def pairs(self) -> list[Pair]:
        """Both sides, point by point."""
        ours, theirs = self.a.keyed, self.b.keyed
        found = []
        names = [part for name in self.measured for part in (name, *band_fields(name))]
        bands = dict(zip(ours, self.bands, strict=False))
        for key in dict.fromkeys([*ours, *theirs]):
            a, b = ours.get(key, {}), theirs.get(key, {})
            at = {name: value for name, value in key if name in self.axes}
            values = [{f: float(row[f]) for f in names if f in row} for row in (a, b)]
            found.append(Pair(at, values[0], values[1], bands.get(key, {})))
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each point as a flat row: where, each quantity of A and of B, and their ratio."""
        return [self._row(one) for one in self.pairs]

    def _row(self, one: Pair) -> dict[str, Any]:
        row: dict[str, Any] = dict(one.at)
        for name in self.measured:
            row[f"{name}_a"], row[f"{name}_b"] = one.a.get(name), one.b.get(name)
            row[f"{name}_ratio"] = one.ratio(name)
            if (beyond := one.is_beyond(name)) is not None:
                low, high = one.bands.get(name, (None, None))
                for end, ratio in zip(band_fields(name), (low, high), strict=True):
                    row |= {f"{end}_a": one.a.get(end), f"{end}_b": one.b.get(end)}
                    row[f"{end}_ratio"] = ratio
                row[f"{name}_beyond"] = beyond
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `compare`."""
        return CompareDocument(
            **CompareDocument.head(),
            workload=self.a.workload,
            parts=tuple(ComparedPart(name=n, a=a, b=b) for n, (a, b) in self.parts.items()),
            differences=tuple(one.document() for one in self.differences),
            points=tuple(one.document(self.measured) for one in self.pairs),
            drawn=self.drawn,
            samples=self.samples,
        ).to_dict()

    def plot(self) -> Figure:
        """Draw both curves over what varies.

        Raises:
            CatalogError: nothing was measured.
        """
        from hcasim.runs.drawing import draw_lines

        if not self.measured:
            raise CatalogError(["plot: found machines without a benchmark; allowed: with one"])
        labels = [" ".join(one.split()) for one in self.labels]
        lines = dict(zip(labels, (self.a.rows, self.b.rows), strict=True))
        return draw_lines(self.a.workload, self.measured, lines, AXES[self.axes[0]])

    @property
    def fields(self) -> tuple[str, ...]:
        """Each quantity of A and of B, and their ratio."""
        return tuple(f"{name}_{side}" for name in self.measured for side in ("a", "b", "ratio"))

    def to_html(self) -> str:
        """Return the parameters that differ as a table of HTML, as notebooks show it."""
        rows = [(one.path, *one.texts) for one in self.differences]
        return html_table(("parameter", *self.labels), rows, "Differences")
