"""calibrate prints what was fitted and writes it where it is told."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Hcasim = Callable[..., Any]


class FitReport:
    """What a calibration returns."""

    columns = ("parameter", "value", "note")

    def rows(self) -> list[tuple[str, ...]]:
        return [("adapters.mt25208.send.latency", "600 ns", "only a sum is identifiable")]

    def closing_lines(self) -> list[str]:
        return ["7 claims, 5 parameters"]

    def to_dict(self) -> dict[str, Any]:
        return {"parameters": []}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the calibration; give what it was asked for."""
    asked: list[Any] = []

    def calibrate(testbed: str, *, output: Path | None, jobs: int | None, progress: Any) -> Any:
        asked.append((testbed, output, jobs, progress))
        return FitReport()

    module = ModuleType("hcasim.calibrate")
    module.calibrate = calibrate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hcasim.calibrate", module)
    return asked


def test_the_fit_is_a_table_with_explanations(hcasim_: Hcasim, asked: list[Any]) -> None:
    found = hcasim_("calibrate", "liu2004")
    assert found.code == 0
    assert found.output.splitlines() == [
        "Fit of liu2004",
        "parameter                       value  note",
        "adapters.mt25208.send.latency  600 ns  only a sum is identifiable",
        "",
        "7 claims, 5 parameters",
    ]
    assert asked == [("liu2004", None, None, None)]


def test_the_fit_is_json_for_programs(hcasim_: Hcasim) -> None:
    assert json.loads(hcasim_("calibrate", "liu2004", "--json").output) == {"parameters": []}


def test_the_file_and_the_processes_are_passed_on(hcasim_: Hcasim, asked: list[Any]) -> None:
    found = hcasim_("calibrate", "liu2004", "-o", "fit.toml", "-j", "3")
    assert found.messages == "Wrote fit.toml\n"
    assert asked == [("liu2004", Path("fit.toml"), 3, None)]
