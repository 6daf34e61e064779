"""A critical path is printed as stays at ranks, each with what it has waited for."""

from typing import Any

import pytest

from hcasim.cli.breakdowns import print_breakdown


def printed(capsys: pytest.CaptureFixture[str], path: list[dict[str, Any]]) -> list[list[str]]:
    total = sum(step["us"] for step in path)
    found = {"path": path, "total_us": total, "algorithm": "", "binds": "cpu", "resources": []}
    print_breakdown("8 B", found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Critical path of 8 B, begun by all at once"
    return [line.split() for line in lines[2 : lines.index("")]]


def test_what_follows_data_comes_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    path = [
        {"rank": 0, "step": "post data", "us": 1.0},
        {"rank": 0, "to": 1, "step": "data", "us": 5.0},
        {"rank": 0, "to": 1, "step": "FIN", "us": 2.0},
        {"rank": 1, "step": "poll memory", "us": 0.5},
    ]
    assert printed(capsys, path) == [
        ["0", "1.000", "1.000"],
        ["1", "FIN", "of", "rank", "0", "7.000", "0.500", "8.500"],
    ]


def test_who_waits_again_has_a_line_more(capsys: pytest.CaptureFixture[str]) -> None:
    path = [
        {"rank": 0, "to": 1, "step": "CTS", "us": 5.0},
        {"rank": 1, "step": "post data", "us": 1.0},
        {"rank": 1, "to": 1, "step": "data", "us": 2.0},
        {"rank": 1, "step": "poll CQ", "us": 0.5},
    ]
    assert printed(capsys, path) == [
        ["1", "CTS", "of", "rank", "0", "5.000", "1.000", "6.000"],
        ["1", "completion", "of", "its", "data", "2.000", "0.500", "8.500"],
    ]


def test_packets_of_one_kind_have_their_stages_together(capsys: pytest.CaptureFixture[str]) -> None:
    first = [
        {"stage": "link", "us": 3.0},
        {"stage": "switch", "us": 1.0},
        {"stage": "link", "us": 2.0},
    ]
    path = [
        {"rank": 0, "to": 1, "step": "eager", "us": 6.0, "stages": first},
        {"rank": 1, "to": 2, "step": "eager", "us": 4.0, "stages": [{"stage": "link", "us": 4.0}]},
        {"rank": 2, "to": 0, "step": "RTS", "us": 1.0, "stages": [{"stage": "switch", "us": 1.0}]},
    ]
    found = {"path": path, "total_us": 11.0, "algorithm": "", "binds": "cpu", "resources": []}
    print_breakdown("8 B", found)
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("What adapters and links do of it")
    assert [line.split() for line in lines[start + 1 :]] == [
        ["Stage", "eager", "(us)", "RTS", "(us)"],
        ["link", "9.000"],
        ["switch", "1.000", "1.000"],
    ]


def test_what_takes_no_time_has_no_shares(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, [{"rank": 0, "step": "call", "us": 0.0}]) == [["0", "0.000", "0.000"]]


def test_a_path_ends_later_than_the_mean(capsys: pytest.CaptureFixture[str]) -> None:
    found = {"path": [{"rank": 0, "step": "call", "us": 1.0}], "total_us": 1.0, "binds": "cpu"}
    print_breakdown("", {**found, "algorithm": "tree", "resources": [{"name": "cpu", "busy": 0.9}]})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Critical path of one call, tree, begun by all at once"
    assert (
        "The path ends with the last process; the latency of the table is the mean over "
        in "".join(lines)
    )
    assert "What limits one call: cpu" in lines
