"""Each process trains some layers, and hands activations on and gradients back.

The schedule is one forward, one backward (1F1B), without interleaving.

Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using
Megatron-LM (2021), section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml import program
from hcasim.apps.ml.models import Transformer
from hcasim.apps.ml.program import RATE, TIMES, Argument, Given, Learning, Run

FORWARD: Final = 0
BACKWARD: Final = 1


@dataclass(frozen=True, slots=True)
class Piped:
    """A step of training, in which this process's accelerator computes, and is idle for the rest.

    Attributes:
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


def run(comm: ProgramComm, model: Transformer, given: Given) -> Run:
    """What a process does."""
    microbatches, overlap, size = given["microbatches"], given["overlap"], _message(model, given)
    # As many microbatches as are between forward and backward, and one that comes.
    places = range(comm.size + 1)
    allocate = comm.process.heap.allocate
    memory = [[[allocate(size) for _ in places] for _ in range(2)] for _ in ("comes", "goes")]
    order = schedule(comm.rank, comm.size, microbatches)
    seconds = given["batch"] * operations(model, comm.rank, comm.size) / given["rate"]

    def begin(goes: bool, way: int, number: int) -> Run:
        """Begin to receive what is needed to compute, or to send what was computed.

        Returns nothing if no stage is there.
        """
        peer = comm.rank + (1 if goes != bool(way) else -1)
        if not 0 <= peer < comm.size:
            return None
        buffer = memory[goes][way][number % len(places)]
        return (yield from (comm.isend if goes else comm.irecv)(buffer, peer, way))

    def step(_: int) -> Run:
        coming = yield from begin(False, *order[0])
        sent: list[Any] = []
        for (way, number), behind in zip(order, [*order[1:], None], strict=True):
            if coming is not None:
                yield from coming.wait()
            coming = (yield from begin(False, *behind)) if behind and overlap else None
            yield from comm.compute(seconds * (2 if way else 1), beside=True)
            going = yield from begin(True, way, number)
            if going is not None:
                sent.append(going)
            if not overlap:
                coming = (yield from begin(False, *behind)) if behind else None
                yield from comm.waitall(sent)
                sent = []
        yield from comm.waitall(sent)
        # A step ends when the weights of all stages can be changed.
        yield from comm.barrier()

    taken = yield from program.repeated(comm, given, step)
    computing = 3 * seconds * microbatches
    return Piped(
        step_ms=1e3 * taken,
        computing_ms=1e3 * computing,
        idle_percent=100 * (1 - computing / taken),
        microbatches=microbatches,
        activation_bytes=size,
        assumed=(*program.assumptions(given), "backward takes twice as long as forward"),
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
    arguments={
        "microbatches": Argument(program.count, "8", "parts of a batch, one behind the other"),
        "batch": Argument(program.count, "1", "samples of a microbatch"),
        "element": Argument(program.count, "2", "bytes of a number that is handed on"),
        "overlap": Argument(program.yes, "no", "whether it computes while messages are under way"),
        **RATE,
        **TIMES,
    },
    memory=lambda model, given, ranks: 4 * (ranks + 1) * _message(model, given),
    models=lambda model: isinstance(model, Transformer),
    run=run,
    faults=_faults,
)
