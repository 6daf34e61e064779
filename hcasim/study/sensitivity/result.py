"""The answer of a study: the parameters on which a result rests, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hcasim.ground.errors import one_of
from hcasim.ground.quantities import number
from hcasim.ground.text import brief
from hcasim.runs.table import Table
from hcasim.study.sensitivity.document import (
    SensitivityDocument,
    StudiedEffect,
    StudiedOutput,
    VariedParameter,
)
from hcasim.study.sensitivity.factor import Factor
from hcasim.study.sensitivity.sampling import Index, Spread
from hcasim.study.sensitivity.subject import Output, Reading
from hcasim.study.sensitivity.tornado import Effect

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Method = Literal["tornado", "morris", "sobol"]
"""How parameters are varied."""
MATTERS = 0.005
"""Share of an output from which on its movement is worth a word."""
NAMED = 3
"""Most parameters in a sentence."""


@dataclass(frozen=True, repr=False)
class Sensitivity(Table):
    """What a study has found.

    Parameters:
        title: of what was asked about.
        method: "tornado", "morris" or "sobol".
        base: each output with the values of the machine.
        effects: of each parameter alone on each output, the largest first.
        indices: of each parameter on each output while all vary; empty of a tornado.
        spreads: of each output while all vary; empty of a tornado.
        samples: how many machines were drawn; 0 of a tornado.
        fixed: parameters that nobody has published and that were not varied, with the reason.
        simulated: points that were needed.
    """

    title: str
    method: Method
    base: Mapping[Output, Reading]
    effects: tuple[Effect, ...]
    indices: tuple[Index, ...]
    spreads: tuple[Spread, ...]
    samples: int
    fixed: Mapping[str, str]
    simulated: int

    def __repr__(self) -> str:
        return brief(self, self.title, method=self.method, parameters=len(self.factors))

    @property
    def factors(self) -> dict[str, Factor]:
        """What was varied, by path."""
        return {one.factor.path: one.factor for one in self.effects}

    def of(self, output: Output) -> list[Effect]:
        """Return the effects on an output, the largest first."""
        return [one for one in self.effects if one.output == output]

    def matter(self, output: Output) -> list[Effect]:
        """Return those that move an output by half a percent of it or more."""
        least = MATTERS * abs(self.base[output].value)
        return [one for one in self.of(output) if one.swing > 0 and one.swing >= least]

    axes = ("output", "parameter")
    fields = ("from", "to", "low", "base", "high")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each parameter and output: with its ends, effects and indices."""
        indices = {(one.factor.path, one.output): one.numbers for one in self.indices}
        return [
            {
                "output": one.output.name,
                "unit": one.output.unit,
                "parameter": one.factor.name,
                "evidence": one.factor.evidence,
                "from": one.factor.text(one.factor.low),
                "value": one.factor.text(one.factor.base),
                "to": one.factor.text(one.factor.high),
                "low": one.low.value,
                "base": one.base.value,
                "high": one.high.value,
                "swing": one.swing,
                "elasticity": one.elasticity,
                **indices.get((one.factor.path, one.output), {}),
            }
            for one in self.effects
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON, in the form of the schema `sensitivity`."""
        return SensitivityDocument(
            **SensitivityDocument.head(),
            title=self.title,
            method=self.method,
            samples=self.samples,
            parameters=tuple(_parameter(one) for one in self.factors.values()),
            outputs=tuple(self._studied(one) for one in self.base),
            effects=tuple(self._effects()),
            fixed=dict(self.fixed),
            words=tuple(self.words()),
        ).to_dict()

    def _studied(self, output: Output) -> StudiedOutput:
        base = self.base[output]
        spread = next((one for one in self.spreads if one.output == output), None)
        drawn = {} if spread is None else {"quantiles": spread.quantiles, "holding": spread.holding}
        return StudiedOutput(**vars(output), base=base.value, holds=base.holds, **drawn)

    def _effects(self) -> Iterator[StudiedEffect]:
        indices = {(one.factor.path, one.output): one.numbers for one in self.indices}
        for one in self.effects:
            index = indices.get((one.factor.path, one.output))
            yield StudiedEffect(
                parameter=one.factor.path,
                output=one.output.name,
                low=one.low.value,
                high=one.high.value,
                swing=one.swing,
                elasticity=one.elasticity,
                turns=one.turns,
                **({} if index is None else {"indices": index}),
            )

    def plot(self) -> Figure:
        """Draw a tornado: how far each parameter moves each output, the widest on top."""
        from hcasim.study.sensitivity.drawing import draw

        charts = [(one, self.base[one].value, self.matter(one)) for one in self.base]
        return draw(self.title, charts)

    def words(self) -> list[str]:
        """Return the answer: on which parameters each output rests."""
        return [" ".join(self._sentences(output)) for output in self.base]

    def _sentences(self, output: Output) -> Iterator[str]:
        base = self.base[output]
        claim = f" ({output.statement})" if output.statement else ""
        yield f"{output.name}{claim} is {number(base.value, output.unit)}{_held(base)}."
        matter = self.matter(output)
        if not matter:
            yield f"It rests on nothing that was varied (parameters: {len(self.factors)})."
        else:
            named = [
                f"{one.factor.name} ({_ends(one)} for {_range(one.factor)})"
                for one in matter[:NAMED]
            ]
            more = len(matter) - len(named)
            others = f", and {more} more" if more else ""
            yield f"It rests most on {_listed(named)}{others}."
            rest = [one for one in self.of(output) if one not in matter[:NAMED]]
            if rest:
                values = [v for one in rest for v in (one.low.value, one.high.value, base.value)]
                least, most = number(min(values)), number(max(values))
                stays = f"at {most}" if least == most else f"within {least} to {most}"
                stays = f"{stays} {output.unit}".strip()
                yield f"With each of the other {len(rest)} alone it stays {stays}."
        if base.holds is not None:
            yield self._verdict(output, base)
        for one in self.spreads:
            if one.output == output:
                low, _, high = one.quantiles
                ends = f"{number(low)} to {number(high, output.unit)}"
                share = "" if one.holding is None else f"; the claim holds in {one.holding:.0%}"
                yield f"With all at once, 90 % of {self.samples} samples give {ends}{share}."

    def _verdict(self, output: Output, base: Reading) -> str:
        turning = [one for one in self.of(output) if one.turns is not None]
        verb = "hold" if base.holds else "fail"
        if not turning:
            return f"It {verb}s whatever single parameter is varied."
        until = [
            f"{one.factor.name} {'falls' if one.turns < one.factor.base else 'rises'} to "
            f"{one.factor.text(one.turns)}"
            for one in turning
            if one.turns is not None
        ]
        return f"It {verb}s unless {one_of(until)}."

    def lines(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and the cells of each row that moves anything."""
        names = (*self.axes, *self.fields)
        moving = (row for row in self.rows if row["swing"])
        return [names, *(tuple(_cell(row[name]) for name in names) for row in moving)]


def _parameter(one: Factor) -> VariedParameter:
    return VariedParameter(
        path=one.path,
        name=one.name,
        also=one.paths[1:],
        low=one.low,
        base=one.base,
        high=one.high,
        unit=one.leaf.unit.base if one.leaf.unit else "",
        evidence=one.evidence,
        origin=one.origin,
    )


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _held(reading: Reading) -> str:
    return {None: "", True: ", which meets the claim", False: ", which misses the claim"}[
        reading.holds
    ]


def _ends(one: Effect) -> str:
    return f"{number(one.low.value)} to {number(one.high.value, one.output.unit)}"


def _range(factor: Factor) -> str:
    return f"{factor.text(factor.low)} to {factor.text(factor.high)}"


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
