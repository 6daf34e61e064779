"""A critical path is printed as stays at ranks, each with what it has waited for."""

from typing import Any

import pytest

from hcasim.cli.printing import print_breakdown


def step(rank: int, name: str, us: float, to: int | None = None, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "step": name, "us": us, **({} if to is None else {"to": to}), **more}


def printed(capsys: pytest.CaptureFixture[str], *path: dict[str, Any], **more: Any) -> list[str]:
    total = sum(one["us"] for one in path)
    found = {"path": path, "total_us": total, "algorithm": "", "binds": "cpu", "resources": []}
    print_breakdown("8 B", found | more)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("path", "stays"),
    [
        (
            # What follows data comes with them.
            [
                step(0, "post data", 1.0),
                step(0, "data", 5.0, 1),
                step(0, "FIN", 2.0, 1),
                step(1, "poll memory", 0.5),
            ],
            ["0 1.000 1.000", "1 FIN of rank 0 7.000 0.500 8.500"],
        ),
        (
            # Who waits again has a line more.
            [
                step(0, "CTS", 5.0, 1),
                step(1, "post data", 1.0),
                step(1, "data", 2.0, 1),
                step(1, "poll CQ", 0.5),
            ],
            ["1 CTS of rank 0 5.000 1.000 6.000", "1 completion of its data 2.000 0.500 8.500"],
        ),
        ([step(0, "call", 0.0)], ["0 0.000 0.000"]),
    ],
)
def test_a_path_is_a_line_for_each_stay_at_a_rank(
    capsys: pytest.CaptureFixture[str], path: list[dict[str, Any]], stays: list[str]
) -> None:
    lines = printed(capsys, *path)
    assert lines[0] == "Critical path of 8 B, begun by all at once"
    assert [" ".join(line.split()) for line in lines[2 : lines.index("")]] == stays


def test_packets_of_one_kind_have_their_stages_together(capsys: pytest.CaptureFixture[str]) -> None:
    def stages(**us: float) -> list[dict[str, Any]]:
        return [{"stage": name, "us": one} for name, one in us.items()]

    first = [*stages(link=3.0, switch=1.0), *stages(link=2.0)]
    lines = printed(
        capsys,
        step(0, "eager", 6.0, 1, stages=first),
        step(1, "eager", 4.0, 2, stages=stages(link=4.0)),
        step(2, "RTS", 1.0, 0, stages=stages(switch=1.0)),
    )
    start = lines.index("What adapters and links do of it")
    assert [" ".join(line.split()) for line in lines[start + 1 :]] == [
        "Stage eager (us) RTS (us)",
        "link 9.000",
        "switch 1.000 1.000",
    ]


def test_a_path_ends_later_than_the_mean(capsys: pytest.CaptureFixture[str]) -> None:
    resources = [{"name": "cpu", "busy": 0.9}]
    lines = printed(capsys, step(0, "call", 1.0), algorithm="tree", resources=resources)
    assert lines[0] == "Critical path of 8 B, tree, begun by all at once"
    ends = "The path ends with the last process; the latency of the table is the mean over all."
    assert ends in lines
    assert "What limits 8 B: cpu" in lines
