"""All processes add up a buffer, as in the tests of NCCL.

Source: nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml import program
from hcasim.apps.ml.program import COMBINING, Argument, Given, Learning, Run


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
    """What the program has found: a row for each size, and what they rest on."""

    rows: tuple[Reduced, ...]
    assumed: tuple[str, ...]


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
        bus = speed * (2 * (comm.size - 1) / comm.size)
        rows.append(Reduced(size, comm.algorithm, 1e6 * seconds, speed, bus))
        comm.progress(len(rows), len(given["size"]))
    return Allreduce(tuple(rows), program.assumptions(given))


def _sizes(text: str) -> list[int]:
    return [program.size(one) for one in text.split(",")]


PROGRAM: Final = Learning(
    name="allreduce",
    arguments={
        "size": Argument(_sizes, "1M", "bytes of each process, such as 1M,64M"),
        "steps": Argument(program.count, "5", "calls that are measured"),
        "warmup": Argument(program.count_or_none, "1", "calls before"),
        **COMBINING,
    },
    models=None,
    memory=lambda model, given, ranks: sum(given["size"]),
    run=run,
)
