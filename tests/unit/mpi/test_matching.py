"""Matching finds what the standard says, as a plain list would."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from hcasim.mpi.heap import Buffer
from hcasim.mpi.matching import Matching
from hcasim.mpi.message import ANY_SOURCE, ANY_TAG, Kind, MpiPacket, Recv

SOURCES, TAGS = st.integers(0, 2), st.integers(0, 2)
RECEIVE = st.tuples(
    st.just("receive"), st.one_of(SOURCES, st.just(ANY_SOURCE)), st.one_of(TAGS, st.just(ANY_TAG))
)
MESSAGE = st.tuples(st.just("message"), SOURCES, TAGS)
PROCESS = cast(Any, SimpleNamespace())


@given(st.lists(st.one_of(RECEIVE, MESSAGE), max_size=40))
def test_the_oldest_that_fits_is_taken(steps: list[tuple[str, int, int]]) -> None:
    matching = Matching()
    receives: list[Recv] = []
    messages: list[MpiPacket] = []
    for what, source, tag in steps:
        if what == "receive":
            recv = Recv(PROCESS, Buffer(0, 0), source, tag, 0, next(matching.serials))
            wanted = next((one for one in messages if recv.matches(one)), None)
            assert matching.probe(recv) is wanted
            assert matching.post(recv) is wanted
            if wanted is None:
                receives.append(recv)
            else:
                messages.remove(wanted)
        else:
            packet = MpiPacket(Kind.EAGER, source, tag)
            fitting = next((one for one in receives if one.matches(packet)), None)
            assert matching.arrive(packet) is fitting
            if fitting is None:
                messages.append(packet)
            else:
                receives.remove(fitting)
