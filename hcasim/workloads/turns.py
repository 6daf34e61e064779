"""Which queue pair is next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, chain, cycle, repeat
from random import Random

from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options, Pattern

SEED = 1
EXPONENT = 1.0
"""Of Zipf's law: the queue pair of rank r has its turn with a probability proportional to 1/r."""

ENTRIES = 128
"""Of a queue, unless a program says otherwise."""
FEWEST = 200
ERROR = 0.01


def turns(pattern: Pattern, count: int, seed: int) -> Iterator[int]:
    """Numbers from 0 to one less than a count, for ever: in turn, or drawn.

    They are drawn uniformly, or by Zipf's law with exponent 1, the first being the most popular.
    """
    if pattern == "cyclic" or count == 1:
        return cycle(range(count))
    draw = Random(seed)
    if pattern == "random":
        return (draw.randrange(count) for _ in repeat(None))
    weights = list(accumulate((rank + 1) ** -EXPONENT for rank in range(count)))
    return (draw.choices(range(count), cum_weights=weights)[0] for _ in repeat(None))


def draw_turns(options: Options) -> Iterator[int]:
    """The queue pairs in the order of their use, for ever, as numbers from 0.

    Processes that are given the same options use the same order. Random orders are drawn anew
    each time.
    """
    drawn = turns(options.pattern, options.qps, SEED)
    if repeats(options) or not _warm_laps(options):
        return drawn
    return chain(reversed(range(options.qps)), drawn)


def repeats(options: Options) -> bool:
    """Whether the order of queue pairs and addresses repeats itself."""
    return (options.pattern == "cyclic" or options.qps == 1) and not options.region


def _warm_laps(options: Options) -> int:
    """Iterations that bring a short run of a random order to what a long one settles at.

    Each queue pair has its turn once, the most popular last, and then as many random turns
    follow as there are queue pairs, but no more than the author's own warm-up. 0 if the run is
    not worth shortening.
    """
    warm = options.qps + min(options.warmup, options.qps)
    worth = warm + FEWEST < options.warmup + options.iters
    return warm if worth and not options.exact else 0


def make_laps(options: Options) -> Laps:
    """Timing of iterations that each use the next queue pair."""
    if repeats(options):
        # The pages of all queues are translated for the first time once, in step.
        cold = ENTRIES * options.qps if options.qps > 1 else 1
        return Laps(options.warmup, options.iters, options.exact, cycle=options.qps, cold=cold)
    warm = _warm_laps(options)
    return Laps(
        warm or options.warmup,
        options.iters,
        exact=not warm,
        samples=FEWEST,
        error=ERROR,
    )
