"""What fails on a software adapter is reported by its name, and a trace is valid all the same."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.traces import Point, Trace
from tests.probes.guest import FAULTS, VISITED
from tests.probes.machine import ADDRESSES

pytestmark = pytest.mark.check


def test_a_wrong_key_size_or_queue_pair_is_reported_by_the_name_of_its_error(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("faults")
    assert (found.points, codes["faults"]) == ((), 1)
    for one, (workload, fault, error) in zip(found.failures, FAULTS, strict=True):
        assert (one.workload, one.options["fault"]) == (workload.split()[0], fault)
        assert re.match(error, one.error), (workload, fault, one.error)


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
def test_a_run_that_a_signal_ends_leaves_a_valid_trace(
    name: str, code: int, trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace(f"ended-{name}")
    assert codes[f"ended-{name}"] == code
    assert [one.workload for one in found.points] == ["reg_mr"]
    assert found.end is not None
    assert (found.end.complete, found.end.reason) == (False, f"SIG{name}")


def failed(found: Trace) -> list[tuple[str, str]]:
    return [(one.workload, one.error) for one in found.failures]


def measured_workloads(found: Trace) -> list[str]:
    return [one.workload for one in found.points if isinstance(one, Point)]


def test_a_server_that_never_answers_costs_three_deadlines_and_ends_the_run(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("silent")
    silence = "deadline of 1 s: the server is silent"
    assert codes["silent"] == 1
    assert measured_workloads(found) == ["reg_mr"]
    assert failed(found) == [(name, silence) for name in ("write_lat", "read_lat", "scatter")]
    assert found.end is not None
    assert (found.end.complete, found.end.reason) == (False, "the server does not answer")


def test_a_server_goes_on_after_clients_that_have_left(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    assert codes["after"] == 0
    assert measured_workloads(trace("after")) == ["write_lat"]


def test_a_server_that_stops_amid_a_point_costs_its_deadline(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("stopped")
    assert codes["stopped"] == 1
    ((workload, error),) = failed(found)
    # A slow guest may have stopped it before its first word.
    assert (workload, error.removesuffix(": the server is silent")) == (
        "write_lat",
        "deadline of 2 s",
    )


def test_a_server_that_is_killed_is_missed_at_once(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    ((workload, error),) = failed(trace("left"))
    assert (codes["left"], workload) == (1, "write_lat")
    assert error.startswith("the server has left")


def test_what_needs_no_server_runs_on_a_port_without_an_address(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("local")
    assert codes["local"] == 0
    assert found.header.device.name == "rxe1"
    assert sorted(measured_workloads(found)) == ["loopback_lat", "post_cost", "reg_mr"]


def test_without_a_server_each_failure_says_that_there_is_none(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    found = trace("gone")
    assert codes["gone"] == 1
    errors = {error for _, error in failed(found)}
    assert errors == {f"no connection to {ADDRESSES[0]} port 18590: Connection refused"}


def test_strangers_who_ask_for_a_connection_are_rejected_and_the_point_goes_on(
    results: Path, codes: dict[str, int]
) -> None:
    answers = (results / "strangers.txt").read_text().splitlines()
    assert codes["strangers"] == 0
    assert len(answers) == 5
    assert {answer.partition(": ")[2] for answer in answers} == {"Connection refused"}
    log = (results / "serve.txt").read_text().splitlines()
    (visited,) = (line for line in log if f" iters={VISITED} " in line)
    assert visited.endswith(": the client has left")


def test_neither_end_maps_more_than_half_of_its_memory(
    results: Path, trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    assert codes["large"] == 1
    log = (results / "serve.txt").read_text().splitlines()
    (scatter,) = (line for line in log if " size=536870912 " in line)
    _, (_, loopback) = failed(trace("large"))
    for said in (scatter, loopback):
        found = re.search(r"buffers: found 1073741824 bytes or more; allowed: at most (\d+),", said)
        assert found, said
        assert 1 << 28 < int(found[1]) <= 1 << 29


def test_a_socket_that_cannot_be_set_up_is_no_connection(
    trace: Callable[[str], Trace], codes: dict[str, int]
) -> None:
    ((_, error),) = failed(trace("blocking"))
    assert error == f"no connection to {ADDRESSES[0]} port 18590: No locks available"
    assert codes["blocking"] == 1
