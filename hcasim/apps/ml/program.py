"""What all programs of machine learning offer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, TypeAlias

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml import arguments
from hcasim.apps.ml.arguments import Argument, read
from hcasim.apps.ml.model import Model
from hcasim.apps.ml.models import MODELS
from hcasim.catalog import Machine
from hcasim.engine import Event
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.ground.units import format_size
from hcasim.mpi import MPIError

Run: TypeAlias = Generator[Event, Any, Any]
Main: TypeAlias = Callable[[ProgramComm], Run]
Given: TypeAlias = Mapping[str, Any]
"""The values of arguments, by name."""

RATE: Final = {
    "rate": Argument(
        arguments.rate,
        "",
        "operations that a process computes per second, such as 200Tflop/s; "
        "inf: it computes in no time",
    )
}
COMBINING: Final = {
    "combining": Argument(
        arguments.combining,
        "inf",
        "bytes that an accelerator adds up per second; inf: in no time; host: the processor does",
    )
}
TIMES: Final = {
    "steps": Argument(arguments.count, "1", "times that are measured"),
    "warmup": Argument(arguments.count_or_none, "1", "times before"),
}

MEMORY: Final = 2**36
"""Most bytes of a process's messages; accelerators have 16 to 192 GiB of memory."""


@dataclass(frozen=True)
class Learning:
    """A program of machine learning.

    Attributes:
        name: as it is called.
        title: what it does.
        arguments: what it may be told, by name.
        models: those that it takes; None if it needs none.
        memory: bytes of the messages that a process keeps, by model, arguments and processes.
        faults: what is wrong with a number of processes.
        run: what a process does.
    """

    name: str
    title: str
    arguments: Mapping[str, Argument]
    models: Callable[[Model], bool] | None
    memory: Callable[[Any, Given, int], int]
    run: Callable[[ProgramComm, Any, Given], Run]
    faults: Callable[[Any, Given, int], list[str]] = lambda model, given, ranks: []

    def read(self, words: Sequence[str]) -> Request:
        """Read its arguments.

        Raises:
            CatalogError: all that is wrong with them.
        """
        faults: list[str] = []
        model, label, rest = None, self.name, list(words)
        if self.models is not None:
            taken = [name for name, one in MODELS.items() if self.models(one)]
            named = rest.pop(0) if rest and "=" not in rest[0] else ""
            if named in taken:
                model, label = MODELS[named], f"{self.name} {named}"
            else:
                found = f"found {named!r}" if named else "found none"
                hint = nearest(named, taken)
                faults.append(f"{self.name}: model: {found}; allowed: {one_of(taken)}{hint}")
        given = read(self.name, rest, self.arguments, faults)
        if faults:
            raise CatalogError(faults)
        return Request(self, label, model, given)


@dataclass(frozen=True)
class Request:
    """A program with its arguments.

    Attributes:
        label: its name and that of its model.
    """

    program: Learning
    label: str
    model: Model | None
    given: Given

    def main(self, machine: Machine, ranks: int) -> Main:
        """What each process of it runs on a machine.

        Raises:
            CatalogError: it cannot be run so.
        """
        program, given = self.program, dict(self.given)
        faults = [f"{program.name}: {one}" for one in program.faults(self.model, given, ranks)]
        memory = program.memory(self.model, given, ranks)
        if memory > MEMORY:
            most = f"allowed: up to {format_size(MEMORY)}"
            faults.append(f"{program.name}: found messages of {memory / 2**30:.0f} GiB; {most}")
        if "rate" in given and given["rate"] is None:
            computing = machine.host.computing
            given["rate"] = None if computing is None else computing.tensor
            if given["rate"] is None:
                path = "host.computing.tensor"
                needed = f"needed: rate=200Tflop/s and the like, or --set {path}='200 Top/s'"
                faults.append(f"{path}: {machine.host.id} has none; {needed}")
        if faults:
            raise CatalogError(faults)

        def main(comm: ProgramComm) -> Run:
            comm.process.combine_rate = given.get("combining")
            try:
                return (yield from program.run(comm, self.model, given))
            except MPIError as error:
                # Such as computing for years.
                raise CatalogError([f"{program.name}: {error}"]) from None

        return main


def repeated(
    comm: ProgramComm, given: Given, step: Callable[[int], Run]
) -> Generator[Event, Any, float]:
    """Run the steps before those that are measured, and these; return the seconds of one."""
    total, start = given["warmup"] + given["steps"], 0.0
    for number in range(total):
        if number == given["warmup"]:
            yield from comm.barrier()
            start = comm.Wtime()
        yield from step(number)
        comm.progress(number + 1, total)
    each: float = (comm.Wtime() - start) / given["steps"]
    return each


def assumptions(given: Given) -> tuple[str, ...]:
    """What a result rests on, beside the machine and the model."""
    found = ["messages come from and go to the memory of the host"]
    if "rate" in given:
        rate: float = given["rate"]
        found.append(
            "computing takes no time" if rate == inf else f"{rate / 1e12:g} Tflop/s of each process"
        )
    if "combining" in given:
        combining: float | None = given["combining"]
        if combining is None:
            found.append("the processor adds up")
        elif combining == inf:
            found.append("an accelerator adds up in no time")
        else:
            found.append(f"an accelerator adds up {combining / 1e9:g} GB/s")
    return tuple(found)
