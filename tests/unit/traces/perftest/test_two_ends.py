"""Client and server of perftest on one terminal."""

from collections.abc import Callable
from random import Random

import pytest

from hcasim.traces import Trace
from tests.unit.traces.conftest import DATA

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
LAT = (DATA / "perftest" / "rxe_write_lat_all.txt").read_text()


def mixed(one: str, other: str, draw: Random) -> str:
    """Two outputs on one terminal: the lines of each in their order."""
    ends = [one.splitlines(), other.splitlines()]
    turns = [number for number, lines in enumerate(ends) for _ in lines]
    # Neither has its table before the other has begun.
    draw.shuffle(turns)
    turns = [0, 0, 1, 1, *turns]
    lines = [ends[turn].pop(0) for turn in turns if ends[turn]]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(10))
def test_client_and_server_on_one_terminal_are_told_apart(read: Read, seed: int) -> None:
    head = LAT.index("#bytes")
    rule = LAT.index("\n", head) + 1
    server = LAT[:rule] + LAT[LAT.rstrip().rindex("\n") + 1 :]
    both = read(mixed(LAT, server, Random(seed)))
    assert both.points == read(LAT).points


def test_ends_on_one_terminal_that_differ_are_refused(faults: Faults) -> None:
    other = LAT.replace("Mtu             : ", "Mtu             : 4")
    assert other != LAT
    (fault,) = faults(mixed(LAT, other, Random(1)))
    assert "of two ends on one terminal; allowed: what one end prints" in fault


def test_an_end_that_is_cut_among_the_lines_of_the_other_is_refused(faults: Faults) -> None:
    (fault,) = faults(mixed(LAT, "\n".join(LAT.splitlines()[:6]), Random(2)))
    assert "of which one is cut" in fault


def test_both_ends_may_begin_with_their_dashes(read: Read) -> None:
    first, rest = LAT.split("\n", 1)
    together = f"{first}\n{first}\n{mixed(rest, rest, Random(3))}"
    alone = read(LAT).points
    assert len(read(together).points) == 2 * len(alone)
    assert len(read(LAT + together).points) == 3 * len(alone)


def test_figures_behind_the_title_of_the_other_end_are_refused(faults: Faults) -> None:
    lines = LAT.splitlines()
    head = next(n for n, line in enumerate(lines) if "#bytes" in line)
    late = [*lines[: head + 4], *lines[:10], *lines[head + 4 :], *lines[10:]]
    (fault,) = faults("\n".join(late) + "\n")
    assert fault.startswith(f"file:{head + 15}: found figures behind the title of line {head + 6} ")
