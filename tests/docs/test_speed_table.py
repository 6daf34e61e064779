"""The table of speeds is what `make speed` writes."""

import re

import pytest

from hcasim.workloads import Options, run_point
from tests.benchmarks.cases import CASES, Case, Speed, measured
from tests.benchmarks.speed import BEGIN, BUILDS, COLUMNS, END, PAGE, put, table


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_has_every_case_in_both_builds() -> None:
    text = PAGE.read_text(encoding="utf-8")
    made = text.partition(BEGIN)[2].partition(END)[0]
    head, rule, *rows = (cells(line) for line in made.splitlines() if line.startswith("|"))
    assert head[3:] == [f"{build}: {column}" for build in BUILDS for column in COLUMNS]
    assert [row[0] for row in rows] == [case.title for case in CASES.values()]
    assert {len(row) for row in (head, rule, *rows)} == {len(head)}
    numbers = [cell.removesuffix(" M").replace(",", "") for row in rows for cell in row[1:]]
    assert all(re.fullmatch(r"\d+(\.\d+)?", number) for number in numbers)
    assert put(text, made.strip("\n") + "\n") == text


def test_a_table_says_what_was_measured() -> None:
    slow = Speed(events=40_000, packets=3000, seconds=2.0, loop_seconds=5e-7)
    fast = Speed(events=40_000, packets=3000, seconds=0.5, loop_seconds=4e-7)
    found = {"pure Python": dict.fromkeys(CASES, slow), "compiled": dict.fromkeys(CASES, fast)}
    first, _, head, _, row, *_ = table(found, "Python 3.11, a machine").splitlines()
    assert first == "Python 3.11, a machine. The bare loop: 2.5 M events/s."
    assert len(cells(head)) == len(cells(row)) == 9
    assert cells(row)[1:3] == ["40,000", "3,000"]
    assert cells(row)[3:6] == ["2.00", "1,500", "4.00 M"]
    assert cells(row)[6:] == ["0.50", "6,000", "1.25 M"]


def test_only_what_is_between_the_marks_is_replaced() -> None:
    document = f"before\n{BEGIN}old\n{END}after\n"
    assert put(document, "new\n") == f"before\n{BEGIN}\nnew\n\n{END}after\n"
    with pytest.raises(ValueError, match="make speed"):
        put("no marks\n", "new\n")


@pytest.mark.check
def test_a_case_is_measured_as_it_runs() -> None:
    options = Options(size=1 << 20, window=4, iters=1, warmup=0)
    found = []

    def run(machine, listen) -> None:  # type: ignore[no-untyped-def]
        found.append(run_point("window_bw", machine, options, listen))

    speed = measured(Case("", run, "liu2004", rounds=2))
    # Once to count, and the rounds.
    assert len(found) == 3
    assert speed.packets == found[0].counters["port_xmit_packets"]
    assert speed.events > 0
    assert speed.packets_per_s == speed.packets / speed.seconds
