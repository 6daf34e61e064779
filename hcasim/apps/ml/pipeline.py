"""Each process trains some layers, and hands activations on and gradients back.

The schedule is one forward, one backward (1F1B), without interleaving.

Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using
Megatron-LM (2021), section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hcasim.apps.comm import ProgramComm, ProgramRequest
from hcasim.apps.ml import arguments
from hcasim.apps.ml.arguments import Argument
from hcasim.apps.ml.model import Transformer
from hcasim.apps.ml.program import RATE, TIMES, Given, Learning, Run, assumptions, repeated

FORWARD: Final = 0
BACKWARD: Final = 1


@dataclass(frozen=True, slots=True)
class Piped:
    """A step of training.

    Attributes:
        step_ms: its time.
        computing_ms: of this process's accelerator in it.
        idle_percent: of the step, in which that waits.
        microbatches: in a step.
        activation_bytes: of a message.
        assumed: what it rests on.
    """

    step_ms: float
    computing_ms: float
    idle_percent: float
    microbatches: int
    activation_bytes: int
    assumed: tuple[str, ...]


def schedule(stage: int, stages: int, microbatches: int) -> list[tuple[int, int]]:
    """What a stage computes, in order: forward or backward, and of which microbatch."""
    ahead = min(stages - stage - 1, microbatches)
    found = [(FORWARD, one) for one in range(ahead)]
    for one in range(microbatches - ahead):
        found += [(FORWARD, ahead + one), (BACKWARD, one)]
    return [*found, *((BACKWARD, one) for one in range(microbatches - ahead, microbatches))]


def operations(model: Transformer, stage: int, stages: int) -> int:
    """Of a stage's forward pass of one sample.

    Blocks are divided as evenly as they can be, more to the first stages; what is behind them is
    the last stage's.
    """
    blocks = model.blocks // stages + (stage < model.blocks % stages)
    last = model.layers[-1].operations if stage == stages - 1 else 0
    return blocks * model.block.operations + last


class _Stage:
    """A process, with its messages from and to the stages beside it.

    Parameters:
        size: bytes of a message.
    """

    def __init__(self, comm: ProgramComm, size: int) -> None:
        self._comm: Any = comm
        # As many microbatches as are between forward and backward, and one that comes.
        places = range(comm.size + 1)
        self._coming = [[comm.process.heap.allocate(size) for _ in places] for _ in range(2)]
        self._going = [[comm.process.heap.allocate(size) for _ in places] for _ in range(2)]

    def receive(self, way: int, number: int) -> Run:
        """Begin to receive what is needed to compute; return nothing if it is from nobody."""
        source = self._comm.rank + (1 if way else -1)
        if 0 <= source < self._comm.size:
            memory = self._coming[way]
            return (yield from self._comm.irecv(memory[number % len(memory)], source, way))
        return None

    def send(self, way: int, number: int) -> Run:
        """Begin to send what was computed; return nothing if it is for nobody."""
        dest = self._comm.rank + (-1 if way else 1)
        if 0 <= dest < self._comm.size:
            memory = self._going[way]
            return (yield from self._comm.isend(memory[number % len(memory)], dest, way))
        return None


def _step(
    comm: ProgramComm, stage: _Stage, order: list[tuple[int, int]], seconds: float, overlap: bool
) -> Run:
    """One step of training.

    Parameters:
        seconds: of a microbatch's forward pass.
    """
    coming: ProgramRequest | None = yield from stage.receive(*order[0])
    sent: list[ProgramRequest] = []
    for (way, number), behind in zip(order, [*order[1:], None], strict=True):
        if coming is not None:
            yield from comm.wait(coming)
        coming = (yield from stage.receive(*behind)) if behind and overlap else None
        yield from comm.compute(seconds * (2 if way else 1), beside=True)
        going = yield from stage.send(way, number)
        if going is not None:
            sent.append(going)
        if not overlap:
            coming = (yield from stage.receive(*behind)) if behind else None
            yield from comm.waitall(sent)
            sent = []
    yield from comm.waitall(sent)


def run(comm: ProgramComm, model: Transformer, given: Given) -> Run:
    """What a process does."""
    microbatches, batch = given["microbatches"], given["batch"]
    size = _message(model, given)
    stage = _Stage(comm, size)
    order = schedule(comm.rank, comm.size, microbatches)
    seconds = batch * operations(model, comm.rank, comm.size) / given["rate"]

    def step(number: int) -> Run:
        yield from _step(comm, stage, order, seconds, given["overlap"])
        # A step ends when the weights of all stages can be changed.
        yield from comm.barrier()

    taken = yield from repeated(comm, given, step)
    computing = 3 * seconds * microbatches
    return Piped(
        step_ms=1e3 * taken,
        computing_ms=1e3 * computing,
        idle_percent=100 * (1 - computing / taken),
        microbatches=microbatches,
        activation_bytes=size,
        assumed=(*assumptions(given), "backward takes twice as long as forward"),
    )


def _message(model: Transformer, given: Given) -> int:
    """Bytes of the activations of a microbatch."""
    size: int = given["batch"] * model.sequence * model.hidden * given["element"]
    return size


def _faults(model: Transformer, given: Given, ranks: int) -> list[str]:
    if not 2 <= ranks <= model.blocks:
        return [f"ranks: found {ranks}; allowed: 2 to {model.blocks}, as it has blocks"]
    return []


PROGRAM: Final = Learning(
    name="pipeline",
    title="training, with layers divided among the processes",
    arguments={
        "microbatches": Argument(arguments.count, "8", "parts of a batch, one behind the other"),
        "batch": Argument(arguments.count, "1", "samples of a microbatch"),
        "element": Argument(arguments.count, "2", "bytes of a number that is handed on"),
        "overlap": Argument(
            arguments.yes, "no", "whether it computes while messages are under way"
        ),
        **RATE,
        **TIMES,
    },
    memory=lambda model, given, ranks: 4 * (ranks + 1) * _message(model, given),
    models=lambda model: isinstance(model, Transformer),
    run=run,
    faults=_faults,
)
