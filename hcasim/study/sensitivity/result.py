"""The answer of a study: the parameters on which a result rests, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import Value
from hcasim.catalog.provenance import Evidence
from hcasim.ground.errors import one_of
from hcasim.ground.quantities import number
from hcasim.ground.text import brief, html_table
from hcasim.runs.document import Form, Head
from hcasim.runs.table import Table
from hcasim.study.meaning import Part, meanings
from hcasim.study.sensitivity.factor import Factor, Origin
from hcasim.study.sensitivity.sampling import Spread
from hcasim.study.sensitivity.subject import Output, Reading
from hcasim.study.sensitivity.tornado import Effect

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Method = Literal["tornado", "sobol"]
"""How parameters are varied."""
MATTERS = 0.005
"""Share of an output from which on its movement is worth a word."""
NAMED = 3
"""Most parameters in a sentence."""
_HELD = {None: "", True: ", which meets the claim", False: ", which misses the claim"}


class VariedParameter(Form):
    """A parameter with the ends between which it was varied."""

    path: str = Field(description="as a fit names it")
    name: str = Field(description="as --set and --range take it")
    also: tuple[str, ...] = Field(description="paths of those that follow it")
    low: Value = Field(description="in base units")
    base: Value = Field(description="in base units")
    high: Value = Field(description="in base units")
    unit: str = Field(description="base unit; empty of a plain number")
    evidence: Evidence
    origin: Origin = Field(description="of the ends")
    meaning: str = Field(description="as its description has it; empty if that says nothing")


class StudiedOutput(Form):
    """A number that was asked about."""

    name: str
    unit: str
    statement: str = Field(description="what a claim states")
    base: float = Field(description="with the values of the machine")
    holds: bool | None = Field(description="whether it meets the claim, if there is one")
    quantiles: tuple[float, float, float] | None = Field(
        default=None, description="of 5, 50 and 95 % over all samples"
    )
    holding: float | None = Field(
        default=None, description="share of the samples in which the claim holds"
    )


class StudiedEffect(Form):
    """What a parameter does to an output."""

    parameter: str = Field(description="its path")
    output: str = Field(description="its name")
    low: float = Field(description="the output with the parameter at its lower end")
    high: float = Field(description="and at its upper end")
    swing: float = Field(description="how far the output moves")
    elasticity: float | None = Field(
        description="by how many percent the output changes with one percent of the parameter"
    )
    turns: Value | None = Field(
        description="end at which a claim changes from held to missed or back, in base units"
    )
    indices: dict[str, float] | None = Field(
        default=None, description="of Sobol, with half widths of intervals of 95 %"
    )


class SensitivityDocument(Head):
    """On which parameters a result rests."""

    schema_: Literal["hcasim-sensitivity"] = Field(alias="schema")
    title: str
    method: Method
    samples: int = Field(description="machines that were drawn; 0 of a tornado")
    parameters: tuple[VariedParameter, ...]
    outputs: tuple[StudiedOutput, ...]
    effects: tuple[StudiedEffect, ...]
    fixed: dict[str, str] = Field(description="what was not varied, by path, and why")
    words: tuple[str, ...] = Field(description="the answer")


@dataclass(frozen=True, repr=False)
class Sensitivity(Table):
    """What a study has found.

    Parameters:
        title: of what was asked about.
        method: "tornado" or "sobol".
        base: each output with the values of the machine.
        effects: of each parameter on each output, the largest first.
        spreads: of each output while all parameters vary; empty of a tornado.
        samples: how many machines were drawn; 0 of a tornado.
        fixed: parameters that nobody has published and that were not varied, with the reason.
        simulated: points that were needed.
    """

    title: str
    method: Method
    base: Mapping[Output, Reading]
    effects: tuple[Effect, ...]
    spreads: Mapping[Output, Spread]
    samples: int
    fixed: Mapping[str, str]
    simulated: int

    axes = ("output", "parameter")
    fields = ("from", "to", "low", "base", "high")

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

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each parameter and output: with its ends, effects and indices."""
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
                **one.indices,
            }
            for one in self.effects
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON, in the form of the schema `sensitivity`."""
        outputs = (
            {**vars(one), "base": base.value, "holds": base.holds, **self._spread(one)}
            for one, base in self.base.items()
        )
        return SensitivityDocument(
            **SensitivityDocument.head(),
            title=self.title,
            method=self.method,
            samples=self.samples,
            parameters=tuple(map(_parameter, self.factors.values())),
            outputs=tuple(StudiedOutput(**one) for one in outputs),
            effects=tuple(map(_effect, self.effects)),
            fixed=dict(self.fixed),
            words=tuple(self.words()),
        ).to_dict()

    def _spread(self, output: Output) -> dict[str, Any]:
        return vars(self.spreads[output]) if output in self.spreads else {}

    def plot(self) -> Figure:
        """Draw a tornado: how far each parameter moves each output, the widest on top."""
        from hcasim.study.sensitivity.drawing import draw

        charts = [(one, self.base[one].value, self.matter(one)) for one in self.base]
        return draw(self.title, charts)

    def meanings(self, effects: Iterable[Effect]) -> list[Part]:
        """Return a table of what the parameters of effects mean, if any is known."""
        return meanings({one.factor.name: one.factor.meaning for one in effects})

    def to_html(self) -> str:
        """Return all tables as HTML, as notebooks show them."""
        told = self.meanings(one for one in self.effects if one.swing)
        return super().to_html() + "".join(html_table(h, lines, title) for title, h, lines in told)

    def words(self) -> list[str]:
        """Return the answer: on which parameters each output rests."""
        return [" ".join(self._sentences(output)) for output in self.base]

    def _sentences(self, output: Output) -> Iterator[str]:
        base = self.base[output]
        claim = f" ({output.statement})" if output.statement else ""
        yield f"{output.name}{claim} is {number(base.value, output.unit)}{_HELD[base.holds]}."
        matter = self.matter(output)
        if not matter:
            yield f"It rests on nothing that was varied (parameters: {len(self.factors)})."
        else:
            *first, last = map(_named, matter[:NAMED])
            named = f"{', '.join(first)} and {last}" if first else last
            others = f", and {len(matter) - NAMED} more" if len(matter) > NAMED else ""
            yield f"It rests most on {named}{others}."
            rest = [one for one in self.of(output) if one not in matter[:NAMED]]
            if rest:
                values = [v for one in rest for v in (one.low.value, one.high.value, base.value)]
                least, most = number(min(values)), number(max(values))
                stays = f"at {most}" if least == most else f"within {least} to {most}"
                stays = f"{stays} {output.unit}".strip()
                yield f"With each of the other {len(rest)} alone it stays {stays}."
        if base.holds is not None:
            verb = "hold" if base.holds else "fail"
            turns = [_turn(one) for one in self.of(output) if one.turns is not None]
            until = f"unless {one_of(turns)}" if turns else "whatever single parameter is varied"
            yield f"It {verb}s {until}."
        if spread := self.spreads.get(output):
            low, _, high = spread.quantiles
            ends = f"{number(low)} to {number(high, output.unit)}"
            share = "" if spread.holding is None else f"; the claim holds in {spread.holding:.0%}"
            yield f"With all at once, 90 % of {self.samples} samples give {ends}{share}."

    def lines(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and the cells of each row that moves anything."""
        names = (*self.axes, *self.fields)
        moving = (row for row in self.rows if row["swing"])
        return [names, *(tuple(_cell(row[name]) for name in names) for row in moving)]


def _parameter(one: Factor) -> VariedParameter:
    own = {name: part for name, part in vars(one).items() if name in VariedParameter.model_fields}
    unit = one.leaf.unit.base if one.leaf.unit else ""
    return VariedParameter(**own, also=one.paths[1:], unit=unit)


def _effect(one: Effect) -> StudiedEffect:
    return StudiedEffect(
        parameter=one.factor.path,
        output=one.output.name,
        low=one.low.value,
        high=one.high.value,
        swing=one.swing,
        elasticity=one.elasticity,
        turns=one.turns,
        **({"indices": one.indices} if one.indices else {}),
    )


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _turn(one: Effect) -> str:
    factor = one.factor
    end = factor.base if one.turns is None else one.turns
    return f"{factor.name} {'falls' if end < factor.base else 'rises'} to {factor.text(end)}"


def _named(one: Effect) -> str:
    ends = f"{number(one.low.value)} to {number(one.high.value, one.output.unit)}"
    factor = one.factor
    return f"{factor.name} ({ends} for {factor.text(factor.low)} to {factor.text(factor.high)})"
