"""A message goes the way that CONTRIBUTING.md describes."""

import importlib
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hcasim
from hcasim.mpi import Comm
from tests.mpi_jobs import job
from tests.rig import SEND, WRITE, Rig, succeeded

TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
WAY = TEXT.split("### The way of a message\n")[1].split("\n#")[0]
STEPS = re.findall(r"^\d+\. (.*(?:\n {3,}.*)*)", WAY, re.MULTILINE)
NAMES = [name for name in re.findall(r"`([\w.]+)`", WAY) if name[0].isupper()]
CLASSES = {
    name: value
    for module in pkgutil.walk_packages(hcasim.__path__, "hcasim.")
    if module.name.split(".")[1] in ("engine", "fabric", "hca", "verbs", "mpi")
    for name, value in vars(importlib.import_module(module.name)).items()
    if isinstance(value, type) and value.__module__ == module.name
}


@pytest.mark.parametrize("name", NAMES)
def test_each_name_on_the_way_exists(name: str) -> None:
    owner, _, method = name.partition(".")
    assert owner in CLASSES
    assert not method or callable(getattr(CLASSES[owner], method))


def test_the_steps_are_counted_without_a_gap() -> None:
    assert re.findall(r"^(\d+)\. ", WAY, re.MULTILINE) == [str(n) for n in range(1, 18)]
    assert len(STEPS) == 17


def methods(steps: list[str]) -> list[str]:
    return [name for step in steps for name in re.findall(r"`([A-Z]\w+\.\w+)`", step)]


def noted(method: Callable[..., Any], name: str, calls: list[str]) -> Callable[..., Any]:
    def call(*arguments: Any, **more: Any) -> Any:
        if name not in calls:
            calls.append(name)
        return method(*arguments, **more)

    return call


def note_calls(names: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The list of methods, in the order in which they will have been called first."""
    calls: list[str] = []
    for name in names:
        owner, _, method = name.partition(".")
        # What waits polls without the look whether somebody forgot to run the call.
        method = "_poll" if name == "CQ.poll" else method
        call = noted(getattr(CLASSES[owner], method), name, calls)
        monkeypatch.setattr(CLASSES[owner], method, call)
    return calls


@pytest.mark.parametrize("opcode", [WRITE, SEND])
def test_a_message_passes_the_methods_in_the_order_of_the_description(
    opcode: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = methods(STEPS[4:14])
    calls = note_calls(described, monkeypatch)
    rig = Rig()
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    if opcode is SEND:
        rig.run(b.post_receives(remote, b.receive(1000)))
        described = described[: described.index("Egress.acknowledge")]
    calls.clear()
    assert succeeded(rig.exchange(qp, a, a.request(opcode, b, 1000)))
    expected = [name for name in described if opcode is SEND or name != "ReceiveQueue.take"]
    # The receive's own WQE is fetched and completed the same way.
    assert [name for name in calls if name in expected] == expected


@pytest.mark.parametrize(
    ("size", "steps"), [(64, [*STEPS[:4], *STEPS[14:16]]), (100_000, STEPS[16:])]
)
def test_a_message_of_mpi_passes_the_methods_in_the_order_of_the_description(
    size: int, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = job(2)
    calls = note_calls(methods(steps), monkeypatch)

    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(size, 1)
            # The completion is taken in a call that waits.
            yield from comm.recv(8, 1)
        else:
            yield from comm.recv(size, 0)
            yield from comm.send(8, 0)

    made.run(main)
    assert calls == methods(steps)
