"""All processes add up a buffer, as in the tests of NCCL.

Source: nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml import arguments
from hcasim.apps.ml.arguments import Argument
from hcasim.apps.ml.program import COMBINING, Given, Learning, Run, assumptions


@dataclass(frozen=True, slots=True)
class Reduced:
    """A size that was added up.

    Attributes:
        size_bytes: of the buffer of each process.
        algorithm: of the collective.
        time_us: of one call.
        algbw_GBps: size over time.
        busbw_GBps: what a process sends and receives at least, over time.
    """

    size_bytes: int
    algorithm: str
    time_us: float
    algbw_GBps: float
    busbw_GBps: float


@dataclass(frozen=True, slots=True)
class Allreduce:
    """What the program has found.

    Attributes:
        rows: one for each size.
        assumed: what they rest on.
    """

    rows: tuple[Reduced, ...]
    assumed: tuple[str, ...]


def bus_factor(ranks: int) -> float:
    """Bus bandwidth over that of the algorithm."""
    return 2 * (ranks - 1) / ranks


def run(comm: ProgramComm, model: None, given: Given) -> Run:
    """What a process does."""
    rows = []
    for size in given["size"]:
        buffer = comm.process.heap.allocate(size)
        for _ in range(given["warmup"]):
            yield from comm.allreduce(buffer, buffer)
        yield from comm.barrier()
        begin = comm.Wtime()
        for _ in range(given["steps"]):
            yield from comm.allreduce(buffer, buffer)
        seconds = (comm.Wtime() - begin) / given["steps"]
        speed = size / seconds / 1e9
        rows.append(
            Reduced(size, comm.algorithm, 1e6 * seconds, speed, speed * bus_factor(comm.size))
        )
        comm.progress(len(rows), len(given["size"]))
    return Allreduce(tuple(rows), assumptions(given))


PROGRAM: Final = Learning(
    name="allreduce",
    title="all add up a buffer",
    arguments={
        "size": Argument(arguments.sizes, "1M", "bytes of each process, such as 1M,64M"),
        "steps": Argument(arguments.count, "5", "calls that are measured"),
        "warmup": Argument(arguments.count_or_none, "1", "calls before"),
        **COMBINING,
    },
    models=None,
    memory=lambda model, given, ranks: sum(given["size"]),
    run=run,
)
