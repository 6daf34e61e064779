"""What a test asks of the model: to simulate, and to agree with a curve."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from hcasim.catalog import CatalogError
from hcasim.catalog.folders import is_path
from hcasim.catalog.resolved import Machine
from hcasim.ground.errors import display
from hcasim.ground.text import brief
from hcasim.runs.benchmark import Benchmark, bench
from hcasim.runs.curve import Curve
from hcasim.study.agreement.agreement import (
    Agreement,
    Compared,
    Disagreement,
    check,
    checked,
    compared,
    share,
)
from hcasim.study.agreement.published import opened, read_published

__all__ = ["Agreement", "Compared", "Disagreement", "Model"]

_PARTS = ("adapter", "host", "stack", "switch")

P = ParamSpec("P")
R = TypeVar("R")


def told(method: Callable[P, R]) -> Callable[P, R]:
    """Have what a method raises come from where the test calls it, not from deep inside."""

    @wraps(method)
    def call(*given: P.args, **named: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return method(*given, **named)
        except (CatalogError, Disagreement) as error:
            raise error.with_traceback(None) from None

    return call


class Model:
    """The model, as the fixture `hcasim` gives it to a test.

    Results are kept where `hcasim run` keeps them (`HCASIM_CACHE`).

    Parameters:
        folder: of the test, from which files that it names are seen.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return brief(self, display(self.folder))

    @told
    def bench(
        self, workload: str, testbed: str | PathLike[str] | Machine, **options: Any
    ) -> Benchmark:
        """Run a benchmark, as `hcasim.bench` does.

        Raises:
            CatalogError: every fault of the request.
        """
        return bench(workload, self._seen(testbed), jobs=processes(), **self._located(options))

    @told
    def agrees(
        self,
        found: Benchmark | Curve,
        published: object,
        *,
        within: str | float | None = None,
        quantity: str = "",
        unit: str = "",
    ) -> Agreement:
        """Compare a simulated curve with a published one, at each point of that.

        Parameters:
            found: what `bench`, or a series of `hcasim.run`, has found.
            published, within, quantity, unit: as of `hcasim.check`.

        Raises:
            Disagreement: an AssertionError with a table of both.
            CatalogError: every fault of the request.
        """
        curve = found.curve if isinstance(found, Benchmark) else found
        name = curve.settings.get("workload", curve.name)
        data = opened(published, self.folder)
        read = read_published(data, name, curve.axis, found.fields, quantity, unit)
        return checked(compared(curve, read, share(within, read.field)))

    @told
    def holds(
        self,
        published: object,
        testbed: str | PathLike[str] | Machine,
        workload: str | None = None,
        **how: Any,
    ) -> Agreement:
        """Simulate what was published, and compare both; the parameters are those of
        `hcasim.check`, such as within, over, quantity and unit.

        Raises:
            Disagreement: an AssertionError with a table of both.
            CatalogError: every fault of the request.
        """
        how = {"folder": self.folder, "jobs": processes(), **self._located(how)}
        found = check(published, self._seen(testbed), workload, **how)
        for note in found.notes:
            warnings.warn(f"hcasim: {note}", stacklevel=2)
        return checked(found)

    def _located(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Name files of descriptions as they are seen from the current folder."""
        return {
            name: self._seen(value) if name in _PARTS else value for name, value in options.items()
        }

    def _seen(self, name: Any) -> Any:
        return str(self.folder / name) if isinstance(name, str) and is_path(name) else name


def processes() -> int | None:
    """Return how many processes simulate: all processors, unless tests already run beside each
    other."""
    return 1 if "PYTEST_XDIST_WORKER" in os.environ else None
