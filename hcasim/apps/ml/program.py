"""What all programs of machine learning offer, and what they may be told."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import Any, Final, NamedTuple, TypeAlias

from hcasim.apps.comm import ProgramComm
from hcasim.apps.ml.models import MODELS, Model
from hcasim.catalog import Machine
from hcasim.engine import Event
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.ground.units import OPERATIONS, SIZE, Unit, UnitError, format_size, parse_size
from hcasim.ground.units import RATE as RATE_UNIT

Run: TypeAlias = Generator[Event, Any, Any]
Main: TypeAlias = Callable[[ProgramComm], Run]
Given: TypeAlias = Mapping[str, Any]
"""The values of arguments, by name."""

MEMORY: Final = 2**36
"""Most bytes of a process's messages; accelerators have 16 to 192 GiB of memory."""
_MAX_COUNT: Final = 2**31
_MAX_RATE: Final = 10**24
_OPS: Final = (*OPERATIONS.factors, ("Pop/s", 10**15))
_FLOPS_FACTORS = tuple((name.replace("op/s", "flop/s"), factor) for name, factor in _OPS)
_FLOPS: Final = Unit("rate of operations", "flop/s", "flop/s", _FLOPS_FACTORS, _OPS)
_BYTES: Final = replace(RATE_UNIT, factors=(*RATE_UNIT.factors, ("TB/s", 10**12)))


class Argument(NamedTuple):
    """What a program may be told, as `name=value` behind the name of a model.

    Attributes:
        read: text into a value; a ValueError says what is wrong with it.
        default: in its place, as text; none if it has to be given or has another meaning.
        meaning: in words.
    """

    read: Callable[[str], Any]
    default: str
    meaning: str


def count(text: str, least: int = 1) -> int:
    """A number of things."""
    if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= _MAX_COUNT:
        raise ValueError(f"found {text!r}; allowed: {least} to {_MAX_COUNT}")
    return int(text)


count_or_none = partial(count, least=0)


def size(text: str) -> int:
    """A number of bytes, such as 25M."""
    try:
        found = parse_size(text)
    except UnitError as error:
        short = one_of([name for name, _ in SIZE.shorthand[1:]])
        raise ValueError(f"{error}, or {short}") from None
    if not 1 <= found <= MEMORY:
        raise ValueError(f"found {text!r}; allowed: 1 B to {format_size(MEMORY)}")
    return found


def yes(text: str) -> bool:
    """Whether something is so."""
    if text not in ("yes", "no"):
        raise ValueError(f"found {text!r}; allowed: yes or no{nearest(text, ('yes', 'no'))}")
    return text == "yes"


def _rate(unit: Unit, *words: str) -> Callable[[str], float | None]:
    """Read a rate; `inf` takes no time, and there is none for other words."""

    def read(text: str) -> float | None:
        if text == "inf" or text in words:
            return inf if text == "inf" else None
        try:
            found = unit.parse_argument(text)
        except UnitError as error:
            raise ValueError(f"{error}, or {one_of(['inf', *words])}") from None
        if not 1 <= found <= _MAX_RATE:
            raise ValueError(f"found {text!r}; allowed: 1 to 1e24 {unit.base}, or inf")
        return float(found)

    return read


def exponent(text: str) -> float:
    """A number that is not negative."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not isfinite(found) or not 0 <= found <= 10:
        raise ValueError(f"found {text!r}; allowed: 0 to 10")
    return found


_PER_SECOND = "operations that a process computes per second, such as 200Tflop/s"
RATE: Final = {"rate": Argument(_rate(_FLOPS), "", f"{_PER_SECOND}; inf: it computes in no time")}
COMBINING: Final = {
    "combining": Argument(
        _rate(_BYTES, "host"),
        "inf",
        "bytes that an accelerator adds up per second; inf: in no time; host: the processor does",
    )
}
TIMES: Final = {
    "steps": Argument(count, "1", "times that are measured"),
    "warmup": Argument(count_or_none, "1", "times before"),
}


@dataclass(frozen=True)
class Learning:
    """A program of machine learning.

    Attributes:
        arguments: what it may be told, by name.
        models: those that it takes; None if it needs none.
        memory: bytes of the messages that a process keeps, by model, arguments and processes.
        faults: what is wrong with a number of processes.
    """

    name: str
    arguments: Mapping[str, Argument]
    models: Callable[[Model], bool] | None
    memory: Callable[[Any, Given, int], int]
    run: Callable[[ProgramComm, Any, Given], Run]
    faults: Callable[[Any, Given, int], list[str]] = lambda model, given, ranks: []

    def read(self, words: Sequence[str]) -> tuple[str, Callable[[Machine, int], Main]]:
        """Read its arguments.

        Returns:
            Its name with that of its model, and what makes the function of each process for a
            machine and a number of processes, or raises a CatalogError if it cannot be run so.

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
                faults.append(f"model: {found}; allowed: {one_of(taken)}{nearest(named, taken)}")
        given = self._given(rest, faults)
        if faults:
            raise CatalogError(f"{self.name}: {one}" for one in faults)
        return label, lambda machine, ranks: self._main(model, given, machine, ranks)

    def _given(self, words: Sequence[str], faults: list[str]) -> dict[str, Any]:
        """Return the values of all arguments; add what is wrong with them to the faults."""
        given: dict[str, str] = {}
        for word in words:
            name, equals, text = word.partition("=")
            if not equals or name not in self.arguments:
                allowed = one_of([f"{one}=..." for one in self.arguments])
                faults.append(f"found {word!r}; allowed: {allowed}{nearest(name, self.arguments)}")
            elif name in given:
                faults.append(f"{name}: found twice, {given[name]!r} and {text!r}")
            else:
                given[name] = text
        found: dict[str, Any] = {}
        for name, argument in self.arguments.items():
            text = given.get(name, argument.default)
            try:
                found[name] = argument.read(text) if text else None
            except ValueError as error:
                faults.append(f"{name}: {error}")
            if not text and name in given:
                faults.append(f"{name}: found nothing; needed: {argument.meaning}")
        return found

    def _main(self, model: Model | None, given: Given, machine: Machine, ranks: int) -> Main:
        faults = [f"{self.name}: {one}" for one in self.faults(model, given, ranks)]
        memory = self.memory(model, given, ranks)
        if memory > MEMORY:
            most = f"allowed: up to {format_size(MEMORY)}"
            faults.append(f"{self.name}: found messages of {memory / 2**30:.0f} GiB; {most}")
        if "rate" in given and given["rate"] is None:
            given = {**given, "rate": getattr(machine.host.computing, "tensor", None)}
            if given["rate"] is None:
                path = "host.computing.tensor"
                needed = f"needed: rate=200Tflop/s and the like, or --set {path}='200 Top/s'"
                faults.append(f"{path}: {machine.host.id} has none; {needed}")
        if faults:
            raise CatalogError(faults)

        def main(comm: ProgramComm) -> Run:
            comm.process.combine_rate = given.get("combining")
            return (yield from self.run(comm, model, given))

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
