"""Scenarios as tests: each claim of a file is one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from hcasim.ground.errors import CatalogError
from hcasim.ground.text import plain_table
from hcasim.papers.loader import load_scenario
from hcasim.papers.report import COLUMNS, Report, reproduce
from hcasim.papers.verdict import STALE
from hcasim.pytest.model import processes


class ScenarioFile(pytest.File):
    """A file of a scenario."""

    @cached_property
    def report(self) -> Report:
        """Its claims as judged, when the first of them is asked for."""
        return reproduce([str(self.path)], jobs=processes())

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each claim.

        Raises:
            CollectError: every fault of the file.
        """
        try:
            scenario = load_scenario(str(self.path))
        except CatalogError as error:
            raise self.CollectError(str(error)) from None
        for claim in scenario.claims:
            yield ClaimItem.from_parent(self, name=claim.id)


class ClaimItem(pytest.Item):
    """A claim, which fails if it is missed and is expected to if its deviation is documented."""

    parent: ScenarioFile

    def runtest(self) -> None:
        """Replay the scenario, unless another of its claims has, and judge this one."""
        report = self.parent.report
        (verdict,) = (one for one in report.verdicts if one.id == self.name)
        if verdict.status == "deviation":
            pytest.xfail(verdict.note)
        stale = STALE in verdict.note and bool(self.config.getini("xfail_strict"))
        if verdict.status == "fail" or stale:
            (row,) = (one for one in report.lines() if one[0] == self.name)
            cells = dict(zip(COLUMNS, row, strict=True))
            title = "{claim}: {published} published, {simulated} simulated".format(**cells)
            raise Missed(f"{plain_table(title, COLUMNS, [row])}{verdict.note}".rstrip())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *given: Any) -> Any:
        """Say what is missed, or wrong with the file, without a traceback."""
        if isinstance(excinfo.value, Missed | CatalogError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *given)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Say where the claim stands."""
        text = self.path.read_text(encoding="utf-8").splitlines()
        lines = (number for number, line in enumerate(text) if f'"{self.name}"' in line)
        return self.path, next(lines, None), f"claim {self.name}"


class Missed(AssertionError):
    """A claim is missed."""
