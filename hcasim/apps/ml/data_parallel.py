"""Each process trains with samples of its own, and all add up their gradients.

An accelerator computes forward and backward; buckets of gradients are added up one after the other
as they get ready, while it goes on, or all behind it. What the optimizer does takes no time. Adding
up alone is a program, too, as the tests of NCCL have it.

Sources: Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training (2020);
nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml import program
from hcasim.apps.ml.models import Layer, Model
from hcasim.apps.ml.program import COMBINING, RATE, TIMES, Argument, Given, Learning, Run


@dataclass(frozen=True, slots=True)
class Reduced:
    """A size that was added up: the time of a call, size over time (`algbw`), and what a process
    sends and receives at least over time (`busbw`).
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


@dataclass(frozen=True, slots=True)
class Trained:
    """A step of training, in which the accelerator computes, and waits for the exposed time.

    Attributes:
        samples_per_s: of all processes together.
        gradient_bytes: of all buckets.
        assumed: what it rests on.
    """

    step_ms: float
    computing_ms: float
    exposed_ms: float
    samples_per_s: float
    buckets: int
    gradient_bytes: int
    assumed: tuple[str, ...]


class Bucket(NamedTuple):
    """Gradients that are added up by one call: the number of parameters, and operations of the
    backward pass up to the last of them, for one sample.
    """

    parameters: int
    operations: int


def buckets(layers: Sequence[Layer], element: int, first: int, limit: int) -> list[Bucket]:
    """Divide the gradients of a model, the last ones first.

    Tensors are not divided: one is added to a bucket until that has as many bytes as it may.
    The backward pass takes twice the operations of the forward one, and the gradients of a layer
    are there at its end.

    Parameters:
        element: bytes of a gradient.
        first: bytes of the first bucket, so that adding up begins early.
        limit: bytes of the others.

    Source: PyTorch, torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
    """
    found: list[Bucket] = []
    parameters = operations = 0
    for layer in reversed(layers):
        operations += 2 * layer.operations
        for tensor in reversed(layer.tensors):
            parameters += tensor
            if parameters * element >= (limit if found else first):
                found.append(Bucket(parameters, operations))
                parameters = 0
    if parameters:
        found.append(Bucket(parameters, operations))
    return found


def _add_up(comm: ProgramComm, model: None, given: Given) -> Run:
    """What a process does of the allreduce alone."""
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


def run(comm: ProgramComm, model: Model, given: Given) -> Run:
    """What a process does."""
    batch, shards, element = given["batch"], given["shards"], given["element"]
    made = buckets(model.layers, element, shards * given["first"], shards * given["bucket"])
    each = batch / shards / given["rate"]
    forward = model.operations * each
    sizes = [-(-one.parameters // shards) * element for one in made]
    memory = [comm.process.heap.allocate(size) for size in sizes]
    ready = [forward + one.operations * each for one in made]
    computing = 3 * forward
    if not given["overlap"]:
        ready = [computing] * len(made)

    def step(number: int) -> Run:
        begin = comm.Wtime()
        for buffer, at in zip(memory, ready, strict=True):
            yield from comm.compute(max(0.0, begin + at - comm.Wtime()), beside=True)
            yield from comm.allreduce(buffer, buffer)
        yield from comm.compute(max(0.0, begin + computing - comm.Wtime()), beside=True)

    taken = yield from program.repeated(comm, given, step)
    return Trained(
        step_ms=1e3 * taken,
        computing_ms=1e3 * computing,
        exposed_ms=1e3 * (taken - computing),
        samples_per_s=comm.size * batch / taken / shards,
        buckets=len(made),
        gradient_bytes=sum(sizes),
        assumed=(*program.assumptions(given), "backward takes twice as long as forward"),
    )


ALLREDUCE: Final = Learning(
    name="allreduce",
    arguments={
        "size": Argument(
            lambda text: [program.size(one) for one in text.split(",")],
            "1M",
            "bytes of each process, such as 1M,64M",
        ),
        "steps": Argument(program.count, "5", "calls that are measured"),
        "warmup": Argument(program.count_or_none, "1", "calls before"),
        **COMBINING,
    },
    models=None,
    memory=lambda model, given, ranks: sum(given["size"]),
    run=_add_up,
)
PROGRAM: Final = Learning(
    name="data_parallel",
    arguments={
        "batch": Argument(program.count, "1", "samples of a process in a step"),
        "element": Argument(program.count, "4", "bytes of a gradient"),
        "bucket": Argument(program.size, "25M", "bytes that are added up together"),
        "first": Argument(program.size, "1M", "bytes of the first bucket"),
        "overlap": Argument(program.yes, "yes", "whether gradients are added up meanwhile"),
        "shards": Argument(
            program.count, "1", "processes that share a copy of the model, in other programs"
        ),
        **RATE,
        **COMBINING,
        **TIMES,
    },
    models=lambda model: True,
    memory=lambda model, given, ranks: model.parameters * given["element"] // given["shards"],
    run=run,
)
