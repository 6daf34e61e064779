"""The answer of a study: the parameters on which a result rests, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import Value
from hcasim.ground.errors import one_of
from hcasim.ground.quantities import number
from hcasim.ground.text import brief, html_table
from hcasim.runs.document import Form, Head
from hcasim.runs.table import Table
from hcasim.study.sensitivity.factor import Factor, Part, meanings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Method = Literal["tornado", "sobol"]
"""How parameters are varied."""
MATTERS = 0.005
"""Share of an output from which on its movement is worth a word."""
NAMED = 3
"""Most parameters in a sentence."""
BARS = 10
"""Most parameters of a chart."""
_HELD = {None: "", True: ", which meets the claim", False: ", which misses the claim"}


class Output(Form):
    """A number that was asked about."""

    name: str
    unit: str = Field(description="empty of a ratio")
    statement: str = Field(description="what a claim states")
    base: float = Field(description="with the values of the machine")
    holds: bool | None = Field(description="whether it meets the claim, if there is one")
    quantiles: tuple[float, float, float] | None = Field(
        default=None, description="of 5, 50 and 95 % over all samples"
    )
    holding: float | None = Field(
        default=None, description="share of the samples in which the claim holds"
    )


class Effect(Form):
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
        default=None,
        description="of Sobol: first, the share of the variance that the parameter alone explains, "
        "and total, with what it does together with others; each with the half width of its "
        "interval of 95 %",
    )


class SensitivityDocument(Head):
    """On which parameters a result rests."""

    schema_: Literal["hcasim-sensitivity"] = Field(alias="schema")
    title: str
    method: Method
    samples: int = Field(description="machines that were drawn; 0 of a tornado")
    parameters: tuple[Factor, ...]
    outputs: tuple[Output, ...]
    effects: tuple[Effect, ...]
    fixed: dict[str, str] = Field(description="what was not varied, by path, and why")
    words: tuple[str, ...] = Field(description="the answer")


@dataclass(frozen=True, repr=False)
class Sensitivity(Table):
    """What a study has found.

    Parameters:
        title: of what was asked about.
        method: "tornado" or "sobol".
        factors: what was varied, by path.
        outputs: the numbers.
        effects: of each parameter on each output, the largest first.
        samples: how many machines were drawn; 0 of a tornado.
        fixed: parameters that nobody has published and that were not varied, with the reason.
        simulated: points that were needed.
    """

    title: str
    method: Method
    factors: Mapping[str, Factor]
    outputs: tuple[Output, ...]
    effects: tuple[Effect, ...]
    samples: int
    fixed: Mapping[str, str]
    simulated: int

    axes = ("output", "parameter")
    fields = ("from", "to", "low", "base", "high")

    def __repr__(self) -> str:
        return brief(self, self.title, method=self.method, parameters=len(self.factors))

    def of(self, output: Output) -> list[Effect]:
        """Return the effects on an output, the largest first."""
        return [one for one in self.effects if one.output == output.name]

    def matter(self, output: Output) -> list[Effect]:
        """Return those that move an output by half a percent of it or more."""
        least = MATTERS * abs(output.base)
        return [one for one in self.of(output) if one.swing > 0 and one.swing >= least]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each parameter and output: with its ends, effects and indices."""
        return [
            {
                "output": output.name,
                "unit": output.unit,
                "parameter": factor.name,
                "evidence": factor.evidence,
                "from": factor.text(factor.low),
                "value": factor.text(factor.base),
                "to": factor.text(factor.high),
                "low": one.low,
                "base": output.base,
                "high": one.high,
                "swing": one.swing,
                "elasticity": one.elasticity,
                **(one.indices or {}),
            }
            for output in self.outputs
            for one in self.of(output)
            for factor in [self.factors[one.parameter]]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON, in the form of the schema `sensitivity`."""
        return SensitivityDocument(
            **SensitivityDocument.head(),
            title=self.title,
            method=self.method,
            samples=self.samples,
            parameters=tuple(self.factors.values()),
            outputs=self.outputs,
            effects=self.effects,
            fixed=dict(self.fixed),
            words=tuple(self.words()),
        ).to_dict()

    def plot(self) -> Figure:
        """Draw a tornado: how far each parameter moves each output, the widest on top."""
        from hcasim.runs.drawing import new_figure, plain

        charts = [(one, self.matter(one)[:BARS]) for one in self.outputs]
        bars = [max(1, len(effects)) for _, effects in charts]
        figure = new_figure(width=9.0)
        figure.set_figheight(1.2 + sum(0.7 + 0.28 * number for number in bars))
        heights = {"height_ratios": [2 + one for one in bars]}
        panels = figure.subplots(len(charts), 1, squeeze=False, gridspec_kw=heights)[:, 0]
        for axes, (output, effects) in zip(panels, charts, strict=True):
            self._draw(axes, output, effects)
        figure.suptitle(plain(self.title), fontsize=10)
        return figure

    def _draw(self, axes: Axes, output: Output, effects: Sequence[Effect]) -> None:
        from hcasim.runs.drawing import plain

        factors = [self.factors[one.parameter] for one in effects]
        base = output.base
        for place, (one, factor) in enumerate(zip(effects[::-1], factors[::-1], strict=True)):
            ends = (one.low, factor.low, "tab:blue"), (one.high, factor.high, "tab:orange")
            for value, end, colour in ends:
                if end == factor.base:
                    continue
                axes.barh(place, value - base, left=base, color=colour, height=0.6)
                right = value > base
                axes.annotate(
                    plain(factor.text(end)),
                    (value, place),
                    xytext=(3 if right else -3, 0),
                    textcoords="offset points",
                    ha="left" if right else "right",
                    va="center",
                    fontsize=6,
                )
        axes.axvline(base, color="black", linewidth=0.8)
        names = [plain(one.name) for one in factors[::-1]]
        axes.set_yticks(range(len(effects)), names, fontsize=7)
        axes.margins(x=0.15)
        said = f": {output.statement}" if output.statement else ""
        axes.set_title(plain(f"{output.name}{said}"), fontsize=8)
        axes.set_xlabel(plain(output.unit or "ratio"), fontsize=7)
        axes.tick_params(axis="x", labelsize=7)
        axes.grid(axis="x", alpha=0.3)

    def meanings(self, effects: Iterable[Effect]) -> list[Part]:
        """Return a table of what the parameters of effects mean, if any is known."""
        factors = (self.factors[one.parameter] for one in effects)
        return meanings({one.name: one.meaning for one in factors})

    def to_html(self) -> str:
        """Return all tables as HTML, as notebooks show them."""
        told = self.meanings(one for one in self.effects if one.swing)
        return super().to_html() + "".join(html_table(h, lines, title) for title, h, lines in told)

    def words(self) -> list[str]:
        """Return the answer: on which parameters each output rests."""
        return [" ".join(self._sentences(output)) for output in self.outputs]

    def _sentences(self, output: Output) -> Iterator[str]:
        claim = f" ({output.statement})" if output.statement else ""
        yield f"{output.name}{claim} is {number(output.base, output.unit)}{_HELD[output.holds]}."
        matter, every = self.matter(output), self.of(output)
        if not matter:
            yield f"It rests on nothing that was varied (parameters: {len(self.factors)})."
        else:
            *first, last = (self._named(one, output.unit) for one in matter[:NAMED])
            named = f"{', '.join(first)} and {last}" if first else last
            others = f", and {len(matter) - NAMED} more" if len(matter) > NAMED else ""
            yield f"It rests most on {named}{others}."
            rest = [one for one in every if one not in matter[:NAMED]]
            if rest:
                values = [output.base, *(value for one in rest for value in (one.low, one.high))]
                least, most = number(min(values)), number(max(values))
                stays = f"at {most}" if least == most else f"within {least} to {most}"
                stays = f"{stays} {output.unit}".strip()
                yield f"With each of the other {len(rest)} alone it stays {stays}."
        if output.holds is not None:
            verb = "hold" if output.holds else "fail"
            turns = [self._turn(one) for one in every if one.turns is not None]
            until = f"unless {one_of(turns)}" if turns else "whatever single parameter is varied"
            yield f"It {verb}s {until}."
        if output.quantiles is not None:
            low, _, high = output.quantiles
            ends = f"{number(low)} to {number(high, output.unit)}"
            share = "" if output.holding is None else f"; the claim holds in {output.holding:.0%}"
            yield f"With all at once, 90 % of {self.samples} samples give {ends}{share}."

    def _turn(self, one: Effect) -> str:
        factor, end = self.factors[one.parameter], int(one.turns or 0)
        return f"{factor.name} {'falls' if end < factor.base else 'rises'} to {factor.text(end)}"

    def _named(self, one: Effect, unit: str) -> str:
        factor = self.factors[one.parameter]
        ends = f"{number(one.low)} to {number(one.high, unit)}"
        return f"{factor.name} ({ends} for {factor.text(factor.low)} to {factor.text(factor.high)})"

    def lines(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and the cells of each row that moves anything."""
        names = (*self.axes, *self.fields)
        moving = (row for row in self.rows if row["swing"])
        return [names, *(tuple(_cell(row[name]) for name in names) for row in moving)]


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
