"""Where the time goes on two machines, stage by stage, and which block limits each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any

from pydantic import Field

from hcasim.runs.document import Form
from hcasim.workloads.explain import TELLING

MEAN = "mean of all, less this one"
"""What a number that is a mean has more than the message whose stages are told."""
_WORTH = 0.1
"""Share of the time from which on a block is worth a line."""
_MAIN = 0.05
"""Share of all differences from which on that of a stage is worth a word."""
_PS = 1e6
"""In a microsecond."""

Spent = tuple[str, int]
"""A stage and what it takes, in picoseconds, which add up exactly."""


class Stage(Form):
    """What a stage of a message takes on both machines, in microseconds; None where none is."""

    name: str = Field(alias="stage")
    a: float | None
    b: float | None
    difference: float


class Block(Form):
    """Share of the time that a block is busy, or waited for, on both; None where none is."""

    name: str
    a: float | None
    b: float | None
    waited: bool

    @property
    def most(self) -> float:
        """The larger of both shares."""
        return max(self.a or 0.0, self.b or 0.0)


class Breakdown(Form):
    """What `--explain` says of a point, of two machines: where the time goes on both."""

    stages: tuple[Stage, ...] = Field(description="of a latency they add up to it")
    blocks: tuple[Block, ...] = Field(description="the one that does most first")
    binds: tuple[str, str] = Field(description="the block that limits each; empty if none is known")

    @property
    def totals(self) -> Stage:
        """The sum of the stages."""
        a, b = (sum(_ps(getattr(one, side) or 0.0) for one in self.stages) for side in "ab")
        return _stage("total", a, b)

    @property
    def telling(self) -> tuple[Block, ...]:
        """The blocks worth telling; none beside a message's stages if none is in use for long."""
        binding = [one.most for one in self.blocks if one.name in self.binds]
        if self.stages and max(binding, default=0.0) < TELLING:
            return ()
        return tuple(one for one in self.blocks if one.most >= _WORTH or one.name in self.binds)

    def words(self) -> str:
        """Say in a sentence what stages the difference is in, or else what limits each machine."""
        if self.stages:
            least = _MAIN * sum(abs(one.difference) for one in self.stages)
            main = [one for one in self.stages if abs(one.difference) >= max(least, 1 / _PS)]
            main.sort(key=lambda one: -abs(one.difference))
            told = ", ".join(f"{one.name} {one.difference:+.3f} us" for one in main)
            return f"Stages that differ: {told}." if told else ""
        a, b = self.binds
        if not (a or b):
            return ""
        a, b = a or "Nothing", b or "nothing"
        return f"{a} limits both." if a == b else f"{a} limits A, {b} limits B."


def side_by_side(
    a: Mapping[str, Any], b: Mapping[str, Any], ends: tuple[float, float] | None
) -> Breakdown:
    """Put the explanations of two machines side by side.

    Parameters:
        a, b: what explaining the point has given on each machine.
        ends: both latencies in microseconds, to which the stages have to add up; None of another
            quantity.
    """
    ways = [_stages(one) for one in (a, b)]
    if ends is not None and all(ways):
        for way, end in zip(ways, ends, strict=True):
            # What follows the time that is measured, as deregistering, is no part of it.
            reached = [*accumulate(ps for _, ps in way)]
            if _ps(end) in reached:
                del way[reached.index(_ps(end)) + 1 :]
            elif rest := _ps(end) - reached[-1]:
                way.append((MEAN, rest))
    blocks = []
    for key in ("busy", "waited"):
        both = [{r["name"]: r[key] for r in one.get("resources", ()) if key in r} for one in (a, b)]
        blocks += [
            Block(name=name, a=both[0].get(name), b=both[1].get(name), waited=key == "waited")
            for name in {**both[0], **both[1]}
        ]
    blocks.sort(key=lambda one: -one.most)
    binds = (a.get("binds", ""), b.get("binds", ""))
    return Breakdown(stages=tuple(_aligned(*ways)), blocks=tuple(blocks), binds=binds)


def _stages(found: Mapping[str, Any]) -> list[Spent]:
    """Return the stages of a message; of MPI those of one name together, as there may be many."""
    if "stages" in found:
        return [(one["stage"], _ps(one["us"])) for one in found["stages"]]
    spent: dict[str, int] = {}
    for step in (*found.get("steps", ()), *found.get("path", ())):
        parts = [
            (f"{step['step']}: {one['stage']}", _ps(one["us"])) for one in step.get("stages", ())
        ]
        rest = _ps(step["us"]) - sum(ps for _, ps in parts)
        if rest:
            parts.append((f"{step['step']} on the way" if "to" in step else step["step"], rest))
        for name, ps in parts:
            spent[name] = spent.get(name, 0) + ps
    return [*spent.items()]


def _aligned(a: list[Spent], b: list[Spent]) -> Iterator[Stage]:
    """Yield the stages of both in their order; those of the same name beside each other."""
    ours_named, theirs_named = ([name for name, _ in way] for way in (a, b))
    matched = SequenceMatcher(None, ours_named, theirs_named, autojunk=False)
    for how, i, i_end, j, j_end in matched.get_opcodes():
        if how == "equal":
            for (name, ours), (_, theirs) in zip(a[i:i_end], b[j:j_end], strict=True):
                yield _stage(name, ours, theirs)
        else:
            yield from (_stage(name, us, None) for name, us in a[i:i_end])
            yield from (_stage(name, None, us) for name, us in b[j:j_end])


def _stage(name: str, a: int | None, b: int | None) -> Stage:
    ours, theirs = (None if ps is None else ps / _PS for ps in (a, b))
    return Stage(name=name, a=ours, b=theirs, difference=((b or 0) - (a or 0)) / _PS)


def _ps(us: float) -> int:
    return round(us * _PS)
