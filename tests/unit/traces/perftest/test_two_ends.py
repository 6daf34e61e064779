"""Client and server of perftest on one terminal."""

import re
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


@pytest.mark.parametrize("seed", range(20))
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


@pytest.mark.parametrize("kept", [12, 23, 30, 45])
@pytest.mark.parametrize("seed", range(3))
def test_the_lines_of_an_end_that_is_cut_are_named(
    read: Read, faults: Faults, seed: int, kept: int
) -> None:
    lines = LAT.splitlines()
    server = "\n".join(lines[: min(kept, len(lines) - 1)])
    text = mixed(LAT, server, Random(seed))
    (fault,) = faults(text)
    named = re.search(r"or this file without lines ([0-9, to]+)$", fault)
    assert named, fault
    ends = [[int(one) for one in part.split(" to ")] for part in named[1].split(", ")]
    cut = {line for part in ends for line in range(part[0], part[-1] + 1)}
    left = [line for n, line in enumerate(text.splitlines(), start=1) if n not in cut]
    assert read("\n".join(left) + "\n").points == read(LAT).points


def test_figures_behind_the_title_of_the_other_end_are_refused(faults: Faults) -> None:
    lines = LAT.splitlines()
    head = next(n for n, line in enumerate(lines) if "#bytes" in line)
    late = [*lines[: head + 4], *lines[:10], *lines[head + 4 :], *lines[10:]]
    (fault, *_) = faults("\n".join(late) + "\n")
    assert fault.startswith(f"file:{head + 15}: found figures of the table of line {head + 1} ")
