"""What was simulated is kept in a file and not simulated again."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.traces import evaluations
from hcasim.calibrate.traces.evaluations import EvaluationCache
from hcasim.catalog import resolve
from hcasim.ground.errors import CatalogError
from hcasim.runs.point import Point
from hcasim.workloads import Options


class Counting:
    """Counts what it is asked for."""

    def __init__(self, most: int = 10**9) -> None:
        self.asked: list[int] = []
        self.most = most

    def __call__(self, trials: Sequence[Point]) -> list[dict[str, Any]]:
        if len(self.asked) + len(trials) > self.most:
            raise KeyboardInterrupt
        self.asked += [one.options.size for one in trials]
        return [{"latency_us": one.options.size / 3} for one in trials]


@pytest.fixture
def trials() -> list[Point]:
    machine = resolve("liu2004")
    return [Point("write_lat", machine, Options(size=size)) for size in range(1, 11)]


def test_a_second_run_asks_for_nothing(tmp_path: Path, trials: list[Point]) -> None:
    file = tmp_path / "kept"
    first, second = Counting(), Counting()
    rows = EvaluationCache(file).over(first)(trials)
    again = EvaluationCache(file)
    assert again.known == 10
    assert again.over(second)(trials) == rows
    assert (len(first.asked), second.asked) == (10, [])


def test_an_interruption_loses_no_more_than_a_batch(
    tmp_path: Path, trials: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "BATCH", 4)
    file = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt):
        EvaluationCache(file).over(Counting(most=9))(trials)
    rest = Counting()
    EvaluationCache(file).over(rest)(trials)
    assert rest.asked == [9, 10]


def test_a_line_that_was_cut_off_counts_for_nothing(tmp_path: Path, trials: list[Point]) -> None:
    file = tmp_path / "kept"
    EvaluationCache(file).over(Counting())(trials)
    file.write_text(file.read_text()[:-9])
    rest = Counting()
    EvaluationCache(file).over(rest)(trials)
    assert rest.asked == [10]
    assert EvaluationCache(file).known == 10


def test_another_machine_is_another_point(tmp_path: Path, trials: list[Point]) -> None:
    file = tmp_path / "kept"
    EvaluationCache(file).over(Counting())(trials)
    other = resolve("liu2004", overrides={"adapter.send.latency": "1 ns"})
    rest = Counting()
    EvaluationCache(file).over(rest)([Point("write_lat", other, one.options) for one in trials])
    assert len(rest.asked) == 10


def test_the_file_of_another_version_is_begun_anew(
    tmp_path: Path, trials: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept"
    EvaluationCache(file).over(Counting())(trials)
    monkeypatch.setattr(evaluations, "__version__", "99")
    newer = EvaluationCache(file)
    assert (newer.known, "another version" in newer.note) == (0, True)
    newer.over(Counting())(trials[:2])
    assert EvaluationCache(file).known == 2


def test_the_file_of_other_code_is_begun_anew_and_that_is_said(
    tmp_path: Path, trials: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept"
    EvaluationCache(file).over(Counting())(trials)
    assert EvaluationCache(file).note == ""
    monkeypatch.setattr(evaluations, "code_digest", lambda: "other")
    newer = EvaluationCache(file)
    assert newer.known == 0
    assert newer.note == f"{file}: was made by another version of hcasim or its code; begun anew"


@pytest.mark.parametrize(
    ("old", "new"),
    [("1.3333", "1.3334"), ("latency_us", "latency_ns"), ('["', '["0'), ('"]', '0"]')],
)
def test_an_altered_line_is_refused(
    tmp_path: Path, trials: list[Point], old: str, new: str
) -> None:
    file = tmp_path / "kept"
    EvaluationCache(file).over(Counting())([*trials[3:4], *trials])
    text = file.read_text()
    file.write_text(text.replace(old, new, 1))
    line = text[: text.index(old)].count("\n") + 1
    with pytest.raises(CatalogError, match=f"kept:{line}: found .* altered"):
        EvaluationCache(file)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("It was a dark night.\n")
    with pytest.raises(CatalogError, match="is not a file of evaluations"):
        EvaluationCache(file)
    assert file.read_text() == "It was a dark night.\n"


def test_what_is_no_file_of_evaluations_is_left_alone(tmp_path: Path) -> None:
    """Whether it only quotes the name, or is a link to one, or to anything else."""
    quoting, own, link = tmp_path / "notes", tmp_path / "kept", tmp_path / "link"
    quoting.write_text(json.dumps({"schema": "notes", "of": "hcasim-evaluations"}) + "\n")
    EvaluationCache(own).over(Counting())([Point("write_lat", resolve("liu2004"), Options())])
    link.symlink_to(own)
    for file, fault in ((quoting, "is not a file of evaluations"), (link, "found a link")):
        before = file.read_text()
        with pytest.raises(CatalogError, match=fault):
            EvaluationCache(file)
        assert file.read_text() == before


def test_a_line_that_is_too_deep_counts_for_nothing(tmp_path: Path) -> None:
    """Also one that can just be read, but not be written again."""
    known = EvaluationCache(tmp_path / "kept")
    for depth in range(900, 1100):
        with contextlib.suppress(CatalogError):
            known._take("kept:2", f'["{64 * "a"}", {depth * "["}{depth * "]"}, ""]')
    assert known._rows == {}
