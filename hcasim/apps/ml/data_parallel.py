"""Each process trains with samples of its own, and all add up their gradients.

An accelerator computes forward and backward; buckets of gradients are added up one after the other
as they get ready, while it goes on, or all behind it. What the optimizer does takes no time.

Source: Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training (2020).
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
class Trained:
    """A step of training.

    Attributes:
        step_ms: its time.
        computing_ms: of the accelerator in it.
        exposed_ms: time in which the accelerator waits.
        samples_per_s: of all processes together.
        buckets: of gradients.
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
    """Gradients that are added up by one call.

    Attributes:
        parameters: number of them.
        operations: of the backward pass up to the last of them, for one sample.
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
