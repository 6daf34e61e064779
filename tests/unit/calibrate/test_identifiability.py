"""What the data cannot tell is said, not split at will."""

from typing import Any

import pytest

from hcasim.calibrate.fit import calibrate
from hcasim.calibrate.objective import simulate
from hcasim.runs.experiment import Experiment
from tests.unit.calibrate.toys import QUEUE, RECEIVE, RESPONDER, SEND, MakeFit, Observe


def test_of_a_pair_only_the_sum_is_known(make_fit: MakeFit, observe: Observe, run: Any) -> None:
    fit = make_fit({SEND: (0, 2000), RECEIVE: (0, 2000), QUEUE: (0, 2000)})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.3")]
    report = calibrate(fit, seen, run=run)
    assert str(report[SEND].verdict) == f"only in combination with {RECEIVE}"
    assert str(report[RECEIVE].verdict) == f"only in combination with {SEND}"
    assert str(report[QUEUE].verdict) == "identified"
    assert report[SEND].value + report[RECEIVE].value == 1_600_000
    assert report[SEND].interval == (0, 2_000_000)


def test_a_parameter_without_effect_is_not_identified_at_all(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), RESPONDER: (0, 2000)})
    report = calibrate(fit, [observe("write_lat", "2.6")], run=run)
    assert str(report[RESPONDER].verdict) == "not at all"
    assert report[RESPONDER].interval == (0, 2_000_000)
    assert report[RESPONDER].claims == ()
    assert str(report[SEND].verdict) == "identified"


def test_an_effect_smaller_than_the_rounding_is_none(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    report = calibrate(make_fit({SEND: (0, 40)}), [observe("write_lat", "1.8")], run=run)
    assert str(report[SEND].verdict) == "not at all"


def test_a_needed_tie_shows_the_move_that_goes_unnoticed(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), RECEIVE: SEND, QUEUE: (0, 2000)})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.3")]
    report = calibrate(fit, seen, run=run)
    (tie,) = report.ties
    assert not tie.separable
    assert [path for path, _ in tie.direction] == [RECEIVE, SEND]
    assert [part for _, part in tie.direction] == pytest.approx([1, -1])
    assert tie.judgement == f"only in combination with {SEND}"
    assert report.result.entries[RECEIVE].verdict == tie.judgement
    assert report[SEND].judgement == "identified, given its ties"


def test_the_move_is_given_in_the_units_of_each_parameter(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 1000), RESPONDER: (0, 9000), QUEUE: SEND})
    (tie,) = calibrate(fit, [observe("send_lat", "2.5"), observe("read_lat", "7.5")], run=run).ties
    assert dict(tie.direction) == pytest.approx({QUEUE: 1, SEND: -1, RESPONDER: 2}, rel=2e-2)


def test_a_tie_that_the_data_do_not_need_is_said_to_be_none(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), QUEUE: SEND})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.3")]
    report = calibrate(fit, seen, run=run)
    (tie,) = report.ties
    assert tie.separable
    assert tie.direction == ()
    assert "no need to tie it" in tie.move
    assert report.result.entries[QUEUE].verdict == "identified if freed"


def test_nearly_collinear_parameters_are_named(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), QUEUE: (0, 2000)})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.300")]
    report = calibrate(fit, seen, run=run)
    lines = [line for line in report.closing_lines() if "collinear" in line]
    assert lines == [f"{SEND} and {QUEUE} are nearly collinear: correlation -1.00"]
    assert lines[0] in "\n".join(report.to_toml().splitlines())


def test_the_simulator_does_not_tell_sending_from_receiving(
    make_fit: MakeFit, observe: Observe
) -> None:
    seen = [
        observe(name, text, experiments=(Experiment.of(name, "liu2004", iters=20, warmup=2),))
        for name, text in (("write_lat", "3.8"), ("read_lat", "9.0"))
    ]
    fit = make_fit({SEND: (0, 2000), RECEIVE: SEND, RESPONDER: (0, 9000)})
    (tie,) = calibrate(fit, seen, run=simulate).ties
    assert dict(tie.direction) == pytest.approx({RECEIVE: 1, SEND: -1})
