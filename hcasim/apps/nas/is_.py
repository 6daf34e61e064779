"""IS: integers are ranked by a bucket sort.

Source: NPB 3.3.1, IS/is.c.
"""

from __future__ import annotations

from typing import Final

from hcasim.apps.nas import classes
from hcasim.apps.nas.classes import IsSize
from hcasim.apps.nas.is_keys import Keys
from hcasim.apps.nas.kernel import Kernel, Run, at_most
from hcasim.apps.nas.timing import Stopwatch
from hcasim.mpi import Comm
from hcasim.mpi.message import Steps

BEFORE: Final = 2 / 3
"""Part of the computing before the keys are exchanged: two of three passes over them."""

_TAG: Final = 1000


def _faults(size: IsSize, n: int) -> list[str]:
    return at_most(n, 128 if size.keys_log2 == 16 else 1024, "as there are counters for")


def _operations(size: IsSize) -> float:
    """One per key and iteration."""
    return float(size.iterations << size.keys_log2)


def _rank(comm: Comm, keys: Keys, iteration: int, seconds: float) -> Steps:
    """One iteration.

    Parameters:
        seconds: that it computes.
    """
    keys.compute("sort", iteration)
    yield from comm.compute(BEFORE * seconds)
    yield from comm.allreduce(keys.own, keys.totals)
    leaving = keys.leaving(iteration)
    yield from comm.alltoall(keys.sending, keys.receiving)
    coming = keys.coming(iteration)
    yield from comm.alltoallv(keys.outgoing, leaving, keys.incoming, coming)
    yield from comm.compute((1 - BEFORE) * seconds)
    keys.compute("check", iteration)


def run(comm: Comm, size: IsSize, seconds: float, watch: Stopwatch) -> Run:
    """What a process does; see `Kernel.run`."""
    from numpy import maximum

    keys = Keys(comm, size)
    each = seconds / size.iterations
    yield from comm.bcast(4)
    yield from _rank(comm, keys, 1, each)
    watch.start()
    for iteration in watch.iterations():
        yield from _rank(comm, keys, iteration, each)
    watch.stop()
    yield from comm.reduce(8, 8, maximum)
    keys.compute("order")
    if comm.rank > 0:
        request = yield from comm.irecv(keys.least, comm.rank - 1, _TAG)
    if comm.rank < comm.size - 1:
        yield from comm.send(keys.greatest, comm.rank + 1, _TAG)
    if comm.rank > 0:
        yield from comm.wait(request)
    keys.compute("verify")
    yield from comm.reduce(keys.passed, keys.all_passed)
    return watch.result()


KERNEL: Final = Kernel(
    name="is",
    title="integer sort",
    sizes=classes.IS,
    faults=_faults,
    total=_operations,
    run=run,
)
