"""A layer of experts: tokens go to the processes whose experts compute them, and come back.

Sources: Lepikhin et al., GShard (2020), section 3; Jiang et al., Mixtral of Experts (2024),
section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml import program
from hcasim.apps.ml.models import Transformer
from hcasim.apps.ml.program import RATE, TIMES, Argument, Given, Learning, Run
from hcasim.mpi import Buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK: Final = 4096
"""Tokens that are drawn at a time."""


@dataclass(frozen=True, slots=True)
class Routed:
    """What the layers have done.

    Attributes:
        layer_ms: time of a layer, whose parts follow; attention is computed before tokens are sent.
        dispatch_ms, combine_ms: sending tokens to experts, and back what these have computed.
        sent_bytes: of one dispatch of this process, what stays in it included.
        received_tokens: of one dispatch, that this process's experts compute.
        assumed: what it rests on.
    """

    layer_ms: float
    attention_ms: float
    dispatch_ms: float
    experts_ms: float
    combine_ms: float
    sent_bytes: int
    received_tokens: int
    assumed: tuple[str, ...]


@cache
def drawn(
    seed: int, layer: int, rank: int, tokens: int, experts: int, chosen: int, skew: float
) -> tuple[int, ...]:
    """How many tokens of a process go to each expert: each token draws different ones.

    The expert that is liked as the n-th most is drawn in proportion to n to the power of -skew;
    which it is, is drawn for each layer.
    """
    from numpy import arange, argpartition, bincount, log, zeros
    from numpy.random import default_rng

    likes = -skew * log(arange(1, experts + 1))
    likes = likes[default_rng((seed, layer)).permutation(experts)]
    draw = default_rng((seed, layer, rank + 1))
    found: NDArray[np.int64] = zeros(experts, dtype="int64")
    for begin in range(0, tokens, _BLOCK):
        number = min(_BLOCK, tokens - begin)
        # The largest of what is so disturbed are a draw without replacement (Gumbel).
        keys = likes + draw.gumbel(size=(number, experts))
        best = argpartition(keys, experts - chosen, axis=1)[:, experts - chosen :]
        found += bincount(best.reshape(-1), minlength=experts)
    return tuple(int(one) for one in found)


def counts(model: Transformer, given: Given, ranks: int, layer: int) -> list[list[int]]:
    """Tokens by the process that sends them and the one that computes them."""
    tokens, seed = given["tokens"], given["seed"]
    if seed is None:
        return [[tokens * model.chosen // ranks] * ranks] * ranks
    own = model.experts // ranks
    found = []
    for rank in range(ranks):
        each = drawn(seed, layer, rank, tokens, model.experts, model.chosen, given["skew"] or 0.0)
        found.append([sum(each[first : first + own]) for first in range(0, model.experts, own)])
    return found


def run(comm: ProgramComm, model: Transformer, given: Given) -> Run:
    """What a process does."""
    width = model.hidden * given["element"]
    size = group_size(model, given, comm.size)
    group: ProgramComm = comm
    if size < comm.size:
        group = yield from comm.Split(comm.rank // size, comm.rank)
    attention = given["tokens"] * model.attention_operations / given["rate"]
    spent = [0.0, 0.0, 0.0]
    leaving: list[int] = []
    coming: list[int] = []

    def exchange(outgoing: Buffer, sent: list[int], incoming: Buffer, received: list[int]) -> Run:
        """Send tokens to their experts, or back what they have made of them."""
        if given["seed"] is None:
            yield from group.alltoall(outgoing, incoming)
        else:
            yield from group.alltoallv(outgoing, sent, incoming, received)

    def step(number: int) -> Run:
        nonlocal leaving, coming
        matrix = counts(model, given, size, number)
        leaving, coming = matrix[group.rank], [row[group.rank] for row in matrix]
        sent, received = ([width * one for one in some] for some in (leaving, coming))
        heap = comm.process.heap
        tokens, here = heap.temporary(sum(sent), 0), heap.temporary(sum(received), 1)
        computing = sum(coming) * model.one_expert_operations / given["rate"]
        yield from comm.compute(attention, beside=True)
        times = [comm.Wtime()]
        yield from exchange(tokens, sent, here, received)
        times.append(comm.Wtime())
        yield from comm.compute(computing, beside=True)
        times.append(comm.Wtime())
        yield from exchange(here, received, tokens, sent)
        times.append(comm.Wtime())
        if number >= given["warmup"]:
            for place, (begin, end) in enumerate(pairwise(times)):
                spent[place] += end - begin

    taken = yield from program.repeated(comm, given, step)
    dispatch, experts, combine = (1e3 * one / given["steps"] for one in spent)
    return Routed(
        layer_ms=1e3 * taken,
        attention_ms=1e3 * attention,
        dispatch_ms=dispatch,
        experts_ms=experts,
        combine_ms=combine,
        sent_bytes=width * sum(leaving),
        received_tokens=sum(coming),
        assumed=(*program.assumptions(given), _routing(given)),
    )


def _routing(given: Given) -> str:
    if given["seed"] is None:
        return "each expert computes as many tokens"
    return f"tokens draw their experts with seed {given['seed']} and skew {given['skew'] or 0:g}"


def group_size(model: Transformer, given: Given, ranks: int) -> int:
    """Processes that have all experts together."""
    size: int = given["group"] or min(ranks, model.experts)
    return size


def _faults(model: Transformer, given: Given, ranks: int) -> list[str]:
    faults = []
    size, group, tokens = group_size(model, given, ranks), given["group"], given["tokens"]
    if model.experts % size or ranks % size:
        divisors = range(1, model.experts + 1)
        fits = [str(one) for one in divisors if not (model.experts % one or ranks % one)]
        found = f"group: found {size}" if group else f"ranks: found {ranks}"
        allowed = f"a group of {', '.join(fits)}" if group else f"group={'|'.join(fits)}"
        why = f"so that each has as many of {model.experts} experts"
        faults.append(f"{found}; allowed: {allowed}, {why}")
    elif given["seed"] is None and tokens * model.chosen % size:
        allowed = f"what {size} processes share evenly, or seed"
        faults.append(f"tokens: found {tokens}; allowed: {allowed}")
    if given["seed"] is None and given["skew"] is not None:
        faults.append("skew: found without seed; needed: seed=1 and the like, that draws experts")
    return faults


PROGRAM: Final = Learning(
    name="experts",
    arguments={
        "tokens": Argument(program.count, "4096", "of a process, in a layer"),
        "element": Argument(program.count, "2", "bytes of a number that is sent"),
        "group": Argument(
            program.count, "", "processes that have all experts together; the most that can"
        ),
        "seed": Argument(program.count_or_none, "", "of tokens that draw experts; else evenly"),
        "skew": Argument(program.exponent, "", "how much some experts are drawn more, from 0"),
        **RATE,
        **TIMES,
    },
    memory=lambda model, given, ranks: (
        2 * given["tokens"] * model.chosen * model.hidden * given["element"]
    ),
    models=lambda model: isinstance(model, Transformer) and model.experts > 1,
    run=run,
    faults=_faults,
)
