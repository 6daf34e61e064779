"""Each process trains with samples of its own, and all add up their gradients.

An accelerator computes forward and backward; buckets of gradients are added up one after the other
as they get ready, while it goes on, or all behind it. What the optimizer does takes no time.

Source: Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training (2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml import arguments
from hcasim.apps.ml.arguments import Argument
from hcasim.apps.ml.buckets import buckets
from hcasim.apps.ml.model import Model
from hcasim.apps.ml.program import COMBINING, RATE, TIMES, Given, Learning, Run, assumptions


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
    total = given["warmup"] + given["steps"]
    start = 0.0
    for step in range(total):
        if step == given["warmup"]:
            yield from comm.barrier()
            start = comm.Wtime()
        begin = comm.Wtime()
        for buffer, at in zip(memory, ready, strict=True):
            yield from comm.compute(max(0.0, begin + at - comm.Wtime()), beside=True)
            yield from comm.allreduce(buffer, buffer)
        yield from comm.compute(max(0.0, begin + computing - comm.Wtime()), beside=True)
        comm.progress(step + 1, total)
    taken = (comm.Wtime() - start) / given["steps"]
    return Trained(
        step_ms=1e3 * taken,
        computing_ms=1e3 * computing,
        exposed_ms=1e3 * (taken - computing),
        samples_per_s=comm.size * batch / taken / shards,
        buckets=len(made),
        gradient_bytes=sum(sizes),
        assumed=(*assumptions(given), "backward takes twice as long as forward"),
    )


PROGRAM: Final = Learning(
    name="data_parallel",
    title="training, with gradients added up in buckets",
    arguments={
        "batch": Argument(arguments.count, "1", "samples of a process in a step"),
        "element": Argument(arguments.count, "4", "bytes of a gradient"),
        "bucket": Argument(arguments.size, "25M", "bytes that are added up together"),
        "first": Argument(arguments.size, "1M", "bytes of the first bucket"),
        "overlap": Argument(arguments.yes, "yes", "whether gradients are added up meanwhile"),
        "shards": Argument(
            arguments.count, "1", "processes that share a copy of the model, in other programs"
        ),
        **RATE,
        **COMBINING,
        **TIMES,
    },
    models=lambda model: True,
    memory=lambda model, given, ranks: model.parameters * given["element"] // given["shards"],
    run=run,
)
