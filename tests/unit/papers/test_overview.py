"""A reproduction fits a few lines, which name the claims that are missed by most."""

from hcasim.papers.report import Report
from hcasim.papers.verdict import Status, Verdict


def verdict(name: str, status: Status, error: float | None) -> Verdict:
    return Verdict(
        id=name,
        scenario=f"{name[0]}/fig01",
        section="I",
        system="a machine",
        statement="a statement",
        published=4.0,
        relation="=",
        quantity="latency",
        kind="value",
        unit="us",
        simulated=4.0,
        error=error,
        role="context" if status == "context" else "predicted",
        first=name,
        status=status,
        note="",
    )


def test_papers_and_misses_have_a_line_each() -> None:
    found = [
        verdict("a1", "pass", 0.01),
        verdict("a2", "deviation", None),
        *(verdict(f"b{n}", "deviation", -n / 10) for n in range(1, 9)),
        verdict("b9", "fail", 0.5),
        verdict("b10", "context", None),
    ]
    assert list(Report(tuple(found), (), 12.4).overview()) == [
        (
            "Published and simulated: 0 figures in 12 s; "
            "1 of 11 claims pass, 9 documented deviations, 1 missed"
        ),
        "a: 1 of 2 claims pass, 1 documented deviation",
        "b: 0 of 9 claims pass, 8 documented deviations, 1 missed",
        "predicted: 11 numbers, median error 45.0 %",
        (
            "Documented deviations, the largest first: b8 -80.0 %, b7 -70.0 %, b6 -60.0 %, "
            "b5 -50.0 %, b4 -40.0 %, b3 -30.0 %, b2 -20.0 %, b1 -10.0 % and 1 more"
        ),
        "Missed, and no deviation is documented: b9 +50.0 %",
    ]
    assert len(list(Report(tuple(found[:1]), (), None).overview())) == 2
